// SPDX-License-Identifier: Apache-2.0

package sstindex

import "encoding/binary"

// trailerLen is what follows each block's contents: a type byte and a checksum.
const trailerLen = 5

// Handle is where a block lies in the file. Len includes the trailer of 5 bytes.
type Handle struct{ Off, Len int64 }

// End is the offset behind the block.
func (h Handle) End() int64 { return h.Off + h.Len }

// within makes a handle of an offset and a length as stored, if the block and its
// trailer end at or before limit.
func within(off, length uint64, limit int64) (Handle, bool) {
	room := uint64(max(limit, 0))
	if off > room || length > room-off || room-off-length < trailerLen {
		return Handle{}, false
	}
	return Handle{Off: int64(off), Len: int64(length) + trailerLen}, true
}

// parseHandle reads a handle at the start of b, of a block that ends at or before
// limit; n is how many bytes it took, 0 if there is no such handle.
func parseHandle(b []byte, limit int64) (h Handle, n int) {
	off, n := binary.Uvarint(b)
	if n <= 0 {
		return Handle{}, 0
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return Handle{}, 0
	}
	h, ok := within(off, length, limit)
	if !ok {
		return Handle{}, 0
	}
	return h, n + m
}

// chain checks that the blocks an index names lie one behind the other, below a
// limit.
type chain struct{ end, limit int64 }

// add takes the next block, as stored.
func (c *chain) add(off, length uint64) error {
	h, ok := within(off, length, c.limit)
	switch {
	case !ok:
		return corrupt("a block lies outside its region")
	case h.Off < c.end:
		return corrupt("blocks overlap, or are out of order")
	}
	c.end = h.End()
	return nil
}
