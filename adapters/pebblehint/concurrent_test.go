// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend/pagecache"
)

// TestConcurrent: iterators, reads, writes, flushes and compactions at once, and in the
// middle the hints, or the runtime, are closed.
func TestConcurrent(t *testing.T) {
	rt := newRuntime(t, pagecache.New(pagecache.Options{}))
	defer rt.Close()
	for name, sink := range map[string]hints.Sink{"runtime": rt, "hostile": newHostile(6)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := still(layout{block: 256, index: 300, file: 16 << 10, filter: true})
			o.DisableAutomaticCompactions, o.L0CompactionThreshold, o.MemTableSize = false, 2, 128<<10
			d := open(t, dir, o, sink)
			d.put(t, 0, 2000, 1, 40)
			var stop atomic.Bool
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), 0))
					for !stop.Load() {
						// A snapshot, so that both iterators see the same.
						s := d.NewSnapshot()
						p := newPair(t, d.h, s, nil, pebblehint.ScanOptions{Rows: rng.IntN(300)})
						p.move(t, "SeekGE", seekGE(key(rng.IntN(2000))))
						for range rng.IntN(300) {
							p.move(t, "Next", next)
						}
						p.move(t, "SeekLT", seekLT(key(rng.IntN(2000))))
						for range rng.IntN(100) {
							p.move(t, "Prev", prev)
						}
						c := p.clone(t, pebble.CloneOptions{})
						p.close(t)
						c.move(t, "Last", last)
						c.close(t)
						must(t, s.Close())
					}
				})
			}
			for g := range 2 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), 1))
					for !stop.Load() {
						var keys [][]byte
						for range rng.IntN(200) {
							keys = append(keys, key(rng.IntN(2000)))
						}
						for i, r := range d.h.MultiGet(d, keys) {
							if r.Err != nil {
								t.Errorf("%s: %v", keys[i], r.Err)
							}
						}
						_, c, err := d.h.Get(d, key(rng.IntN(2000)))
						must(t, err)
						must(t, c.Close())
					}
				})
			}
			for round := range 12 {
				d.put(t, round%20, 2000, 20, 40)
				if round%4 == 3 {
					must(t, compact(d.DB, key(0), key(2000)))
				}
				if round == 6 {
					must(t, d.h.Close())
				}
				if round == 9 {
					rt.Close()
				}
			}
			stop.Store(true)
			wg.Wait()
			d.close(t)
			if n := descriptors(t, dir); n > 0 {
				t.Errorf("%d tables are still open", n)
			}
		})
	}
}

// TestCloseWhileBinding: Bind and Close at once leave nothing open.
func TestCloseWhileBinding(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, still(layout{}), nil)
	d.put(t, 0, 100, 1, 10)
	d.close(t)
	for i := range 20 {
		o := still(layout{})
		h := pebblehint.Attach(o, newHostile(uint64(i)))
		db, err := pebble.Open(dir, o)
		must(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := h.Bind(db, dir); err != nil && err != pebblehint.ErrBound {
				t.Error(err)
			}
		})
		wg.Go(func() { h.Close() })
		wg.Go(func() {
			it, err := h.NewIter(db, nil, pebblehint.ScanOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			it.First()
			if got := string(it.Key()); got != string(key(0)) {
				t.Errorf("First is %s", got)
			}
			it.Close()
		})
		wg.Wait()
		h.Close()
		must(t, db.Close())
		if n := descriptors(t, dir); n > 0 {
			t.Fatalf("%d tables are still open", n)
		}
	}
}
