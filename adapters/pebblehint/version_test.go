// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// What differs between this package's tests and those of pebblev1hint.

// formats are those of the database, oldest first; blockFormats are one of each kind
// of index blocks: of rows, of columns.
var (
	formats = []pebble.FormatMajorVersion{
		pebble.FormatMinSupported, pebble.FormatVirtualSSTables, pebble.FormatSyntheticPrefixSuffix,
		pebble.FormatFlushableIngestExcises, pebble.FormatColumnarBlocks, pebble.FormatTableFormatV6, pebble.FormatNewest,
	}
	blockFormats = map[string]pebble.FormatMajorVersion{
		"row": pebble.FormatVirtualSSTables, "columnar": pebble.FormatNewest,
	}
)

// anyOrder reports whether tables of a format may have a comparer that doesn't order
// prefixes as bytes. It isn't allowed, and with the race detector Pebble looks; but it works.
func anyOrder(f pebble.FormatMajorVersion) bool {
	return f < pebble.FormatColumnarBlocks && !raceEnabled
}

var compressions = []string{"none", "snappy", "zstd", "minlz"}

// layout is how tables are written.
type layout struct {
	block, index int    // sizes; 0: the default
	compression  string // "": none
	filter       bool
	file         int64 // size; 0: the default
}

func (l layout) set(o *pebble.Options) {
	p := map[string]*sstable.CompressionProfile{
		"": sstable.NoCompression, "none": sstable.NoCompression, "snappy": sstable.SnappyCompression,
		"zstd": sstable.ZstdCompression, "minlz": sstable.MinLZCompression,
	}[l.compression]
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return p }
		o.Levels[i].BlockSize, o.Levels[i].IndexBlockSize = l.block, l.index
		if l.filter {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
		o.TargetFileSizes[i] = l.file
	}
}

func compact(db *pebble.DB, from, to []byte) error {
	return db.Compact(context.Background(), from, to, false)
}

func ingest(db *pebble.DB, path string) error {
	return db.Ingest(context.Background(), []string{path})
}

func excise(d *database, from, to []byte) error {
	return d.Excise(context.Background(), pebble.KeyRange{Start: from, End: to})
}

func ingestAndExcise(db *pebble.DB, path string, from, to []byte) error {
	_, err := db.IngestAndExcise(context.Background(), []string{path}, nil, nil, pebble.KeyRange{Start: from, End: to})
	return err
}

// writeTable makes a table to be ingested.
func writeTable(o *pebble.Options, path string, fill func(set func(k, v []byte) error) error) error {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), o.MakeWriterOptions(0, o.FormatMajorVersion.MaxTableFormat()))
	if err := fill(w.Set); err != nil {
		return err
	}
	return w.Close()
}

// dataBlocks are the data blocks of a table, with trailers.
func dataBlocks(t tester, path string, o *pebble.Options) (blocks []span, twoLevel bool) {
	t.Helper()
	f, err := vfs.Default.Open(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if o = o.Clone(); o.Comparer != nil {
		s := colblk.DefaultKeySchema(o.Comparer, 16)
		o.KeySchemas = sstable.MakeKeySchemas(&s)
	}
	r, err := sstable.NewReader(context.Background(), readable, o.MakeReaderOptions())
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer r.Close()
	l, err := r.Layout()
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, b := range l.Data {
		blocks = append(blocks, span{int64(b.Offset), int64(b.Offset+b.Length) + 5})
	}
	return blocks, l.TopIndex.Length > 0
}

// suffixed orders keys by what is before the first '@', then by what is from it on:
// none first, then the largest first.
var suffixed = &pebble.Comparer{
	Name:                 "predictio.test.suffixed",
	Compare:              compareSuffixed,
	ComparePointSuffixes: compareSuffixes,
	CompareRangeSuffixes: compareSuffixes,
	Equal:                bytes.Equal,
	Split:                splitSuffixed,
	AbbreviatedKey: func(k []byte) uint64 {
		return pebble.DefaultComparer.AbbreviatedKey(k[:splitSuffixed(k)])
	},
	FormatKey:          pebble.DefaultComparer.FormatKey,
	Separator:          separateSuffixed,
	Successor:          succeedSuffixed,
	ImmediateSuccessor: func(dst, a []byte) []byte { return append(append(dst, a...), 0) },
}

// reversed orders keys from last to first.
var reversed = &pebble.Comparer{
	Name:                 "predictio.test.reversed",
	Compare:              func(a, b []byte) int { return bytes.Compare(b, a) },
	ComparePointSuffixes: func(a, b []byte) int { return bytes.Compare(b, a) },
	CompareRangeSuffixes: func(a, b []byte) int { return bytes.Compare(b, a) },
	Equal:                bytes.Equal,
	Split:                func(k []byte) int { return len(k) },
	AbbreviatedKey:       func(k []byte) uint64 { return ^pebble.DefaultComparer.AbbreviatedKey(k) },
	FormatKey:            pebble.DefaultComparer.FormatKey,
	Separator:            func(dst, a, _ []byte) []byte { return append(dst, a...) },
	Successor:            func(dst, a []byte) []byte { return append(dst, a...) },
	ImmediateSuccessor:   func(dst, a []byte) []byte { return append(append(dst, a...), 0) },
}

// separateValues has values of 100 bytes and more go to blob files, if the version has
// them.
func separateValues(o *pebble.Options) bool {
	o.FormatMajorVersion = pebble.FormatNewest
	o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{Enabled: true, MinimumSize: 100, MaxBlobReferenceDepth: 10, TargetGarbageRatio: 1}
	}
	return true
}

// rangeKeys is the first format with range keys.
const rangeKeys = pebble.FormatMinSupported

// fewFields are what a comparer may leave out.
var fewFields = map[string]func(c *pebble.Comparer){
	"no Split":   func(c *pebble.Comparer) { c.Split = nil },
	"no Compare": func(c *pebble.Comparer) { c.Compare = nil },
	"neither":    func(c *pebble.Comparer) { c.Split, c.Compare, c.Equal = nil, nil, nil },
}

func (f *faultFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(name, "create", 0); err != nil {
		return nil, err
	}
	return f.FS.Create(name, category)
}

// leaveAlone keeps the database from reading tables before it must, if the version can.
func leaveAlone(o *pebble.Options) bool {
	o.DisableConsistencyCheck, o.DisableTableStats = true, true
	return true
}

// opensDamaged: a database is opened without a look at its files' sizes.
const opensDamaged = true
