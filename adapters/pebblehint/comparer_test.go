// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
)

// everything scans in both directions, gets and gets many, and compares.
func everything(t *testing.T, d *database, keys [][]byte) {
	t.Helper()
	p := newPair(t, d.h, d, nil, pebblehint.ScanOptions{})
	p.move(t, "First", first)
	rows := p.scan(t, "Next", next)
	p.move(t, "Last", last)
	if n := p.scan(t, "Prev", prev); n != rows {
		t.Errorf("%d rows forward, %d back", rows, n)
	}
	for _, k := range keys {
		p.move(t, "SeekGE", seekGE(k))
		p.move(t, "Next", next)
		p.move(t, "SeekLT", seekLT(k))
		p.move(t, "Prev", prev)
	}
	p.close(t)
	for i, r := range d.h.MultiGet(d, keys) {
		v, c, err := d.Get(keys[i])
		if fmt.Sprintf("%q, %v", v, err) != fmt.Sprintf("%q, %v", r.Value, r.Err) {
			t.Errorf("MultiGet %q: %q, %v, want %q, %v", keys[i], r.Value, r.Err, v, err)
		}
		if err == nil {
			must(t, c.Close())
		}
	}
}

// TestCustomComparer: keys go by the database's own order, with filters of prefixes.
func TestCustomComparer(t *testing.T) {
	for name, c := range map[string]*pebble.Comparer{"suffixed": suffixed, "reversed": reversed} {
		for kind, format := range blockFormats {
			if c == reversed && !anyOrder(format) {
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				o := still(layout{block: 200, index: 300, filter: true})
				o.Comparer, o.FormatMajorVersion = c, format
				rec := newRecorder(1 << 30)
				d := open(t, t.TempDir(), o, rec)
				defer d.close(t)
				rng := rand.New(rand.NewPCG(1, 1))
				var keys [][]byte
				for range 4 {
					for range rounds(250) {
						k := fmt.Appendf(key(rng.IntN(1000)), "@%d", rng.IntN(9))
						must(t, d.Set(k, value(len(keys), 30), pebble.NoSync))
						keys = append(keys, k)
					}
					must(t, d.Flush())
				}
				keys = append(keys, key(0), key(500), key(2000), []byte{}, []byte("@"))
				d.settle()
				everything(t, d, keys)
				d.warm(t)
				for _, run := range []struct {
					name        string
					start, step func(mover) any
				}{{"forward", first, next}, {"backward", last, prev}} {
					w := rec.scan(t, d, nil, pebblehint.ScanOptions{}, run.start, run.step)
					w.all(t, run.name, d, nil, nil)
				}
			})
		}
	}
}

// TestComparerOfFewFields: Pebble fills in what a comparer leaves out, and so must we.
func TestComparerOfFewFields(t *testing.T) {
	if !apart(t) {
		return
	}
	for name, change := range fewFields {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v", p)
				}
			}()
			c := *pebble.DefaultComparer
			change(&c)
			o := still(layout{block: 200, filter: true})
			o.Comparer = &c
			dir := t.TempDir()
			h := pebblehint.Attach(o, newRecorder(1<<20))
			db, err := pebble.Open(dir, o)
			must(t, err)
			defer db.Close()
			defer h.Close()
			d := &database{DB: db, dir: dir, o: o, h: h}
			for i := range 3 {
				d.put(t, i, 300, 3, 40)
			}
			must(t, h.Bind(db, dir))
			everything(t, d, [][]byte{key(1), key(50), key(400)})
		})
	}
}
