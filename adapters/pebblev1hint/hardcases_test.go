// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble"

	"github.com/predictio/predictio/adapters/pebblev1hint"
)

var ways = []struct {
	name        string
	start, step func(mover) any
}{{"forward", first, next}, {"backward", last, prev}}

// allRows scans in both directions and checks that each block is asked for once.
func allRows(t *testing.T, d *database, rec *recorder) {
	t.Helper()
	for _, way := range ways {
		w := rec.scan(t, d, nil, pebblev1hint.ScanOptions{}, way.start, way.step)
		w.all(t, way.name, d, nil, nil)
	}
}

// TestSuccessorSeparators: the last separator of a table may lie behind the first keys
// of those after it.
func TestSuccessorSeparators(t *testing.T) {
	for kind, format := range blockFormats {
		for name, l := range map[string]layout{
			"one level":  {block: 64, index: 1 << 20, file: 4 << 10},
			"two levels": {block: 64, index: 64, file: 4 << 10},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				rec := newRecorder(1 << 20)
				o := still(l)
				o.FormatMajorVersion = format
				d := open(t, t.TempDir(), o, rec)
				defer d.close(t)
				for i := range 900 { // "a" + ...: a successor is "b", behind all tables
					must(t, d.Set(fmt.Appendf(nil, "a%05d", i), value(i, 30), pebble.NoSync))
				}
				must(t, d.Flush())
				must(t, compact(d.DB, []byte("a"), []byte("b")))
				d.settle()
				d.warm(t)
				tables := d.tables(t)
				if len(tables) < 3 {
					t.Fatalf("%d tables", len(tables))
				}
				_, two := dataBlocks(t, d.path(d.numbers(t)[0]), d.o)
				if two != (name == "two levels") {
					t.Fatalf("two levels: %v", two)
				}
				for _, window := range []int64{32 << 10, 1 << 20} {
					rec.window = window
					allRows(t, d, rec)
				}
				// A seek into each table, and behind its last key.
				for _, x := range tables {
					for _, k := range [][]byte{x.smallest, x.largest, append(slices.Clone(x.largest), 0)} {
						p := newPair(t, d.h, d, nil, pebblev1hint.ScanOptions{})
						p.move(t, "SeekGE", seekGE(k))
						p.move(t, "Next", next)
						p.move(t, "SeekLT", seekLT(k))
						p.move(t, "Prev", prev)
						p.close(t)
					}
				}
			})
		}
	}
}

// TestManyRuns: 120 tables of level 0 that all overlap.
func TestManyRuns(t *testing.T) {
	rec := newRecorder(1 << 20)
	d := open(t, t.TempDir(), still(layout{block: 256}), rec)
	defer d.close(t)
	const tables = 120
	for i := range tables {
		d.put(t, i, 40*tables, tables, 30)
	}
	d.settle()
	d.warm(t)
	if n := len(d.tables(t)); n != tables {
		t.Fatalf("%d tables", n)
	}
	allRows(t, d, rec)
	rec.reset()
	it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
	must(t, err)
	it.SeekGE(key(20 * tables))
	files := make(map[uint64]bool)
	for _, x := range rec.lastWalk(t).extents[:rec.lastWalk(t).atStart] {
		files[x.ino] = true
	}
	if len(files) != tables {
		t.Errorf("the first event asks for blocks of %d tables", len(files))
	}
	must(t, it.Close())
}

// TestKeyGaps: runs with holes, and a level whose tables lie far apart.
func TestKeyGaps(t *testing.T) {
	rec := newRecorder(1 << 20)
	d := open(t, t.TempDir(), still(layout{block: 128, file: 4 << 10}), rec)
	defer d.close(t)
	for _, from := range []int{0, 10_000, 500_000} {
		d.put(t, from, from+200, 1, 30)
	}
	must(t, compact(d.DB, key(0), key(999_999)))
	d.put(t, 5_000, 5_100, 1, 30) // in the holes
	d.put(t, 20_000, 20_100, 1, 30)
	d.put(t, 100, 10_100, 500, 30)
	d.settle()
	d.warm(t)
	allRows(t, d, rec)
	for _, at := range []int{0, 199, 200, 4_999, 5_000, 7_000, 10_000, 10_200, 15_000, 20_100, 499_999, 500_200} {
		p := newPair(t, d.h, d, nil, pebblev1hint.ScanOptions{})
		for _, way := range []struct{ seek, step func(mover) any }{{seekGE(key(at)), next}, {seekLT(key(at)), prev}} {
			p.move(t, "seek", way.seek)
			p.scan(t, "step", way.step)
		}
		p.close(t)
	}
}

// TestEndAtTableEdge: bounds that are a table's first or last key, or lie just beside.
func TestEndAtTableEdge(t *testing.T) {
	rec := newRecorder(1 << 20)
	d := open(t, t.TempDir(), still(layout{block: 1, file: 1}), rec)
	defer d.close(t)
	for i := range 600 {
		must(t, d.Set(key(i*2), value(i, 60), pebble.NoSync))
	}
	must(t, d.Flush())
	must(t, compact(d.DB, key(0), key(9999)))
	d.settle()
	d.warm(t)
	tables := d.tables(t)
	if len(tables) < 3 {
		t.Fatalf("%d tables", len(tables))
	}
	mid := tables[1]
	for _, upper := range [][]byte{mid.smallest, mid.largest, append(slices.Clone(mid.largest), 0)} {
		for _, way := range ways {
			w := rec.scan(t, d, &pebble.IterOptions{LowerBound: mid.smallest, UpperBound: upper}, pebblev1hint.ScanOptions{}, way.start, way.step)
			times, _ := w.covered(tables)
			for i, x := range tables {
				for j, b := range x.blocks {
					n, within := times[tableBlock{x.ino, b.from, b.to}], i == 1 && (len(upper) > len(mid.largest) ||
						d.compare(upper, mid.largest) == 0 && j < len(x.blocks)-1)
					far := i < 1 && j < len(x.blocks)-1 || i > 1 && j > 0 || i > 2
					if within && n != 1 || far && n != 0 {
						t.Errorf("%s to %s: block %d of table %d was asked for %d times", way.name, upper, j, i, n)
					}
				}
			}
		}
	}
}

// onRow returns a database of one row a block, whose tables[0].blocks[i] is row i.
func onRow(t *testing.T, rec *recorder, rows int) (d *database, asked func(w *walk) []bool) {
	t.Helper()
	d = open(t, t.TempDir(), still(layout{block: 1, index: 400}), rec)
	t.Cleanup(func() { d.close(t) })
	d.put(t, 0, rows, 1, 100)
	d.settle()
	d.warm(t)
	tables := d.tables(t)
	if len(tables) != 1 || len(tables[0].blocks) != rows {
		t.Fatalf("%d tables, %d blocks", len(tables), len(tables[0].blocks))
	}
	return d, func(w *walk) []bool {
		times, _ := w.covered(tables)
		list := make([]bool, rows)
		for i, b := range tables[0].blocks {
			list[i] = times[tableBlock{tables[0].ino, b.from, b.to}] > 0
		}
		return list
	}
}

// extentOf is the first and last row asked for, -1 if there is none.
func extentOf(asked []bool) (from, to int) {
	from = slices.Index(asked, true)
	to = -1
	for i, ok := range asked {
		if ok {
			to = i
		}
	}
	return from, to
}

// TestFlips: after a turn, what lies the other way is asked for.
func TestFlips(t *testing.T) {
	rec := newRecorder(16 << 10)
	d, asked := onRow(t, rec, 2000)
	it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
	must(t, err)
	it.SeekGE(key(1000))
	for range 20 {
		it.Next()
	}
	if from, to := extentOf(asked(rec.lastWalk(t))); from < 999 || to < 1050 {
		t.Errorf("forward from 1000: [%d, %d]", from, to)
	}
	for range 20 {
		it.Prev()
	}
	from, to := extentOf(asked(rec.lastWalk(t)))
	if from > 950 || to > 1021 || len(rec.walks) != 2 {
		t.Errorf("backward from 1020: [%d, %d], %d walks", from, to, len(rec.walks))
	}
	for range 40 {
		it.Next()
	}
	if from, to := extentOf(asked(rec.lastWalk(t))); from < 990 || to < 1070 || len(rec.walks) != 3 {
		t.Errorf("forward again: [%d, %d], %d walks", from, to, len(rec.walks))
	}
	must(t, it.Close())
}

// TestSeekInsideWindow: to go on by a seek into what was taken is no new start; to go
// elsewhere is.
func TestSeekInsideWindow(t *testing.T) {
	rec := newRecorder(64 << 10)
	d, asked := onRow(t, rec, 2000)
	it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
	must(t, err)
	defer it.Close()
	it.SeekGE(key(500))
	it.Next()
	for i := 502; i < 1000; i += 3 {
		it.SeekGE(key(i))
	}
	if n := len(rec.walks); n != 1 {
		t.Errorf("%d walks", n)
	}
	list := asked(rec.lastWalk(t))
	if i := slices.Index(list[500:1000], false); i >= 0 {
		t.Errorf("row %d was not asked for", 500+i)
	}
	it.SeekGE(key(100))
	it.SeekGE(key(1900))
	it.SeekLT(key(1900))
	if n := len(rec.walks); n != 4 {
		t.Errorf("%d walks", n)
	}
}

// TestSetBounds: what is asked for after it keeps to the new bounds, those of SetOptions
// and of a Clone too.
func TestSetBounds(t *testing.T) {
	rec := newRecorder(1 << 20)
	d, asked := onRow(t, rec, 2000)
	it, err := d.h.NewIter(d, &pebble.IterOptions{LowerBound: key(100), UpperBound: key(200)}, pebblev1hint.ScanOptions{})
	must(t, err)
	check := func(name string, it *pebblev1hint.Iterator, lower, upper int) {
		t.Helper()
		// Each turns round: going on in what was asked for asks for nothing.
		for _, seek := range []func() bool{
			it.First, it.Last,
			func() bool { return it.SeekGE(key(0)) }, func() bool { return it.SeekLT(key(1999)) },
		} {
			rec.reset()
			seek()
			w := rec.lastWalk(t)
			from, to := extentOf(asked(w))
			if !w.knownEnd || from < lower-1 || from > lower || to < upper-1 || to > upper {
				t.Errorf("%s: rows [%d, %d] were asked for, the bounds are [%d, %d)", name, from, to, lower, upper)
			}
		}
	}
	check("NewIter", it, 100, 200)
	it.SetBounds(key(300), key(350))
	check("SetBounds", it, 300, 350)
	it.SetOptions(&pebble.IterOptions{LowerBound: key(50), UpperBound: key(70)})
	check("SetOptions", it, 50, 70)
	c, err := it.Clone(pebble.CloneOptions{})
	must(t, err)
	check("Clone", c, 50, 70)
	c2, err := it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{LowerBound: key(400), UpperBound: key(500)}})
	must(t, err)
	check("Clone with options", c2, 400, 500)
	check("the cloned", it, 50, 70)
	for _, x := range []*pebblev1hint.Iterator{it, c, c2} {
		must(t, x.Close())
	}
}
