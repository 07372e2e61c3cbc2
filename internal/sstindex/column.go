// SPDX-License-Identifier: Apache-2.0

package sstindex

import "encoding/binary"

const (
	hasBase   = 1 << 7
	baseLen   = 8
	maxWidth  = 8
	textWidth = 4 // of the offsets of byte strings, at most
)

// uints is a column of integers in a block.
type uints struct {
	start int
	base  uint64
	width int
}

// parseUints reads what precedes a column of n integers at from; end is where the
// column ends, within data if ok.
func parseUints(data []byte, from, n int) (u uints, end int, ok bool) {
	if n == 0 {
		return u, from, true
	}
	if from >= len(data) {
		return u, 0, false
	}
	form := data[from]
	at := from + 1
	u.width = int(form &^ hasBase)
	switch u.width {
	case 0, 1, 2, 4:
	case maxWidth:
		if form&hasBase != 0 {
			return u, 0, false // there is nothing to save
		}
	default:
		return u, 0, false
	}
	if form&hasBase != 0 {
		if len(data)-at < baseLen {
			return u, 0, false
		}
		u.base = binary.LittleEndian.Uint64(data[at:])
		at += baseLen
	}
	if u.width > 1 {
		at = (at + u.width - 1) &^ (u.width - 1)
	}
	u.start = at
	end = at + n*u.width // n is at most MaxEntries+1
	return u, end, end <= len(data)
}

// at is integer i of a column of data.
func (u *uints) at(data []byte, i int) uint64 {
	p := u.start + i*u.width
	switch u.width {
	case 1:
		return u.base + uint64(data[p])
	case 2:
		return u.base + uint64(binary.LittleEndian.Uint16(data[p:]))
	case 4:
		return u.base + uint64(binary.LittleEndian.Uint32(data[p:]))
	case maxWidth:
		return binary.LittleEndian.Uint64(data[p:])
	}
	return u.base
}

// texts is a column of byte strings in a block.
type texts struct {
	bounds uints
	start  int
}

// parseTexts reads and checks a column of n byte strings from an offset to the end
// of data.
func parseTexts(data []byte, from, n int) (t texts, ok bool) {
	if n == 0 {
		return t, from == len(data)
	}
	t.bounds, t.start, ok = parseUints(data, from, n+1)
	if !ok || t.bounds.base != 0 || t.bounds.width > textWidth {
		return t, false
	}
	prev := uint64(0)
	for i := range n + 1 {
		v := t.bounds.at(data, i)
		if v < prev || i == 0 && v != 0 {
			return t, false
		}
		prev = v
	}
	return t, prev == uint64(len(data)-t.start)
}

// at is byte string i of a column of data.
func (t *texts) at(data []byte, i int) []byte {
	from, to := t.start+int(t.bounds.at(data, i)), t.start+int(t.bounds.at(data, i+1))
	return data[from:to:to]
}
