// SPDX-License-Identifier: Apache-2.0

package sstindex

import "encoding/binary"

const (
	columnarVersion = 1
	headerLen       = 7
	columnHeaderLen = 5

	kindUints = 2
	kindTexts = 3
)

// The columns of an index block, and of the metaindex.
const (
	colSeparators = iota
	colOffsets
	colLengths
	colProperties
)

const (
	colKeys = iota
	colValues
)

var (
	indexColumns = []byte{colSeparators: kindTexts, colOffsets: kindUints, colLengths: kindUints, colProperties: kindTexts}
	metaColumns  = []byte{colKeys: kindTexts, colValues: kindTexts}
)

// columns is the header of a columnar block, checked: the columns lie in it, one
// behind the other.
type columns struct {
	data []byte
	rows int
}

// parseHeader checks a columnar block's header against the kinds of its columns.
func parseHeader(data []byte, kinds []byte) (c columns, err error) {
	start := headerLen + columnHeaderLen*len(kinds)
	switch {
	case len(data) < start+1:
		return c, corrupt("a columnar block without a header")
	case data[0] != columnarVersion:
		return c, corrupt("unknown version of a columnar block")
	case int(binary.LittleEndian.Uint16(data[1:])) != len(kinds):
		return c, corrupt("unexpected number of columns")
	}
	rows := binary.LittleEndian.Uint32(data[3:])
	if rows > MaxEntries {
		return c, corrupt("too many entries")
	}
	c = columns{data: data, rows: int(rows)}
	for i, kind := range kinds {
		if data[headerLen+columnHeaderLen*i] != kind {
			return c, corrupt("unexpected kind of a column")
		}
		from, to := c.bounds(i)
		if i == 0 && from != start || from > to || to > len(data)-1 {
			return c, corrupt("columns overlap, or are out of order")
		}
	}
	return c, nil
}

// bounds is where column i begins and ends.
func (c columns) bounds(i int) (from, to int) { return c.start(i), c.start(i + 1) }

// start is where column i begins; that behind the last one is the padding.
func (c columns) start(i int) int {
	at := headerLen + columnHeaderLen*i + 1
	if i == int(binary.LittleEndian.Uint16(c.data[1:])) {
		return len(c.data) - 1
	}
	return int(min(binary.LittleEndian.Uint32(c.data[at:]), MaxBlock+1))
}

// uints is column i, of integers.
func (c columns) uints(i int) (uints, error) {
	from, to := c.bounds(i)
	u, end, ok := parseUints(c.data[:to], from, c.rows)
	if !ok || end != to {
		return u, corrupt("a column of integers")
	}
	return u, nil
}

// texts is column i, of byte strings.
func (c columns) texts(i int) (texts, error) {
	from, to := c.bounds(i)
	t, ok := parseTexts(c.data[:to], from, c.rows)
	if !ok {
		return t, corrupt("a column of byte strings")
	}
	return t, nil
}

// parseColumnar checks an index block of columns. The properties are not looked
// at: they are never used.
func parseColumnar(data []byte, limit int64) (b Block, err error) {
	c, err := parseHeader(data, indexColumns)
	if err != nil {
		return b, err
	}
	b = Block{data: data, n: c.rows, columnar: true}
	if b.seps, err = c.texts(colSeparators); err != nil {
		return Block{}, err
	}
	if b.offs, err = c.uints(colOffsets); err != nil {
		return Block{}, err
	}
	if b.lens, err = c.uints(colLengths); err != nil {
		return Block{}, err
	}
	blocks := chain{limit: limit}
	for i := range b.n {
		if err := blocks.add(b.offs.at(data, i), b.lens.at(data, i)); err != nil {
			return Block{}, err
		}
	}
	return b, nil
}

// eachColumnarRow calls f with each key and value of a columnar metaindex, until it
// returns false.
func eachColumnarRow(data []byte, f func(key, value []byte) bool) error {
	c, err := parseHeader(data, metaColumns)
	if err != nil {
		return err
	}
	keys, err := c.texts(colKeys)
	if err != nil {
		return err
	}
	values, err := c.texts(colValues)
	if err != nil {
		return err
	}
	for i := range c.rows {
		if !f(keys.at(data, i), values.at(data, i)) {
			return nil
		}
	}
	return nil
}
