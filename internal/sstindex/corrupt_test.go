// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
)

// set overwrites bytes of a copy.
func set(b []byte, at int, v ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], v)
	return b
}

// check compares an error with the one expected: its kind, and what it says.
func check(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %v: %s", err, kind, says)
	}
}

func TestMalformedRowBlocks(t *testing.T) {
	const limit = 1000
	good := rowIndex([]string{"a", "b"}, 0, 95, 100, 895)
	if b, err := parseRows(good, limit); err != nil || b.Len() != 2 || string(b.Separator(1)) != "b" || b.Handle(1) != (Handle{100, 900}) {
		t.Fatal(b, err)
	}
	entry := row(nil, 0, "a"+seq, varints(0, 10))
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"nothing", nil, "without an end"},
		{"three bytes", []byte{0, 0, 0}, "without an end"},
		{"offsets beyond the block", offsets(entry, 0)[:len(entry)+6], "room"},
		{"more offsets than room", binary.LittleEndian.AppendUint32(nil, 1), "room"},
		{"huge number of offsets", []byte{0xff, 0xff, 0xff, 0xff}, "room"},
		{"first offset not 0", offsets(entry, 1), "begins elsewhere"},
		{"offset too high", offsets(entry, 0, 0xffffffff), "begins elsewhere"},
		{"offset in the middle", offsets(append(bytes.Clone(entry), row(nil, 0, "b"+seq, varints(15, 10))...), 0, 3), "begins elsewhere"},
		{"fewer offsets than entries", offsets(append(bytes.Clone(entry), entry...), 0), "bytes behind"},
		{"more offsets than entries", offsets(entry, 0, uint32(len(entry))), "runs over"},
		{"entries without offsets", offsets(entry), "bytes behind"},
		{"shared bytes", offsets(append(bytes.Clone(entry), row(nil, 1, "b"+seq, varints(15, 10))...), 0, uint32(len(entry))), "shares"},
		{"key too short", offsets(row(nil, 0, "1234567", varints(0, 10)), 0), "too short"},
		{"key length beyond the block", offsets([]byte{0, 100, 0, 'a'}, 0), "runs over"},
		{"value length beyond the block", offsets([]byte{0, 1, 100, 'a'}, 0), "runs over"},
		{"lengths that overflow", offsets(append([]byte{0}, varints(1<<63, 1<<63)+"abc"...), 0), "runs over"},
		{"varint without an end", offsets([]byte{0, 0x80, 0x80}, 0), "runs over"},
		{"varint too long", offsets([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0), "runs over"},
		{"no handle", offsets(row(nil, 0, "a"+seq, ""), 0), "no handle"},
		{"half a handle", offsets(row(nil, 0, "a"+seq, varints(1)), 0), "no handle"},
		{"half a handle and a bit", offsets(row(nil, 0, "a"+seq, varints(1)+"\x80"), 0), "no handle"},
		{"a handle without an end", offsets(row(nil, 0, "a"+seq, "\x80"), 0), "no handle"},
		{"block beyond the limit", rowIndex([]string{"a"}, 0, limit-4), "outside its region"},
		{"block begins beyond the limit", rowIndex([]string{"a"}, limit+1, 0), "outside its region"},
		{"block without room for a trailer", rowIndex([]string{"a"}, limit-4, 0), "outside its region"},
		{"block of 2^64-1", rowIndex([]string{"a"}, 0, 1<<64-1), "outside its region"},
		{"block at 2^64-1", rowIndex([]string{"a"}, 1<<64-1, 1), "outside its region"},
		{"blocks overlap", rowIndex([]string{"a", "b"}, 0, 96, 100, 5), "overlap"},
		{"blocks out of order", rowIndex([]string{"a", "b"}, 100, 5, 0, 5), "overlap"},
		{"a block twice", rowIndex([]string{"a", "b"}, 0, 0, 0, 0), "overlap"},
		{"too many entries", offsets(nil, make([]uint32, MaxEntries+1)...), ""}, // of an empty block: no entries
		{"too large", make([]byte, MaxBlock+1), "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := parseBlock(c.data, false, limit)
			if c.says == "" {
				if err != nil || b.Len() != 0 {
					t.Error(b.Len(), err)
				}
				return
			}
			check(t, err, ErrCorrupt, c.says)
		})
	}
	check(t, second(parseRows(offsets(entry, make([]uint32, MaxEntries+1)...), limit)), ErrCorrupt, "too many")
}

func second[A any](_ A, err error) error { return err }

// columnar is an index block of columns: key, offset, length.
func columnar(keys []string, handles ...uint64) []byte {
	var w colblk.IndexBlockWriter
	w.Init()
	for i, k := range keys {
		w.AddBlockHandle([]byte(k), block.Handle{Offset: handles[2*i], Length: handles[2*i+1]}, []byte("props"))
	}
	return w.Finish(len(keys))
}

func TestMalformedColumnarBlocks(t *testing.T) {
	const limit = 1000
	good := columnar([]string{"aa", "bb", "bb"}, 0, 95, 100, 195, 300, 695)
	b, err := parseColumnar(good, limit)
	if err != nil || b.Len() != 3 || string(b.Separator(2)) != "bb" || b.Handle(2) != (Handle{300, 700}) {
		t.Fatal(b, err)
	}
	empty := columnar(nil)
	if b, err := parseColumnar(empty, limit); err != nil || b.Len() != 0 {
		t.Fatal(b, err)
	}
	start := func(col int) int { return int(good[8+5*col]) }
	text := start(0) // width, 4 offsets, aabbbb
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"nothing", nil, "without a header"},
		{"half a header", good[:27], "without a header"},
		{"version", set(good, 0, 2), "unknown version"},
		{"three columns", set(good, 1, 3), "number of columns"},
		{"65535 columns", set(good, 1, 0xff, 0xff), "number of columns"},
		{"2^32-1 rows", set(good, 3, 0xff, 0xff, 0xff, 0xff), "too many"},
		{"one row too many", set(good, 3, 4), "a column of"},
		{"one row too few", set(good, 3, 2), "a column of"},
		{"no rows but columns", set(good, 3, 0), "a column of"},
		{"rows but no columns", set(empty, 3, 1), "a column of"},
		{"separators are integers", set(good, 7, 2), "kind"},
		{"lengths are prefix bytes", set(good, 17, 4), "kind"},
		{"first column inside the header", set(good, 8, 26), "out of order"},
		{"column before the one before", set(good, 13, 27-1), "out of order"},
		{"column beyond the block", set(good, 23, 0xff, 0xff, 0xff, 0xff), "out of order"},
		{"truncated", good[:len(good)-30], "out of order"},
		{"separators: width 3", set(good, text, 3), "byte strings"},
		{"separators: width 8", set(good, text, 8), "byte strings"},
		{"separators: a base", set(good, text, 0x81), "byte strings"},
		{"separators: all empty", set(good, text, 0), "byte strings"},
		{"separators: not from 0", set(good, text+1, 1), "byte strings"},
		{"separators: descending", set(good, text+2, 5), "byte strings"},
		{"separators: beyond the column", set(good, text+4, 200), "byte strings"},
		{"separators: short of the column", set(good, text+4, 5), "byte strings"},
		{"offsets: width 5", set(good, start(1), 5), "integers"},
		{"offsets: width 8 with base", set(good, start(1), 0x88), "integers"},
		{"offsets: too wide", set(good, start(1), 4), "integers"},
		{"offsets: too narrow", set(good, start(1), 1), "integers"},
		{"lengths: base without room", set(good, start(2), 0x80), "integers"},
		{"block beyond the limit", columnar([]string{"a"}, 0, limit-4), "outside its region"},
		{"block of 2^64-1", columnar([]string{"a"}, 0, 1<<64-1), "outside its region"},
		{"block at 2^64-1", columnar([]string{"a"}, 1<<64-1, 1), "outside its region"},
		{"blocks overlap", columnar([]string{"a", "b"}, 0, 96, 100, 5), "overlap"},
		{"blocks out of order", columnar([]string{"a", "b"}, 100, 5, 0, 5), "overlap"},
		{"a block a million times", manyRows(), "too many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, second(parseBlock(c.data, true, limit)), ErrCorrupt, c.says)
		})
	}
}

// Offsets and lengths come in every width, with a base and without.
func TestColumnsOfEveryWidth(t *testing.T) {
	for _, base := range []uint64{0, 1, 300, 1 << 20, 1 << 40} {
		for _, step := range []uint64{10, 1 << 8, 1 << 16, 1 << 32, 1 << 50} {
			for _, n := range []int{1, 2, 7, 8, 9, 300} {
				keys, at := make([]string, n), []uint64(nil)
				for i := range keys {
					keys[i] = strings.Repeat("k", i%5*int(step%1000))
					at = append(at, base+uint64(i)*step, step-trailerLen-uint64(i%4))
				}
				b, err := parseColumnar(columnar(keys, at...), 1<<62)
				must(t, err)
				for i, k := range keys {
					if string(b.Separator(i)) != k || b.Handle(i) != (Handle{int64(at[2*i]), int64(at[2*i+1]) + trailerLen}) {
						t.Fatalf("base %d, step %d: entry %d of %d: %v", base, step, i, n, b.Handle(i))
					}
				}
			}
		}
	}
}

// manyRows are a few bytes that claim 2^24 rows.
func manyRows() []byte {
	return []byte{1, 4, 0, 0, 0, 0, 1,
		3, 27, 0, 0, 0, 2, 28, 0, 0, 0, 2, 29, 0, 0, 0, 3, 30, 0, 0, 0,
		0, 0, 0, 0, 0}
}
