// SPDX-License-Identifier: Apache-2.0

package hints

import "math"

// Extent is a range of bytes of a registered file. The zero Extent is empty.
type Extent struct {
	File *File
	Off  int64 // first byte
	Len  int64 // bytes
}

// Empty reports whether the extent names no byte that could be read: no file,
// no length, a negative offset, or an end that overflows.
func (e Extent) Empty() bool {
	return e.File == nil || e.Len <= 0 || e.Off < 0 || e.Off > math.MaxInt64-e.Len
}

// End returns the offset just past the last byte.
func (e Extent) End() int64 { return e.Off + e.Len }

// Children are the upcoming children of a tree walk, pulled by the policy
// rather than copied into the event, so that nothing is built that no policy
// wants. They are valid only during the Emit that carries them.
type Children interface {
	// Child returns the extent of the i-th child after the entered one in the
	// direction of travel; 0 is the next. It returns false where the walk is
	// known to end or can't be looked ahead any further.
	Child(i int) (Extent, bool)
}

// Part says how much of a child is wanted.
type Part uint8

const (
	PartKeys Part = iota // the pages that hold keys
	PartAll              // every page
)

// MaxRest bounds the extents of one child's rest.
const MaxRest = 64

// Rests is implemented by Children whose Child returns only the head of a
// child: how long the child is, and where its keys lie, is written in the head
// itself and is known only once the head has arrived.
type Rests interface {
	// AppendRest appends to dst the extents of child i that its head does not
	// cover, MaxRest at most, and returns the extended slice. It reads the head, and so waits
	// for storage if the head has not arrived: ask only for children whose
	// heads were requested well before.
	AppendRest(dst []Extent, i int, part Part) []Extent
}

// Parents is implemented by Children that can name the parents after the
// current one: a window larger than one parent's fan-out reads its children
// from them, so they must arrive first.
type Parents interface {
	// NextParent returns the extent of the i-th parent after the current one in
	// the direction of travel; 0 is the next.
	NextParent(i int) (Extent, bool)
}

// Ahead is what lies ahead of a scan over sorted runs, pulled by the policy: it says
// how far, the emitter knows where. It is valid only during the Emit that carries it.
type Ahead interface {
	// Take appends to dst the extents that the scan reads after those taken before, and
	// returns the extended slice and how many bytes of data it has added. The first call
	// after Start takes the first extent of every run, whatever they come to, since the
	// scan can't be positioned without them; then each call takes, in key order, until it
	// comes to so many bytes. What the scan has passed untaken is left out.
	//
	// Extents of an index are not counted. If there is nothing else, they must come
	// first, and the emitter will be back with another event at once. No extents at all:
	// nothing is left.
	//
	// Take may read an index, and so wait for storage where the engine would.
	Take(dst []Extent, bytes int64) ([]Extent, int64)
}

// ChildList is a Children over extents that are known beforehand.
type ChildList []Extent

// Child returns the i-th extent of the list.
func (l ChildList) Child(i int) (Extent, bool) {
	if i < 0 || i >= len(l) {
		return Extent{}, false
	}
	return l[i], true
}
