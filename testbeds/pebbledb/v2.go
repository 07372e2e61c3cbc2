// SPDX-License-Identifier: Apache-2.0

package pebbledb

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// bloomBits is what Pebble's documentation recommends, a false positive in a hundred.
const bloomBits = 10

// OptionsV2 are the options that a database was made with and is to be opened with:
// Pebble's defaults, Bloom filters in all levels but the last, where a key is if it
// is anywhere, the newest format, and nothing that moves tables. Block sizes are the
// default.
func OptionsV2(c Compression) *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion:          pebble.FormatNewest,
		DisableAutomaticCompactions: true,
		// They would be read from all tables soon after opening, in the background.
		DisableTableStats: true,
		Logger:            Quiet{},
	}
	o.Levels[0].Compression = func() *sstable.CompressionProfile {
		switch c {
		case Zstd:
			return sstable.ZstdCompression
		case None:
			return sstable.NoCompression
		}
		return sstable.SnappyCompression
	}
	o.Levels[0].FilterPolicy = bloom.FilterPolicy(bloomBits)
	o.Levels[len(o.Levels)-1].FilterPolicy = pebble.NoFilterPolicy
	return o
}

// v2 makes a database with v2.
type v2 struct {
	db *pebble.DB
	o  *pebble.Options
}

func openV2(dir string, s Spec) (engine, error) {
	o := OptionsV2(s.Compression)
	o.DisableWAL = true
	o.ErrorIfExists = true
	// Every flush is to give one table, and L0 may have many.
	o.MemTableSize = memTableSize
	o.FlushSplitBytes = memTableSize
	o.TargetFileSizes[0] = memTableSize
	o.L0StopWritesThreshold = 10 * L0Tables
	// L5 may be filled although L6 is small.
	o.LBaseMaxBytes = 1
	o.EnsureDefaults()
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &v2{db, o}, nil
}

// memTableSize is more than a flush.
const memTableSize = 256 << 20

type tableV2 struct{ *sstable.Writer }

func (t tableV2) size() uint64 { return t.Raw().EstimatedSize() }

func (e *v2) table(path string, level int) (table, error) {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	o := e.o.MakeWriterOptions(level, e.db.TableFormat())
	return tableV2{sstable.NewWriter(objstorageprovider.NewFileWritable(f), o)}, nil
}

func (e *v2) ingest(paths []string) error { return e.db.Ingest(context.Background(), paths) }

func (e *v2) flush(rows func(set func(k, v []byte) error) error) error {
	b := e.db.NewBatch()
	defer b.Close()
	if err := rows(func(k, v []byte) error { return b.Set(k, v, nil) }); err != nil {
		return err
	}
	if err := e.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return e.db.Flush()
}

func (e *v2) close() error { return e.db.Close() }

// tablesV2 is how many tables the levels have.
func tablesV2(dir string, s Spec) (n []int, err error) {
	o := OptionsV2(s.Compression)
	o.ReadOnly = true
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	levels, err := db.SSTables()
	for _, l := range levels {
		n = append(n, len(l))
	}
	return n, err
}
