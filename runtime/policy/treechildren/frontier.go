// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/governor"
)

// unit is what was requested of one child.
type unit struct {
	extents uint32
	bytes   int64
	end     int64 // offset just past the last
}

// frontier remembers what was requested of each child ahead of the walk, so that
// it can be counted as read when the walk enters it, and as wasted when not.
type frontier struct {
	ring    [governor.MaxWindow]unit
	head    int  // ring position of the next child
	entered unit // the last child that pop removed
	left    unit // the one before it
	ahead   int  // children whose heads were requested
	staged  int  // children whose rests were requested too
	extents int  // sum over the ring
	bytes   int64
}

func (f *frontier) at(i int) *unit { return &f.ring[(f.head+i)%governor.MaxWindow] }

// push adds a child with its head behind the last.
func (f *frontier) push(x hints.Extent) {
	*f.at(f.ahead) = unit{1, x.Len, x.End()}
	f.ahead++
	f.extents++
	f.bytes += x.Len
}

// extend adds one more extent of child i.
func (f *frontier) extend(i int, x hints.Extent) {
	u := f.at(i)
	u.extents++
	u.bytes += x.Len
	u.end = max(u.end, x.End())
	f.extents++
	f.bytes += x.Len
}

// enter says that the walk went n children on, and returns how many extents had
// been requested of them.
func (f *frontier) enter(n int) (extents int) {
	for ; n > 0; n-- {
		f.left, f.entered = f.entered, unit{}
		if f.ahead > 0 {
			f.entered = *f.at(0)
			extents += f.pop(1)
		} else if n > 2 {
			n = 2 // nothing was requested of the others
		}
	}
	return extents
}

// pop removes the next n children, fewer if there are fewer, and returns how
// many extents had been requested of them.
func (f *frontier) pop(n int) (extents int) {
	n = min(n, f.ahead)
	for range n {
		u := f.at(0)
		extents += int(u.extents)
		f.bytes -= u.bytes
		f.head = (f.head + 1) % governor.MaxWindow
	}
	f.ahead -= n
	f.staged = max(0, f.staged-n)
	f.extents -= extents
	return extents
}

// clear removes all and returns how many extents had been requested.
func (f *frontier) clear() int {
	f.left, f.entered = unit{}, unit{}
	return f.pop(f.ahead)
}
