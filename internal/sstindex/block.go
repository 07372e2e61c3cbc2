// SPDX-License-Identifier: Apache-2.0

package sstindex

// blockOverhead is what a Block takes besides its data.
const blockOverhead = 128

// Block is an index block. Its entries are decoded where they lie, when they are
// asked for; that they lie inside the block was checked when it was made, once
// for all. It is immutable, and safe for concurrent use. An entry that isn't there
// has a nil separator and a zero handle.
type Block struct {
	data     []byte
	n        int
	columnar bool
	restarts int   // row block: offset of the entries' offsets
	seps     texts // columnar block: its columns
	offs     uints
	lens     uints
}

// parseBlock checks an index block's contents, which name blocks that end at or
// before limit, and keeps them.
func parseBlock(data []byte, columnar bool, limit int64) (Block, error) {
	if len(data) > MaxBlock {
		return Block{}, corrupt("an index block is too large")
	}
	if columnar {
		return parseColumnar(data, limit)
	}
	return parseRows(data, limit)
}

// Len is the number of entries.
func (b *Block) Len() int { return b.n }

// Separator is a user key at or above every key of the data block i, and at or
// below those of the next; two in a row may be equal. It is a part of the block,
// not to be modified.
func (b *Block) Separator(i int) []byte {
	if uint(i) >= uint(b.n) {
		return nil
	}
	if b.columnar {
		return b.seps.at(b.data, i)
	}
	key, _ := b.row(i)
	return key
}

// Handle is where the data block i lies.
func (b *Block) Handle(i int) Handle {
	if uint(i) >= uint(b.n) {
		return Handle{}
	}
	if b.columnar {
		return Handle{Off: int64(b.offs.at(b.data, i)), Len: int64(b.lens.at(b.data, i)) + trailerLen}
	}
	_, value := b.row(i)
	h, _ := parseHandle(value, maxOffset)
	return h
}

// maxOffset is no limit: the handles were checked before.
const maxOffset = 1<<63 - 1

// Seek returns the first entry whose separator is at or above key: if the table
// has the key, in that entry's data block. It is Len if there is none.
func (b *Block) Seek(key []byte, cmp func(a, b []byte) int) int {
	lo, hi := 0, b.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if cmp(b.Separator(mid), key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Memory is the number of bytes held. The top block of an index of one level is
// counted by the index too.
func (b *Block) Memory() int { return blockOverhead + cap(b.data) }
