// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/bloom"
	"github.com/cockroachdb/pebble/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/sstable"
	"github.com/cockroachdb/pebble/vfs"
)

// What differs between this package's tests and those of pebblehint.

// formats are those of the database, oldest first; blockFormats are one of each kind
// of tables.
var (
	formats = []pebble.FormatMajorVersion{
		pebble.FormatMostCompatible, pebble.FormatBlockPropertyCollector, pebble.FormatRangeKeys,
		pebble.FormatSSTableValueBlocks, pebble.FormatDeleteSizedAndObsolete, pebble.FormatVirtualSSTables, pebble.FormatNewest,
	}
	blockFormats = map[string]pebble.FormatMajorVersion{
		"old": pebble.FormatRangeKeys, "newest": pebble.FormatNewest,
	}
)

// anyOrder reports whether tables of a format may have a comparer that doesn't order
// prefixes as bytes.
func anyOrder(pebble.FormatMajorVersion) bool { return true }

// compressions are without zstd: with the DataDog/zstd v1.5.7 that Pebble v2 wants, Pebble v1
// can't read what it has written ("decompressed into unexpected buffer").
var compressions = []string{"none", "snappy"}

// layout is how tables are written.
type layout struct {
	block, index int    // sizes; 0: the default
	compression  string // "": none
	filter       bool
	file         int64 // size; 0: the default
}

func (l layout) set(o *pebble.Options) {
	o.Levels = make([]pebble.LevelOptions, 7)
	for i := range o.Levels {
		x := &o.Levels[i]
		x.Compression = map[string]pebble.Compression{
			"": pebble.NoCompression, "none": pebble.NoCompression, "snappy": pebble.SnappyCompression, "zstd": pebble.ZstdCompression,
		}[l.compression]
		x.BlockSize, x.IndexBlockSize = l.block, l.index
		if l.filter {
			x.FilterPolicy = bloom.FilterPolicy(10)
		}
		x.TargetFileSize = l.file
	}
}

func compact(db *pebble.DB, from, to []byte) error { return db.Compact(from, to, false) }

func ingest(db *pebble.DB, path string) error { return db.Ingest([]string{path}) }

// excise is what v1 has only together with an ingest: of the first key.
func excise(d *database, from, to []byte) error {
	path := filepath.Join(filepath.Dir(d.dir), "excise.sst")
	if err := writeTable(d.o, path, func(set func(k, v []byte) error) error { return set(from, nil) }); err != nil {
		return err
	}
	return ingestAndExcise(d.DB, path, from, to)
}

func ingestAndExcise(db *pebble.DB, path string, from, to []byte) error {
	_, err := db.IngestAndExcise([]string{path}, nil, pebble.KeyRange{Start: from, End: to})
	return err
}

// writeTable makes a table to be ingested.
func writeTable(o *pebble.Options, path string, fill func(set func(k, v []byte) error) error) error {
	f, err := vfs.Default.Create(path)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), o.MakeWriterOptions(0, o.FormatMajorVersion.MaxTableFormat()))
	if err := fill(w.Set); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close()
}

// dataBlocks are the data blocks of a table, with trailers.
func dataBlocks(t tester, path string, o *pebble.Options) (blocks []span, twoLevel bool) {
	t.Helper()
	f, err := vfs.Default.Open(path)
	must(t, err)
	readable, err := sstable.NewSimpleReadable(f)
	must(t, err)
	ro := sstable.ReaderOptions{Comparer: o.Comparer, Filters: map[string]sstable.FilterPolicy{}}
	r, err := sstable.NewReader(readable, ro)
	must(t, err)
	defer r.Close()
	l, err := r.Layout()
	must(t, err)
	for _, b := range l.Data {
		blocks = append(blocks, span{int64(b.Offset), int64(b.Offset+b.Length) + 5})
	}
	return blocks, l.TopIndex.Length > 0
}

// suffixed orders keys by what is before the first '@', then by what is from it on:
// none first, then the largest first.
var suffixed = &pebble.Comparer{
	Name:    "predictio.test.suffixed",
	Compare: compareSuffixed,
	Equal:   bytes.Equal,
	Split:   splitSuffixed,
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
	Name:               "predictio.test.reversed",
	Compare:            func(a, b []byte) int { return bytes.Compare(b, a) },
	Equal:              bytes.Equal,
	Split:              func(k []byte) int { return len(k) },
	AbbreviatedKey:     func(k []byte) uint64 { return ^pebble.DefaultComparer.AbbreviatedKey(k) },
	FormatKey:          pebble.DefaultComparer.FormatKey,
	Separator:          func(dst, a, _ []byte) []byte { return append(dst, a...) },
	Successor:          func(dst, a []byte) []byte { return append(dst, a...) },
	ImmediateSuccessor: func(dst, a []byte) []byte { return append(append(dst, a...), 0) },
}

// separateValues has values go to blob files, if the version has them.
func separateValues(*pebble.Options) bool { return false }

// rangeKeys is the first format with range keys.
const rangeKeys = pebble.FormatRangeKeys

// fewFields are what a comparer may leave out.
var fewFields = map[string]func(c *pebble.Comparer){
	"no Split": func(c *pebble.Comparer) { c.Split = nil },
}

func (f *faultFS) Create(name string) (vfs.File, error) {
	if err := f.check(name, "create", 0); err != nil {
		return nil, err
	}
	return f.FS.Create(name)
}

// leaveAlone keeps the database from reading tables before it must, if the version can.
func leaveAlone(*pebble.Options) bool { return false }

// opensDamaged: a database is opened without a look at its files' sizes.
const opensDamaged = false
