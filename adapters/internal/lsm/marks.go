// SPDX-License-Identifier: Apache-2.0

package lsm

const (
	// maxMarks bounds the marks of a scan.
	maxMarks = 256
	// marksPerTake is into how many steps one Take is marked, more or less.
	marksPerTake = 16
	// minMark is the least distance of two marks, in bytes.
	minMark = 4 << 10
)

// mark says that a scan that has come to a key has passed so many bytes of those
// taken.
type mark struct {
	key   []byte
	bytes int64
}

// marks are the milestones between a scan and its horizon, nearest first.
type marks struct {
	list  []mark
	head  int
	space int64 // between two, bytes
}

func (k *marks) clear() {
	clear(k.list)
	k.list, k.head = k.list[:0], 0
}

// spacing sets the distance of marks for a Take of so many bytes.
func (k *marks) spacing(bytes int64) { k.space = max(minMark, bytes/marksPerTake) }

// add sets a mark, unless the one before is too near. Keys are not copied: they lie in
// index blocks, which are never changed.
func (k *marks) add(key []byte, bytes int64) {
	if n := len(k.list); n > k.head && bytes-k.list[n-1].bytes < k.space || n-k.head >= maxMarks {
		return
	}
	if k.head > maxMarks {
		n := copy(k.list, k.list[k.head:])
		clear(k.list[n:])
		k.list, k.head = k.list[:n], 0
	}
	k.list = append(k.list, mark{key, bytes})
}

// end sets the mark at the horizon, in place of one that is too near.
func (k *marks) end(key []byte, bytes int64) {
	if k.add(key, bytes); k.head < len(k.list) {
		k.list[len(k.list)-1] = mark{key, bytes}
	}
}

// pass removes the marks that a scan has come to, and returns the bytes of the last
// of them.
func (k *marks) pass(reached func(place []byte) bool) (bytes int64, any bool) {
	for k.head < len(k.list) && reached(k.list[k.head].key) {
		bytes, any = k.list[k.head].bytes, true
		k.head++
	}
	return bytes, any
}

// at returns the key of the first mark that lies so many bytes behind the start, nil
// if none does.
func (k *marks) at(bytes int64) []byte {
	for _, m := range k.list[k.head:] {
		if m.bytes >= bytes {
			return m.key
		}
	}
	return nil
}

// furthest returns the key of the last mark, nil if there is none.
func (k *marks) furthest() []byte {
	if k.head == len(k.list) {
		return nil
	}
	return k.list[len(k.list)-1].key
}

// ahead reports whether a key lies before a mark that the scan has not come to.
func (k *marks) ahead(reached func(key, place []byte) bool, key []byte) bool {
	last := k.furthest()
	return last != nil && !reached(key, last)
}
