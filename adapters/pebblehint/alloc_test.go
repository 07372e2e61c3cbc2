// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/runtime/backend/pagecache"
)

// TestAllocations: a step allocates nothing, and an iterator no more than twice beyond
// Pebble's own.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		return // it makes pools forget
	}
	rt := newRuntime(t, pagecache.New(pagecache.Options{}))
	defer rt.Close()
	o := still(layout{block: 4096, index: 4096})
	o.Cache = pebble.NewCache(64 << 20)
	defer o.Cache.Unref()
	d := open(t, t.TempDir(), o, rt)
	defer d.close(t)
	for i := range 3 {
		d.put(t, i, 30_000, 3, 100)
	}
	d.settle()
	d.warm(t)
	for range 8 { // until all is known to be there
		it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
		must(t, err)
		for it.First(); it.Valid(); it.Next() {
		}
		must(t, it.Close())
	}
	it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
	must(t, err)
	it.First()
	if n := testing.AllocsPerRun(20_000, func() { it.Next() }); n != 0 {
		t.Errorf("Next: %v allocations", n)
	}
	it.Last()
	if n := testing.AllocsPerRun(20_000, func() { it.Prev() }); n != 0 {
		t.Errorf("Prev: %v allocations", n)
	}
	must(t, it.Close())

	bare := testing.AllocsPerRun(2000, func() {
		it, err := d.NewIter(nil)
		must(t, err)
		it.SeekGE([]byte("key-010000"))
		it.Close()
	})
	hinted := testing.AllocsPerRun(2000, func() {
		it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
		must(t, err)
		it.SeekGE([]byte("key-010000"))
		it.Close()
	})
	t.Logf("NewIter, SeekGE and Close: %v allocations, Pebble's %v", hinted, bare)
	if hinted > bare+2 {
		t.Errorf("NewIter, SeekGE and Close: %v allocations, Pebble's %v", hinted, bare)
	}
	get := func(get func(k []byte) error) float64 {
		k := key(12_345)
		return testing.AllocsPerRun(2000, func() { must(t, get(k)) })
	}
	bare = get(func(k []byte) error {
		_, c, err := d.Get(k)
		must(t, err)
		return c.Close()
	})
	hinted = get(func(k []byte) error {
		_, c, err := d.h.Get(d, k)
		must(t, err)
		return c.Close()
	})
	t.Logf("Get: %v allocations, Pebble's %v", hinted, bare)
	if hinted > bare {
		t.Errorf("Get: %v allocations, Pebble's %v", hinted, bare)
	}
}
