// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"fmt"
	"io"
)

// indexOverhead is what an Index takes besides its top block and its filter's name.
const indexOverhead = 88

// TailSize is how many bytes at the end of a file of that size hold the footer, the
// metaindex, the properties and, nearly always, the top index block: what Open
// reads at once.
func TailSize(size int64) int64 { return max(0, min(size, tailSize)) }

// Index is the index of one table: its top block. It is immutable, and safe for
// concurrent use.
type Index struct {
	store    store
	size     int64 // of the file
	columnar bool
	twoLevel bool
	top      Block
	region   int64
	filter   filter
}

// Open reads footer, metaindex and the top index block of a file of that size.
func Open(r io.ReaderAt, size int64, d Decompress) (*Index, error) {
	buf := scratch(int(TailSize(size)))
	defer release(buf)
	tail, from := *buf, size-TailSize(size)
	if err := readFull(r, tail, from); err != nil {
		return nil, err
	}
	f, err := parseFooter(tail, size)
	if err != nil {
		return nil, err
	}
	x := &Index{
		store:    store{end: size - int64(f.len), checksum: f.checksum, decompress: d},
		size:     size,
		columnar: f.columnar,
		region:   f.index.Off,
	}
	r = tailReader{ReaderAt: r, tail: tail, off: from}
	meta, err := x.store.read(r, f.meta)
	if err != nil {
		return nil, fmt.Errorf("metaindex: %w", err)
	}
	if x.filter, err = findFilter(meta, f.columnarMeta, x.store.end); err != nil {
		return nil, err
	}
	top, err := x.store.read(r, f.index)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if x.top, err = parseBlock(top, x.columnar, f.index.Off); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if x.top.n > 0 {
		if first := x.top.Handle(0); first.Off > 0 {
			x.twoLevel = true
			x.region = first.Off
		}
	}
	return x, nil
}

// TwoLevel reports whether the index is partitioned: its top block names
// partitions, and those the data blocks.
func (x *Index) TwoLevel() bool { return x.twoLevel }

// Partitions is the number of lower-level index blocks: 1 if there is one level
// only, the top block.
func (x *Index) Partitions() int {
	if x.twoLevel {
		return x.top.n
	}
	return 1
}

// SeekPartition returns the first partition whose separator is at or above key:
// if the table has the key, the index entry is there. It is Partitions if there is
// none.
func (x *Index) SeekPartition(key []byte, cmp func(a, b []byte) int) int {
	switch {
	case x.twoLevel:
		return x.top.Seek(key, cmp)
	case x.top.n == 0 || cmp(x.PartitionSeparator(0), key) < 0:
		return 1
	}
	return 0
}

// PartitionSeparator is a user key at or above every key of partition p; nil if the
// table has no data. It is a part of the index, not to be modified.
func (x *Index) PartitionSeparator(p int) []byte {
	switch {
	case x.twoLevel:
		return x.top.Separator(p)
	case x.top.n == 0:
		return nil
	}
	return x.top.Separator(x.top.n - 1)
}

// Partition is where partition p lies; zero for an index of one level, of which
// there is nothing left to read.
func (x *Index) Partition(p int) Handle {
	if x.twoLevel {
		return x.top.Handle(p)
	}
	return Handle{}
}

// Load reads and checks partition p. Of an index of one level it returns the top
// block, without reading.
func (x *Index) Load(r io.ReaderAt, p int) (*Block, error) {
	if p < 0 || p >= x.Partitions() {
		return nil, ErrPartition
	}
	if !x.twoLevel {
		return &x.top, nil
	}
	data, err := x.store.read(r, x.top.Handle(p))
	if err != nil {
		return nil, fmt.Errorf("index partition %d: %w", p, err)
	}
	b, err := parseBlock(data, x.columnar, x.region)
	if err != nil {
		return nil, fmt.Errorf("index partition %d: %w", p, err)
	}
	return &b, nil
}

// Region is what opening the table and any lookup in its index may read: from the
// first lower-level index block, or the only one, to the end of the file.
func (x *Index) Region() Handle { return Handle{Off: x.region, Len: x.size - x.region} }

// Filter returns the name of the policy of the table's filter, and where the filter
// lies, if it has one for the whole table.
func (x *Index) Filter() (name string, h Handle, ok bool) {
	return x.filter.name, x.filter.at, x.filter.ok
}

// ReadBlock reads and decompresses any block of the table, such as the filter.
func (x *Index) ReadBlock(r io.ReaderAt, h Handle) ([]byte, error) { return x.store.read(r, h) }

// Memory is the number of bytes held, without partitions: those are the caller's.
func (x *Index) Memory() int {
	return indexOverhead + x.top.Memory() + len(x.filter.name)
}
