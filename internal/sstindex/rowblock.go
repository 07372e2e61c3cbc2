// SPDX-License-Identifier: Apache-2.0

package sstindex

import "encoding/binary"

const (
	offsetLen = 4 // an offset at a row block's end, and their number
	// suffixLen is what follows the user key in an index key: sequence number and kind.
	suffixLen = 8
)

// parseRows checks an index block of rows.
func parseRows(data []byte, limit int64) (Block, error) {
	n, end, err := restarts(data)
	if err != nil {
		return Block{}, err
	}
	if end == 0 {
		n = 0 // an empty block has an offset nevertheless
	}
	if n > MaxEntries {
		return Block{}, corrupt("too many entries")
	}
	b := Block{data: data, n: n, restarts: end}
	pos, blocks := 0, chain{limit: limit}
	for i := range n {
		if int64(b.offset(i)) != int64(pos) {
			return Block{}, corrupt("an entry begins elsewhere than its offset says")
		}
		e, ok := nextEntry(data[:end], pos)
		switch {
		case !ok:
			return Block{}, corrupt("an entry runs over the block's end")
		case e.shared != 0:
			return Block{}, corrupt("an index key shares bytes with the one before")
		case e.value-e.key < suffixLen:
			return Block{}, corrupt("an index key is too short")
		}
		off, k := binary.Uvarint(data[e.value:e.end])
		if k <= 0 {
			return Block{}, corrupt("an entry has no handle")
		}
		length, k := binary.Uvarint(data[e.value+k : e.end])
		if k <= 0 {
			return Block{}, corrupt("an entry has no handle")
		}
		if err := blocks.add(off, length); err != nil {
			return Block{}, err
		}
		pos = e.end
	}
	if pos != end {
		return Block{}, corrupt("bytes behind the last entry")
	}
	return b, nil
}

// restarts returns how many offsets a row block ends with, and where they begin.
func restarts(data []byte) (n, end int, err error) {
	if len(data) < offsetLen {
		return 0, 0, corrupt("a row block without an end")
	}
	room := len(data) - offsetLen
	count := binary.LittleEndian.Uint32(data[room:])
	if uint64(count)*offsetLen > uint64(room) {
		return 0, 0, corrupt("more offsets than a row block has room for")
	}
	return int(count), room - int(count)*offsetLen, nil
}

// entry is where the parts of a row lie.
type entry struct {
	shared          uint64 // bytes of the previous key
	key, value, end int
}

// nextEntry reads the lengths of the entry at pos; ok if it ends within data.
func nextEntry(data []byte, pos int) (e entry, ok bool) {
	var lens [3]uint64
	for i := range lens {
		// Nearly all lengths take one byte.
		if pos < len(data) && data[pos] < 0x80 {
			lens[i] = uint64(data[pos])
			pos++
			continue
		}
		v, n := binary.Uvarint(data[pos:])
		if n <= 0 {
			return entry{}, false
		}
		lens[i] = v
		pos += n
	}
	room := uint64(len(data) - pos)
	if lens[1] > room || lens[2] > room-lens[1] {
		return entry{}, false
	}
	e = entry{shared: lens[0], key: pos, value: pos + int(lens[1])}
	e.end = e.value + int(lens[2])
	return e, true
}

// offset is where entry i begins.
func (b *Block) offset(i int) uint32 {
	return binary.LittleEndian.Uint32(b.data[b.restarts+i*offsetLen:])
}

// row returns the user key and the value of entry i.
func (b *Block) row(i int) (key, value []byte) {
	e, _ := nextEntry(b.data[:b.restarts], int(b.offset(i)))
	return b.data[e.key : e.value-suffixLen : e.value-suffixLen], b.data[e.value:e.end]
}

// eachRow calls f with each key and value of a row block whose keys may share
// bytes, until it returns false. The key is valid only during the call.
func eachRow(data []byte, f func(key, value []byte) bool) error {
	_, end, err := restarts(data)
	if err != nil {
		return err
	}
	var key []byte
	for pos := 0; pos < end; {
		e, ok := nextEntry(data[:end], pos)
		if !ok || e.shared > uint64(len(key)) {
			return corrupt("an entry of the metaindex")
		}
		key = append(key[:e.shared], data[e.key:e.value]...)
		if !f(key, data[e.value:e.end]) {
			return nil
		}
		pos = e.end
	}
	return nil
}
