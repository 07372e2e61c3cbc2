// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/adapters/pebblev1hint"
)

// many is a database of three levels, of which level 0 has several runs.
func many(t tester, dir string, l layout, rec *recorder, format pebble.FormatMajorVersion) *database {
	t.Helper()
	o := still(l)
	o.FormatMajorVersion = format
	d := open(t, dir, o, rec)
	d.put(t, 0, 3000, 1, 40)
	must(t, compact(d.DB, key(0), key(3000)))
	for i := range 4 {
		d.put(t, i, 3000, 5, 40)
	}
	d.put(t, 100, 200, 1, 40) // two of level 0 that don't overlap
	d.put(t, 2000, 2100, 1, 40)
	d.settle()
	d.warm(t)
	return d
}

// TestFullScanAsksForAll: each data block once, forward and backward, with small and
// large windows, and no more than 2% beyond.
func TestFullScanAsksForAll(t *testing.T) {
	for kind, format := range blockFormats {
		for name, l := range map[string]layout{
			"one level":  {block: 512, file: 32 << 10},
			"two levels": {block: 512, index: 200, file: 32 << 10},
			"compressed": {block: 1024, index: 300, compression: "snappy", filter: true, file: 16 << 10},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				rec := newRecorder(0)
				d := many(t, t.TempDir(), l, rec, format)
				defer d.close(t)
				// Smaller windows are passed before they are seen: places are told every
				// 4 KiB, and the iterator looks every 8 rows.
				windows := []int64{32 << 10, 64 << 10, 1 << 40}
				for _, window := range windows[:rounds(len(windows))] {
					rec.window = window
					w := rec.scan(t, d, nil, pebblev1hint.ScanOptions{}, first, next)
					w.all(t, "forward", d, nil, nil)
					w = rec.scan(t, d, nil, pebblev1hint.ScanOptions{}, last, prev)
					w.all(t, "backward", d, nil, nil)
				}
			})
		}
	}
}

// rowsOf are the user keys of each block of a table, found by asking for one block
// after the other: the keys of a table are those that a compacted database has.
func rowsOf(t tester, d *database, o *pebble.IterOptions) (keys [][]byte) {
	t.Helper()
	it, err := d.NewIter(o)
	must(t, err)
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys
}

// TestBoundedScan: a scan between bounds asks for all it reads, and for no more than
// one block at either end of each run. What a scan reads, reads of files tell.
func TestBoundedScan(t *testing.T) {
	for kind, format := range blockFormats {
		t.Run(kind, func(t *testing.T) {
			rec := newRecorder(1 << 40)
			const block = 512
			d := many(t, t.TempDir(), layout{block: block, index: 300, file: 32 << 10}, rec, format)
			defer d.close(t)
			tables := d.tables(t)
			runs := int64(6 + 1) // four that overlap, two more at most, and the last level
			rng := rand.New(rand.NewPCG(7, 7))
			for range rounds(30) {
				a, b := rng.IntN(3000), rng.IntN(3000)
				if a > b {
					a, b = b, a
				}
				o := &pebble.IterOptions{LowerBound: key(a), UpperBound: key(b)}
				rows := len(rowsOf(t, d, o))
				for _, way := range []struct {
					name        string
					start, step func(mover) any
				}{{"forward", first, next}, {"backward", last, prev}} {
					w := rec.scan(t, d, o, pebblev1hint.ScanOptions{}, way.start, way.step)
					if !w.knownEnd {
						t.Errorf("%s: its end isn't known", way.name)
					}
					w.all(t, way.name, d, o.LowerBound, o.UpperBound)
					_, got := w.covered(tables)
					// A row takes some 60 bytes, and is there up to twice.
					most := int64(rows)*2*70 + runs*3*(block+120)
					if got > most {
						t.Errorf("%s [%d, %d): %d rows, %d bytes were asked for, at most %d", way.name, a, b, rows, got, most)
					}
					least := int64(rows) * 45
					if got < least {
						t.Errorf("%s [%d, %d): %d rows, %d bytes were asked for, at least %d", way.name, a, b, rows, got, least)
					}
				}
			}
		})
	}
}

// TestBlocksOfBounds is exact: blocks of one row each, of which exactly those are asked
// for that the bounds hold, and the one after each end at most.
func TestBlocksOfBounds(t *testing.T) {
	for kind, format := range blockFormats {
		t.Run(kind, func(t *testing.T) {
			rec := newRecorder(1 << 40)
			o := still(layout{block: 1, index: 500})
			o.FormatMajorVersion = format
			d := open(t, t.TempDir(), o, rec)
			defer d.close(t)
			const rows = 300
			d.put(t, 0, 2*rows, 2, 40) // even keys
			d.settle()
			d.warm(t)
			tables := d.tables(t)
			if len(tables) != 1 || len(tables[0].blocks) != rows {
				t.Fatalf("%d tables, %d blocks", len(tables), len(tables[0].blocks))
			}
			rapid.Check(t, func(t *rapid.T) {
				a := rapid.IntRange(0, 2*rows).Draw(t, "lower")
				b := rapid.IntRange(a, 2*rows+2).Draw(t, "upper")
				back := rapid.Bool().Draw(t, "backward")
				rec.window = rapid.SampledFrom([]int64{1, 300, 1 << 40}).Draw(t, "window")
				o := &pebble.IterOptions{LowerBound: key(a), UpperBound: key(b)}
				start, step := first, next
				if back {
					start, step = last, prev
				}
				w := rec.scan(t, d, o, pebblev1hint.ScanOptions{}, start, step)
				times, _ := w.covered(tables)
				from, to := (a+1)/2, (b+1)/2 // of blocks within
				for i, x := range tables[0].blocks {
					n := times[tableBlock{tables[0].ino, x.from, x.to}]
					switch {
					case n > 1:
						t.Errorf("[%d, %d): block %d was asked for %d times", a, b, i, n)
					case i >= from && i < to && n == 0 && (rec.window > 1<<30 || a == b):
						t.Errorf("[%d, %d) backward %v: block %d was not asked for", a, b, back, i)
					case (i < from-1 || i > to) && n > 0:
						t.Errorf("[%d, %d) backward %v: block %d was asked for", a, b, back, i)
					}
				}
			})
		})
	}
}

// TestStartCoversSeek: what is taken before the seek holds, for every run, the block
// that the seek reads. The engine's reads of a cold cache of blocks are what it reads.
func TestStartCoversSeek(t *testing.T) {
	dir := t.TempDir()
	rec := newRecorder(64 << 10) // a key between two blocks needs both
	l := layout{block: 512, index: 300, file: 32 << 10}
	d := many(t, dir, l, rec, pebble.FormatNewest)
	d.close(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for range rounds(25) {
		rec.reset()
		// Opened anew, so that nothing is in the engine's cache of blocks.
		reads := newRecorder(1)
		o := still(l)
		o.FS = pebblev1hint.NewFS(nil, reads)
		d := open(t, dir, o, rec)
		p, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
		must(t, err)
		k := key(rng.IntN(3200))
		reads.reset()
		if rng.IntN(2) == 0 {
			p.SeekGE(k)
		} else {
			p.SeekLT(k)
		}
		w := rec.lastWalk(t)
		tables := d.tables(t)
		reads.mu.Lock()
		for _, r := range reads.reads {
			_, ino := r.Extent.File.Identity()
			for _, x := range tables {
				i := slices.IndexFunc(x.blocks, func(b span) bool { return b.from == r.Extent.Off })
				if x.ino != ino || i < 0 {
					continue
				}
				if !slices.ContainsFunc(w.extents, func(e extent) bool {
					return e.ino == ino && e.from <= x.blocks[i].from && x.blocks[i].to <= e.to
				}) {
					t.Errorf("seek %s: block %d of level %d was read, and not asked for", k, i, x.level)
				}
				break
			}
		}
		reads.mu.Unlock()
		must(t, p.Close())
		d.close(t)
	}
}

// TestStopsAsking: a scan that stops early asks for no more than its window beyond.
func TestStopsAsking(t *testing.T) {
	rec := newRecorder(8 << 10)
	d := many(t, t.TempDir(), layout{block: 512, index: 300, file: 32 << 10}, rec, pebble.FormatNewest)
	defer d.close(t)
	for _, rows := range []int{1, 50, 500} {
		rec.reset()
		it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
		must(t, err)
		it.First()
		for range rows {
			it.Next()
		}
		before := rec.lastWalk(t).taken
		must(t, it.Close())
		if after := rec.lastWalk(t).taken; after != before {
			t.Errorf("%d rows: %d bytes were taken, %d after Close", rows, before, after)
		}
		if most := int64(rows)*2*70 + 8<<10 + 8*700; before > most {
			t.Errorf("%d rows: %d bytes were taken, at most %d", rows, before, most)
		}
	}
}

// TestVirtualTables: of a file that was cut by an excise only the parts that are left
// are asked for.
func TestVirtualTables(t *testing.T) {
	for kind, format := range blockFormats {
		if format < pebble.FormatVirtualSSTables {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			rec := newRecorder(1 << 40)
			o := still(layout{block: 1, index: 500})
			o.FormatMajorVersion = format
			d := open(t, t.TempDir(), o, rec)
			defer d.close(t)
			d.put(t, 0, 300, 1, 40)
			must(t, compact(d.DB, key(0), key(1000)))
			must(t, excise(d, key(100), key(200)))
			d.settle()
			d.warm(t)
			tables := d.tables(t)
			virtual := slices.DeleteFunc(slices.Clone(tables), func(x table) bool { return !x.virtual })
			if len(virtual) != 2 {
				t.Fatalf("%d virtual tables", len(virtual))
			}
			for _, way := range []struct {
				name        string
				start, step func(mover) any
			}{{"forward", first, next}, {"backward", last, prev}} {
				w := rec.scan(t, d, nil, pebblev1hint.ScanOptions{}, way.start, way.step)
				times, _ := w.covered(tables)
				for i, b := range virtual[0].blocks {
					n := times[tableBlock{virtual[0].ino, b.from, b.to}]
					switch {
					case (i < 100 || i >= 200) && n != 1:
						t.Errorf("%s: block %d was asked for %d times", way.name, i, n)
					case i > 100 && i < 199 && n != 0:
						t.Errorf("%s: block %d was cut out, and was asked for", way.name, i)
					}
				}
			}
		})
	}
}
