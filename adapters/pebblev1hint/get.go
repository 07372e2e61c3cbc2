// SPDX-License-Identifier: Apache-2.0

package pebblev1hint

import (
	"io"
	"slices"

	"github.com/cockroachdb/pebble"

	"github.com/predictio/predictio/adapters/internal/lsm"
)

// Get is r.Get. The first read that touches a table finds it opened: Pebble would wait
// for its footer, its metadata, its filter and its index, one after the other, in
// every level.
func (h *Hints) Get(r pebble.Reader, key []byte) ([]byte, io.Closer, error) {
	if s := h.store.Load(); s != nil {
		if done := s.Touch(key); done != nil {
			defer done()
		}
	}
	return r.Get(key)
}

// Result is what MultiGet found for one key.
type Result struct {
	Value []byte // the caller's own copy; nil on an error
	Err   error  // as Get's: pebble.ErrNotFound for a key that isn't there
}

// maxGetters bounds the goroutines of one MultiGet; most of them wait, if there is
// anything to wait for.
const maxGetters = 8

// MultiGet gets many keys; the i-th Result is the i-th key's. Keys may be in any order
// and repeat. While some are read, what the next ones need is fetched. Readers that are
// safe for concurrent use, a *pebble.DB and a *pebble.Snapshot, are read by up to
// eight goroutines, of which none is left when MultiGet returns.
func (h *Hints) MultiGet(r pebble.Reader, keys [][]byte) []Result {
	results := make([]Result, len(keys))
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return h.comparer.Compare(keys[a], keys[b]) })
	s := h.store.Load()
	if s != nil && s.Calm() {
		s = nil
	}
	fetch := func(part []int) {
		if s == nil || len(part) == 0 {
			return
		}
		sorted := make([][]byte, len(part))
		for i, at := range part {
			sorted[i] = keys[at]
		}
		s.Fetch(sorted)
	}
	part := func(from int) []int { return order[min(from, len(order)):min(from+lsm.MaxKeys, len(order))] }
	if s != nil && s.Stale() && len(order) > 0 {
		// Reading the list of tables of a closed database would do harm. Get panics then.
		if _, closer, err := r.Get(keys[order[0]]); err == nil {
			closer.Close()
		}
	}
	fetch(part(0))
	for from := 0; from < len(order); from += lsm.MaxKeys {
		now, next := part(from), part(from+lsm.MaxKeys)
		get(r, keys, results, now, func() { fetch(next) })
	}
	return results
}

// get gets some of the keys, and calls meanwhile.
func get(r pebble.Reader, keys [][]byte, results []Result, part []int, meanwhile func()) {
	one := func(i int) {
		v, closer, err := r.Get(keys[i])
		if err != nil {
			results[i].Err = err
			return
		}
		results[i].Value = append([]byte{}, v...)
		results[i].Err = closer.Close()
	}
	switch r.(type) {
	case *pebble.DB, *pebble.Snapshot:
	default:
		meanwhile()
		for _, i := range part {
			one(i)
		}
		return
	}
	lsm.Each(min(maxGetters, len(part)), len(part), func(n int) { one(part[n]) }, meanwhile)
}
