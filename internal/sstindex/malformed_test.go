// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
)

func TestMalformedTables(t *testing.T) {
	data := make([]byte, 100)
	meta := stored(offsets(nil, 0), 0)
	index := stored(rowIndex([]string{"k"}, 0, 95), 0)
	good := table(magicPebble, 4, data, meta, index)
	x, err := open(good)
	must(t, err)
	if x.Partitions() != 1 || x.top.Handle(0) != (Handle{0, 100}) {
		t.Fatal(x.top.Handle(0))
	}
	withFoot := func(f []byte) []byte { return append(bytes.Clone(good[:len(good)-footerPlain]), f...) }
	withMeta := func(b []byte) []byte { return table(magicPebble, 4, data, stored(b, 0), index) }
	withIndex := func(b []byte) []byte { return table(magicPebble, 4, data, meta, stored(b, 0)) }
	v6 := table(magicPebble, 6, data, stored(set(columnar(nil), 0, 1), 0), stored(columnar(nil), 0))
	end := uint64(len(good) - footerPlain)
	for _, c := range []struct {
		name string
		file []byte
		kind error
		says string
	}{
		{"nothing", nil, ErrFormat, "no table"},
		{"47 bytes", make([]byte, 47), ErrFormat, "no table"},
		{"no magic", make([]byte, 1000), ErrFormat, "magic"},
		{"magic only", append(make([]byte, 40), magicPebble...), ErrFormat, "version 0"},
		{"shorter than its footer", good[len(good)-50:], ErrFormat, "shorter"},
		{"version 8", withFoot(foot(magicPebble, 8, 1, 0, 0, 0, 0)), ErrFormat, "version 8"},
		{"RocksDB version 5", withFoot(foot(magicRocksDB, 5, 1, 0, 0, 0, 0)), ErrFormat, "version 5"},
		{"unknown checksum", withFoot(foot(magicPebble, 4, 5, 0, 0, 0, 0)), ErrCorrupt, "kind of checksum"},
		{"checksum of the footer", set(v6, len(v6)-footerCRC+1, 0xff), ErrCorrupt, "checksum of the footer"},
		{"metaindex beyond the file", withFoot(foot(magicPebble, 4, 1, 0, end-4, 0, 0)), ErrCorrupt, "handle of the metaindex"},
		{"metaindex of 2^64-1", withFoot(foot(magicPebble, 4, 1, 0, 1<<64-1, 0, 0)), ErrCorrupt, "handle of the metaindex"},
		{"metaindex is no varint", withFoot(set(foot(magicPebble, 4, 1), 1, bytes.Repeat([]byte{0xff}, 40)...)), ErrCorrupt, "handle of the metaindex"},
		{"index beyond the file", withFoot(foot(magicPebble, 4, 1, 0, 0, end, 0)), ErrCorrupt, "handle of the index"},
		{"metaindex is half a varint", withFoot(set(foot(magicPebble, 4, 1), 2, bytes.Repeat([]byte{0xff}, 39)...)), ErrCorrupt, "handle of the metaindex"},
		{"index is no varint", withFoot(set(foot(magicPebble, 4, 1, 0, 0), 3, bytes.Repeat([]byte{0xff}, 38)...)), ErrCorrupt, "handle of the index"},
		{"checksum of the metaindex", set(good, 100+len(index), 0xff), ErrCorrupt, "metaindex: sstindex: corrupt table: checksum"},
		{"checksum of the index", set(good, 100, 0xff), ErrCorrupt, "index: sstindex: corrupt table: checksum"},
		{"compression of the index", table(magicPebble, 4, data, meta, stored(rowIndex(nil), 77)), ErrCorrupt, "compression 77"},
		{"snappy of too much", table(magicPebble, 4, data, meta, stored([]byte(varints(1<<31)+"x"), 1)), ErrCorrupt, "too much"},
		{"metaindex without an end", withMeta([]byte{1}), ErrCorrupt, "without an end"},
		{"metaindex shares with nothing", withMeta(offsets(row(nil, 1, "k", varints(0, 1)), 0)), ErrCorrupt, "entry of the metaindex"},
		{"metaindex runs over", withMeta(offsets([]byte{0, 200, 1}, 0)), ErrCorrupt, "entry of the metaindex"},
		{"metaindex of columns expected", v6, ErrCorrupt, "number of columns"},
		{"filter beyond the file", withMeta(offsets(row(nil, 0, "fullfilter.f", varints(0, 1<<40)), 0)), ErrCorrupt, "filter's entry"},
		{"filter without a handle", withMeta(offsets(row(nil, 0, "fullfilter.f", ""), 0)), ErrCorrupt, "filter's entry"},
		{"filter of a long name", withMeta(offsets(row(nil, 0, "fullfilter."+strings.Repeat("f", maxFilterName+1), varints(0, 1)), 0)), ErrCorrupt, "filter's entry"},
		{"data within the index", withIndex(rowIndex([]string{"k"}, 0, 96)), ErrCorrupt, "outside its region"},
		{"index of columns expected", table(magicPebble, 5, data, meta, index), ErrCorrupt, "columnar block"},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, second(open(c.file)), c.kind, c.says) })
	}
	// A partition that is the data block: not an index.
	x, err = open(withIndex(rowIndex([]string{"k"}, 1, 90)))
	must(t, err)
	check(t, second(x.Load(bytes.NewReader(good), 0)), ErrCorrupt, "partition 0")
	if !x.TwoLevel() || x.Region().Off != 1 {
		t.Error(x.TwoLevel(), x.Region())
	}
	for _, h := range []Handle{{-1, 10}, {0, 4}, {0, -1}, {1 << 62, 1 << 62}, {int64(end), 5}, {0, 1 << 40}} {
		check(t, second(x.ReadBlock(bytes.NewReader(good), h)), ErrCorrupt, "outside the file")
	}
}

// A metaindex of LevelDB shares bytes between keys.
func TestMetaindexMaySharePrefixes(t *testing.T) {
	meta := row(nil, 0, "filter.x", varints(1, 1))
	meta = row(meta, 1, "ullfilter.my.Policy", varints(2, 3))
	for _, magic := range []string{magicLevelDB, magicRocksDB} {
		x, err := open(table(magic, versionRocksDB, make([]byte, 100), stored(offsets(meta, 0), 0), stored(rowIndex(nil), 0)))
		must(t, err)
		if name, h, ok := x.Filter(); !ok || name != "my.Policy" || h != (Handle{2, 8}) {
			t.Error(name, h, ok)
		}
	}
}

// Any compressor gets a bound, and is not believed.
func TestDecompressIsNotTrusted(t *testing.T) {
	file := table(magicPebble, 4, make([]byte, 100), stored(offsets(nil, 0), 0), stored([]byte("xyz"), 3))
	_, err := open(file)
	check(t, err, ErrCorrupt, "compression 3")
	_, err = Open(bytes.NewReader(file), int64(len(file)), nil)
	check(t, err, ErrCorrupt, "nothing given")
	_, err = Open(bytes.NewReader(file), int64(len(file)), func(kind byte, src []byte, max int) ([]byte, error) {
		if kind != 3 || string(src) != "xyz" || max != freeExpansion+3*maxRatio {
			t.Error(kind, src, max)
		}
		return make([]byte, max+1), nil
	})
	check(t, err, ErrCorrupt, "too much")
}

func TestLargeBlocksAreNotRead(t *testing.T) {
	size := int64(1 << 40)
	f := foot(magicPebble, 4, 1, 0, MaxBlock+1, 0, 0)
	tail := append(make([]byte, tailSize-len(f)), f...)
	r := tailReader{ReaderAt: none{}, tail: tail, off: size - tailSize}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	check(t, second(Open(r, size, decompress)), ErrCorrupt, "too large")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
}

// none is a file that can't be read.
type none struct{}

func (none) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestReadErrorsComeThrough(t *testing.T) {
	file := build(t, shape{rows: rows(500), block: 100, index: 100}, how{format: int(sstable.TableFormatPebblev4), compress: "none"})
	x, err := open(file)
	must(t, err)
	if _, err := x.Load(none{}, 0); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if _, err := Open(none{}, 1000, decompress); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if _, err := Open(bytes.NewReader(nil), 1000, decompress); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	for _, size := range []int64{0, -1, -1 << 63} {
		check(t, second(Open(bytes.NewReader(nil), size, decompress)), ErrFormat, "no table")
	}
}

// A small table cut off anywhere, at either end, or with any bit flipped.
func TestDamagedTablesNeverPanic(t *testing.T) {
	for _, h := range hows() {
		if h.compress == "zstd" && !h.v1 {
			continue
		}
		file := build(t, shape{rows: rows(6), block: 150, index: 60}, h)
		for n := range file {
			if walk(file[:n]) == nil {
				t.Errorf("%s: cut off at %d of %d: no error", h.name, n, len(file))
			}
			_ = walk(file[n:])
			_ = walk(set(file, n, file[n]^1<<(n%8)))
		}
	}
	if err := walk(build(t, shape{rows: rows(6), block: 150, index: 60}, how{format: int(sstable.TableFormatPebblev7), compress: "none"})); err != nil {
		t.Error(err)
	}
}
