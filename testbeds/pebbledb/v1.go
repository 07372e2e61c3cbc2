// SPDX-License-Identifier: Apache-2.0

package pebbledb

import (
	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/bloom"
	"github.com/cockroachdb/pebble/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/sstable"
	"github.com/cockroachdb/pebble/vfs"
)

// OptionsV1 are OptionsV2 for v1, whose newest format has blocks of rows.
func OptionsV1(c Compression) *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion:          pebble.FormatNewest,
		DisableAutomaticCompactions: true,
		Levels:                      make([]pebble.LevelOptions, lower+1),
		Logger:                      Quiet{},
	}
	for i := range o.Levels {
		l := &o.Levels[i]
		switch c {
		case Zstd:
			l.Compression = pebble.ZstdCompression
		case None:
			l.Compression = pebble.NoCompression
		default:
			l.Compression = pebble.SnappyCompression
		}
		// Each level's tables are twice as large as those of the level above, as
		// Pebble has it where no levels are given.
		l.TargetFileSize = 2 << 20 << i
		if i < lower {
			l.FilterPolicy = bloom.FilterPolicy(bloomBits)
		}
	}
	return o
}

// v1 makes a database with v1.
type v1 struct {
	db *pebble.DB
	o  *pebble.Options
}

func openV1(dir string, s Spec) (engine, error) {
	o := OptionsV1(s.Compression)
	o.DisableWAL = true
	o.ErrorIfExists = true
	// As in openV2.
	o.MemTableSize = memTableSize
	o.FlushSplitBytes = memTableSize
	o.Levels[0].TargetFileSize = memTableSize
	o.L0StopWritesThreshold = 10 * L0Tables
	o.LBaseMaxBytes = 1
	o.EnsureDefaults()
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &v1{db, o}, nil
}

type tableV1 struct{ *sstable.Writer }

func (t tableV1) size() uint64 { return t.EstimatedSize() }

func (e *v1) table(path string, level int) (table, error) {
	f, err := vfs.Default.Create(path)
	if err != nil {
		return nil, err
	}
	o := e.o.MakeWriterOptions(level, e.db.FormatMajorVersion().MaxTableFormat())
	return tableV1{sstable.NewWriter(objstorageprovider.NewFileWritable(f), o)}, nil
}

func (e *v1) ingest(paths []string) error { return e.db.Ingest(paths) }

func (e *v1) flush(rows func(set func(k, v []byte) error) error) error {
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

func (e *v1) close() error { return e.db.Close() }

// tablesV1 is how many tables the levels have.
func tablesV1(dir string, s Spec) (n []int, err error) {
	o := OptionsV1(s.Compression)
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
