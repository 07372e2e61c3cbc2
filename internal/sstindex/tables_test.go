// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	v1bloom "github.com/cockroachdb/pebble/bloom"
	v1provider "github.com/cockroachdb/pebble/objstorage/objstorageprovider"
	v1sstable "github.com/cockroachdb/pebble/sstable"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	v1vfs "github.com/cockroachdb/pebble/vfs"
)

// decompress undoes what Pebble does, with Pebble.
func decompress(indicator byte, src []byte, max int) ([]byte, error) {
	ci := block.CompressionIndicator(indicator)
	switch ci {
	case block.SnappyCompressionIndicator, block.ZstdCompressionIndicator, block.MinLZCompressionIndicator:
	default:
		return nil, fmt.Errorf("compression %d", indicator)
	}
	n, err := block.DecompressedLen(ci, src)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > max {
		return nil, errors.New("too much")
	}
	buf := make([]byte, n)
	return buf, block.DecompressInto(ci, src, buf)
}

// kv is a row to write.
type kv struct{ key, value []byte }

// rows are n of them, of about 100 bytes.
func rows(n int) (all []kv) {
	for i := range n {
		all = append(all, kv{fmt.Appendf(nil, "key-%07d-%x", i*7, i*i), bytes.Repeat([]byte{byte(i)}, 80)})
	}
	return all
}

// shape is what to write, but not how.
type shape struct {
	name  string
	rows  []kv
	dels  [][2]string
	block int // size of data blocks
	index int // size of index blocks
}

func shapes() []shape {
	huge := func(n int, c byte) []byte { return bytes.Repeat([]byte{c}, n) }
	mixed := make([]byte, 70_000)
	for i := range mixed {
		mixed[i] = byte(i * i >> 3)
	}
	return []shape{
		{"empty", nil, nil, 4096, 4096},
		{"rangedels", nil, [][2]string{{"a", "b"}, {"k", "m"}}, 4096, 4096},
		{"one", rows(1), nil, 4096, 4096},
		{"two", rows(2), nil, 1, 1 << 20},
		{"oneblock", rows(20), nil, 4096, 4096},
		{"single", rows(1500), [][2]string{{"a", "b"}}, 1024, 1 << 20},
		{"twolevel", rows(1500), nil, 1024, 512},
		{"twolevel-deep", rows(500), [][2]string{{"a", "b"}}, 100, 1},
		{"ones", []kv{{huge(1, 0xff), nil}, {huge(2, 0xff), nil}, {huge(300, 0xff), nil}}, nil, 1, 1},
		{"zeros", []kv{{[]byte{0}, []byte("v")}, {[]byte{0, 0}, nil}, {[]byte{0, 0, 0}, nil}}, nil, 1, 1 << 20},
		{"hugekeys", []kv{{huge(70_000, 'a'), nil}, {huge(1<<18, 'b'), nil}, {append(huge(1<<18, 'b'), 'c'), nil}, {append([]byte{'c'}, mixed...), nil}}, nil, 1, 1 << 24},
		{"hugekeys-two", []kv{{huge(70_000, 'a'), nil}, {huge(1<<18, 'b'), nil}, {append(huge(1<<18, 'b'), 'c'), nil}, {append([]byte{'c'}, mixed...), nil}}, nil, 1, 1},
		{"hugevalue", []kv{{[]byte("a"), nil}, {[]byte("b"), huge(4<<20, 'x')}, {[]byte("c"), nil}}, nil, 1024, 4096},
	}
}

// how is by what to write it.
type how struct {
	name     string
	v1       bool
	format   int
	compress string
	filter   bool
	xxhash   bool
}

func hows() (all []how) {
	for f := sstable.TableFormatPebblev1; f <= sstable.TableFormatMax; f++ {
		for _, c := range []string{"none", "snappy", "zstd", "minlz"} {
			all = append(all, how{format: int(f), compress: c, filter: c == "snappy"})
		}
		all = append(all, how{format: int(f), compress: "none", xxhash: true})
	}
	for f := v1sstable.TableFormatLevelDB; f <= v1sstable.TableFormatMax; f++ {
		for _, c := range []string{"none", "snappy", "zstd"} {
			all = append(all, how{v1: true, format: int(f), compress: c, filter: c == "none"})
		}
	}
	for i, h := range all {
		f := sstable.TableFormat(h.format).String()
		all[i].name = fmt.Sprintf("%s-%s-v1=%t-xx=%t", f, h.compress, h.v1, h.xxhash)
	}
	return all
}

// twoLevels reports whether the format allows two.
func (h how) twoLevels() bool { return h.format != int(sstable.TableFormatLevelDB) }

// build writes a table.
func build(tb testing.TB, s shape, h how) []byte {
	tb.Helper()
	if h.v1 {
		return buildV1(tb, s, h)
	}
	o := sstable.WriterOptions{
		BlockSize: s.block, IndexBlockSize: s.index, TableFormat: sstable.TableFormat(h.format),
		Compression: map[string]*block.CompressionProfile{
			"none": block.NoCompression, "snappy": block.SnappyCompression,
			"zstd": block.ZstdCompression, "minlz": block.MinLZCompression}[h.compress],
	}
	if h.filter {
		o.FilterPolicy = bloom.FilterPolicy(10)
	}
	if h.xxhash {
		o.Checksum = block.ChecksumTypeXXHash64
	}
	var f objstorage.MemObj
	w := sstable.NewWriter(&f, o)
	write(tb, s, w)
	return f.Data()
}

func buildV1(tb testing.TB, s shape, h how) []byte {
	tb.Helper()
	o := v1sstable.WriterOptions{
		BlockSize: s.block, IndexBlockSize: s.index, TableFormat: v1sstable.TableFormat(h.format),
		Compression: map[string]v1sstable.Compression{
			"none": v1sstable.NoCompression, "snappy": v1sstable.SnappyCompression, "zstd": v1sstable.ZstdCompression}[h.compress],
	}
	if h.filter {
		o.FilterPolicy = v1bloom.FilterPolicy(10)
	}
	fs := v1vfs.NewMem()
	f, err := fs.Create("t")
	must(tb, err)
	write(tb, s, v1sstable.NewWriter(v1provider.NewFileWritable(f), o))
	f, err = fs.Open("t")
	must(tb, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	must(tb, err)
	return b
}

// write writes the rows with either version's writer.
func write(tb testing.TB, s shape, w interface {
	Set(key, value []byte) error
	DeleteRange(start, end []byte) error
	Close() error
}) {
	tb.Helper()
	for _, r := range s.rows {
		must(tb, w.Set(r.key, r.value))
	}
	for _, d := range s.dels {
		must(tb, w.DeleteRange([]byte(d[0]), []byte(d[1])))
	}
	must(tb, w.Close())
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// open opens a table in memory.
func open(b []byte) (*Index, error) { return Open(bytes.NewReader(b), int64(len(b)), decompress) }

// --- Tables made by hand, to make them badly.

// row appends an entry of a row block that shares n bytes with the one before.
func row(b []byte, n int, key, value string) []byte {
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(append(b, key...), value...)
}

// offsets ends a row block.
func offsets(b []byte, at ...uint32) []byte {
	for _, o := range at {
		b = binary.LittleEndian.AppendUint32(b, o)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(at)))
}

// varints is a handle.
func varints(v ...uint64) string {
	var b []byte
	for _, v := range v {
		b = binary.AppendUvarint(b, v)
	}
	return string(b)
}

const seq = "\x01\x02\x03\x04\x05\x06\x07\x08"

// rowIndex is an index block of rows: key, offset, length.
func rowIndex(keys []string, handles ...uint64) []byte {
	var b []byte
	var at []uint32
	for i, k := range keys {
		at = append(at, uint32(len(b)))
		b = row(b, 0, k+seq, varints(handles[2*i], handles[2*i+1]))
	}
	if len(at) == 0 {
		at = []uint32{0}
	}
	return offsets(b, at...)
}

// stored is a block with its trailer.
func stored(data []byte, kind byte) []byte {
	b := append(bytes.Clone(data), kind)
	return binary.LittleEndian.AppendUint32(b, mask(update(0, b)))
}

// foot is a footer.
func foot(magic string, version uint32, checksum byte, handles ...uint64) []byte {
	b := make([]byte, handlesLen)
	copy(b, varints(handles...))
	if magic != magicLevelDB {
		b = append([]byte{checksum}, b...)
	}
	if magic == magicPebble && version >= 7 {
		b = append(b, 0, 0, 0, 0)
	}
	var end []byte
	if magic != magicLevelDB {
		end = binary.LittleEndian.AppendUint32(nil, version)
	}
	end = append(end, magic...)
	if magic == magicPebble && version >= 6 {
		b = binary.LittleEndian.AppendUint32(b, mask(update(update(0, b), end)))
	}
	return append(b, end...)
}

// table lays out data, metaindex, index and footer. The index may be made when it
// is known where it comes to lie.
func table(magic string, version uint32, data, meta, index []byte) []byte {
	b := bytes.Clone(data)
	i := len(b)
	b = append(b, index...)
	m := len(b)
	b = append(b, meta...)
	return append(b, foot(magic, version, checksumCRC,
		uint64(m), uint64(len(meta)-trailerLen), uint64(i), uint64(len(index)-trailerLen))...)
}
