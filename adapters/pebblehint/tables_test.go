// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
)

// TestCompactionMidScan: a compaction takes an iterator's tables away while it scans. It
// goes on to the end, and the files are closed once it is.
func TestCompactionMidScan(t *testing.T) {
	dir := t.TempDir()
	rec := newRecorder(8 << 10)
	d := open(t, dir, still(layout{block: 256, index: 300, file: 16 << 10}), rec)
	for i := range 5 {
		d.put(t, i, 3000, 5, 40)
	}
	d.settle()
	p := newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	p.move(t, "First", first)
	for range 500 {
		p.move(t, "Next", next)
	}
	must(t, compact(d.DB, key(0), key(9999)))
	d.settle()
	if n := p.scan(t, "Next", next); n != 2500 {
		t.Errorf("%d rows after the compaction", n)
	}
	p.move(t, "Last", last) // of tables that are gone
	p.scan(t, "Prev", prev)
	c := p.clone(t, pebble.CloneOptions{})
	c.move(t, "SeekGE", seekGE(key(1500)))
	c.scan(t, "Next", next)
	c.close(t)
	during := descriptors(t, dir)
	p.close(t)
	// Pebble deletes them in the background.
	for i := 0; descriptors(t, dir) >= during; i++ {
		if i > 500 {
			t.Fatalf("%d tables are open, %d were with the iterator", descriptors(t, dir), during)
		}
		wait()
	}
	p = newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	p.move(t, "First", first)
	if n := p.scan(t, "Next", next); n != 3000 {
		t.Errorf("%d rows in the new tables", n)
	}
	p.close(t)
	live := 2 * len(d.numbers(t)) * 2 // ours twice: to read, and registered; and Pebble's
	if n := descriptors(t, dir); n > live {
		t.Errorf("%d descriptors, %d tables", n, live/4)
	}
	d.close(t)
	if n := descriptors(t, dir); n > 0 {
		t.Errorf("%d tables are still open", n)
	}
}

// TestUnseenTable: a table that has vanished before we opened it gives no hints, and no
// error.
func TestUnseenTable(t *testing.T) {
	rec := newRecorder(1 << 20)
	d := open(t, t.TempDir(), still(layout{block: 256}), rec)
	defer d.close(t)
	for i := range 3 {
		d.put(t, i, 600, 3, 40)
	}
	d.settle()
	it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{}) // has the old tables
	must(t, err)
	bare, err := d.NewIter(nil)
	must(t, err)
	must(t, compact(d.DB, key(0), key(9999)))
	d.settle()
	p := &pair{bare: bare, hinted: it}
	p.move(t, "First", first)
	if n := p.scan(t, "Next", next); n != 600 {
		t.Errorf("%d rows", n)
	}
	p.close(t)
	rec.lastWalk(t)
}

// TestRangeDeletes: over whole tables, across their edges, and of nothing.
func TestRangeDeletes(t *testing.T) {
	rec := newRecorder(1 << 20)
	d := open(t, t.TempDir(), still(layout{block: 256, index: 300, file: 8 << 10}), rec)
	defer d.close(t)
	d.put(t, 0, 2000, 1, 40)
	must(t, compact(d.DB, key(0), key(9999)))
	for _, r := range [][2]int{{100, 900}, {950, 951}, {1200, 1201}, {1999, 3000}, {5000, 6000}} {
		must(t, d.DeleteRange(key(r[0]), key(r[1]), pebble.NoSync))
		must(t, d.Flush())
	}
	d.put(t, 500, 520, 1, 40)
	d.settle()
	d.warm(t)
	everything(t, d, [][]byte{key(0), key(99), key(100), key(510), key(899), key(900), key(1999), key(5500)})
	for _, way := range ways {
		w := rec.scan(t, d, nil, pebblehint.ScanOptions{}, way.start, way.step)
		w.atMostOnce(t, way.name, d)
	}
}

// atMostOnce checks that no block is asked for twice.
func (w *walk) atMostOnce(t *testing.T, name string, d *database) {
	t.Helper()
	times, _ := w.covered(d.tables(t))
	asked := 0
	for b, n := range times {
		if n > 1 {
			t.Errorf("%s: block %v was asked for %d times", name, b, n)
		}
		asked += n
	}
	if asked == 0 {
		t.Errorf("%s: nothing was asked for", name)
	}
}

// TestValueBlocks: older versions of a key have their values elsewhere in the table.
func TestValueBlocks(t *testing.T) {
	rec := newRecorder(1 << 20)
	o := still(layout{block: 512, index: 300})
	o.Comparer = suffixed
	o.Experimental.EnableValueBlocks = func() bool { return true }
	d := open(t, t.TempDir(), o, rec)
	defer d.close(t)
	for i := range 500 {
		for v := range 5 {
			must(t, d.Set(fmt.Appendf(key(i), "@%d", v), value(i*5+v, 300), pebble.NoSync))
		}
	}
	must(t, d.Flush())
	d.settle()
	d.warm(t)
	everything(t, d, [][]byte{append(key(3), "@3"...), append(key(400), "@9"...), key(100)})
	allRows(t, d, rec)
	p := newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	p.move(t, "First", first)
	n := p.scan(t, "NextPrefix", func(it mover) any { return it.NextPrefix() })
	if n != 500 {
		t.Errorf("%d prefixes", n)
	}
	p.close(t)
}

// TestBlobFiles: values that lie in files of their own.
func TestBlobFiles(t *testing.T) {
	rec := newRecorder(1 << 20)
	o := still(layout{block: 512, index: 300, file: 8 << 10})
	if !separateValues(o) {
		return // this version has none
	}
	d := open(t, t.TempDir(), o, rec)
	defer d.close(t)
	for i := range 4 {
		d.put(t, i, 1000, 4, 500)
	}
	blobs, err := filepath.Glob(filepath.Join(d.dir, "*.blob"))
	must(t, err)
	if len(blobs) == 0 {
		t.Fatal("no blob files")
	}
	check := func() {
		t.Helper()
		d.settle()
		d.warm(t)
		everything(t, d, [][]byte{key(3), key(500), key(2000)})
		allRows(t, d, rec)
	}
	check()
	must(t, compact(d.DB, key(0), key(9999)))
	check()
}

// TestReaders: an indexed batch, and a snapshot that has seen other tables.
func TestReaders(t *testing.T) {
	rec := newRecorder(8 << 10)
	d := open(t, t.TempDir(), still(layout{block: 256}), rec)
	defer d.close(t)
	d.put(t, 0, 1000, 2, 40)
	snapshot := d.NewSnapshot()
	d.put(t, 1, 1000, 2, 40)
	must(t, d.DeleteRange(key(200), key(300), pebble.NoSync))
	must(t, compact(d.DB, key(0), key(9999)))
	d.settle()
	batch := d.NewIndexedBatch()
	for i := 0; i < 1000; i += 10 {
		must(t, batch.Set(append(key(i), '+'), []byte("of the batch"), nil))
	}
	must(t, batch.DeleteRange(key(600), key(700), nil))
	empty := d.NewIndexedBatch()
	keys := [][]byte{key(0), key(1), key(250), key(650), append(key(10), '+'), key(5000), key(1)}
	for name, r := range map[string]pebble.Reader{"db": d.DB, "snapshot": snapshot, "batch": batch, "empty batch": empty} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, d.h, r, nil, pebblehint.ScanOptions{})
			p.move(t, "First", first)
			p.scan(t, "Next", next)
			p.move(t, "Last", last)
			p.scan(t, "Prev", prev)
			p.close(t)
			for i, x := range d.h.MultiGet(r, keys) {
				v, c, err := r.Get(keys[i])
				if !bytes.Equal(v, x.Value) || fmt.Sprint(err) != fmt.Sprint(x.Err) {
					t.Errorf("MultiGet %s: %q, %v, want %q, %v", keys[i], x.Value, x.Err, v, err)
				}
				if err == nil {
					must(t, c.Close())
				}
				v2, c2, err2 := d.h.Get(r, keys[i])
				if !bytes.Equal(x.Value, v2) || fmt.Sprint(err) != fmt.Sprint(err2) {
					t.Errorf("Get %s: %q, %v", keys[i], v2, err2)
				}
				if err2 == nil {
					must(t, c2.Close())
				}
			}
		})
	}
	must(t, snapshot.Close())
	must(t, batch.Close())
	must(t, empty.Close())
}

// TestTwoIterators of the same tables take turns, in opposite directions.
func TestTwoIterators(t *testing.T) {
	rec := newRecorder(64 << 10)
	d := open(t, t.TempDir(), still(layout{block: 256, index: 300}), rec)
	defer d.close(t)
	d.put(t, 0, 2000, 1, 40)
	d.settle()
	d.warm(t)
	rec.reset()
	a, b := newPair(t, d.h, d, nil, pebblehint.ScanOptions{}), newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	a.move(t, "First", first)
	b.move(t, "Last", last)
	for a.bare.Valid() || b.bare.Valid() {
		a.move(t, "Next", next)
		b.move(t, "Prev", prev)
	}
	a.close(t)
	b.close(t)
	if len(rec.walks) != 2 {
		t.Fatalf("%d walks", len(rec.walks))
	}
	for i, w := range rec.walks {
		w.all(t, ways[i].name, d, nil, nil)
	}
}
