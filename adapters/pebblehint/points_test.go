// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/hints"
)

// TestGetsAreSilent: the first Get that touches a table gives a hint, further ones do
// not.
func TestGetsAreSilent(t *testing.T) {
	dir := t.TempDir()
	o := still(layout{block: 512, filter: true})
	d := open(t, dir, o, nil)
	for i := range 6 {
		d.put(t, i, 3000, 6, 60)
	}
	d.close(t)
	rec := newRecorder(1 << 20)
	o = still(layout{block: 512, filter: true})
	untouched := leaveAlone(o)
	d = open(t, dir, o, rec)
	defer d.close(t)
	rng := rand.New(rand.NewPCG(3, 3))
	zipf := rand.NewZipf(rng, 1.1, 10, 2999)
	get := func() {
		v, c, err := d.h.Get(d, key(int(zipf.Uint64())))
		must(t, err)
		if len(v) != 60 {
			t.Errorf("%d bytes", len(v))
		}
		must(t, c.Close())
	}
	// Get ends the hints with itself; here nobody is in a hurry.
	done := d.h.Touch(key(1500))
	for began := time.Now(); untouched && done != nil && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
		if rec.asked() >= 6 {
			break
		}
	}
	if done != nil {
		done()
	}
	if n := rec.asked(); n > 6 || untouched && n < 6 {
		t.Errorf("the first read: %d extents of 6 tables", n)
	}
	get()
	rec.reset()
	for range 2000 {
		get()
	}
	if rec.events > 0 {
		t.Errorf("%d events", rec.events)
	}
}

// TestMultiGetAsksForBlocks: a batch asks for the block of each key that is there, and
// filters keep it from asking for others.
func TestMultiGetAsksForBlocks(t *testing.T) {
	for name, filter := range map[string]bool{"filters": true, "no filters": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, dir, still(layout{block: 1, index: 500, filter: filter}), nil)
			const runs = 5
			for i := range runs {
				d.put(t, i, 2000, runs, 60)
			}
			d.close(t)
			rec := newRecorder(1 << 20)
			d = open(t, dir, still(layout{block: 1, index: 500, filter: filter}), rec)
			defer d.close(t)
			d.warm(t)
			tables := d.tables(t)
			rng := rand.New(rand.NewPCG(5, 5))
			var keys [][]byte
			for range 100 {
				keys = append(keys, key(rng.IntN(1990)+5))
			}
			distinct := make(map[string]bool)
			for _, k := range keys {
				distinct[string(k)] = true
			}
			for i, r := range d.h.MultiGet(d, keys) {
				if r.Err != nil || len(r.Value) != 60 {
					t.Errorf("%s: %v", keys[i], r)
				}
			}
			w := &walk{extents: rec.wills}
			times, _ := w.covered(tables)
			asked := 0
			for _, n := range times {
				if n > 0 {
					asked++
				}
			}
			most := len(distinct) * runs
			if filter {
				most = len(distinct) * 12 / 10
			}
			if asked < len(distinct) || asked > most {
				t.Errorf("%d blocks were asked for, %d keys", asked, len(distinct))
			}
			rec.lastWalk(t)
		})
	}
}

// TestMultiGetResults: order, repeats, misses, nothing, more than one batch, and values
// that are the caller's own.
func TestMultiGetResults(t *testing.T) {
	d := open(t, t.TempDir(), still(layout{block: 256, filter: true}), newHostile(4))
	defer d.close(t)
	d.put(t, 0, 1000, 2, 40)
	d.settle()
	for _, n := range []int{0, 1, 2, 127, 128, 129, 700} {
		rng := rand.New(rand.NewPCG(uint64(n), 5))
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = key(rng.IntN(1100))
		}
		results := d.h.MultiGet(d, keys)
		if len(results) != n {
			t.Fatalf("%d results of %d keys", len(results), n)
		}
		for _, r := range results {
			for i := range r.Value {
				r.Value[i] ^= 0xff
			}
		}
		for i, r := range d.h.MultiGet(d, keys) {
			v, c, err := d.Get(keys[i])
			if fmt.Sprintf("%q %v", v, err) != fmt.Sprintf("%q %v", r.Value, r.Err) || (err != nil) != (r.Value == nil) {
				t.Errorf("%s: %q, %v, want %q, %v", keys[i], r.Value, r.Err, v, err)
			}
			if err == nil {
				must(t, c.Close())
			}
		}
	}
	// Values of no bytes are there.
	must(t, d.Set([]byte("empty"), nil, pebble.NoSync))
	if r := d.h.MultiGet(d, [][]byte{[]byte("empty")})[0]; r.Err != nil || r.Value == nil || len(r.Value) > 0 {
		t.Errorf("an empty value: %v", r)
	}
}

// TestScanOptions: what the caller knows is told.
func TestScanOptions(t *testing.T) {
	rec := newRecorder(64 << 10)
	d := open(t, t.TempDir(), still(layout{block: 512}), rec)
	defer d.close(t)
	d.put(t, 0, 5000, 1, 100)
	d.settle()
	d.warm(t)
	if w := rec.scan(t, d, nil, pebblehint.ScanOptions{Bytes: 12345}, first, next); w.want != 12345 {
		t.Errorf("Bytes: 12345 were said to be %d", w.want)
	}
	if w := rec.scan(t, d, nil, pebblehint.ScanOptions{Rows: 100, Bytes: 1}, first, next); w.want < 100*80 || w.want > 100*150 {
		t.Errorf("100 rows of 110 bytes were said to be %d", w.want)
	}
	if w := rec.scan(t, d, nil, pebblehint.ScanOptions{}, first, next); w.want != 0 {
		t.Errorf("nothing was said to be %d", w.want)
	}
}

// TestDiscardEqualsNative: with a sink that wants nothing, nothing is asked of it again,
// and no file is opened.
func TestDiscardEqualsNative(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, still(layout{block: 256, filter: true}), hints.Discard)
	for i := range 3 {
		d.put(t, i, 900, 3, 40)
	}
	d.settle()
	d.warm(t)
	native := descriptors(t, dir)
	p := newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	for _, way := range ways {
		p.move(t, way.name, way.start)
		if n := p.scan(t, way.name, way.step); n != 900 {
			t.Errorf("%d rows", n)
		}
	}
	p.close(t)
	if n := descriptors(t, dir); n != native {
		t.Errorf("%d descriptors, %d natively", n, native)
	}
	d.close(t)
}
