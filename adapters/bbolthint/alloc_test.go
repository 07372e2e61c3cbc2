// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package bbolthint_test

import (
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// TestAllocations pins what a cursor costs the garbage collector.
func TestAllocations(t *testing.T) {
	c := newCache()
	for p := range uint64(4096) { // all is cached, and so the runtime falls silent
		c.demand(p)
	}
	rt := newRuntime(t, c.backend(), treechildren.New())
	defer rt.Close()
	view(t, manyLeaves.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
		b := tx.Bucket(bucketName)
		cursor := h.Cursor(b)
		for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		}
		for name, scan := range scans {
			if n := testing.AllocsPerRun(5, func() {
				for k, _ := scan.start(cursor); k != nil; k, _ = scan.step(cursor) {
				}
			}); n > 0 {
				t.Errorf("a warm scan %s allocates %v times", name, n)
			}
		}
		var keys [][]byte
		for i := range 20 {
			keys = append(keys, manyLeaves.key(i*50))
		}
		if n := testing.AllocsPerRun(100, func() {
			for _, k := range keys {
				cursor.Seek(k)
			}
		}); n > 0 {
			t.Errorf("20 seeks allocate %v times", n)
		}
	})
	view(t, manyLeaves.path(t), hints.Discard, func(h *bbolthint.DB, tx *bolt.Tx) {
		b := tx.Bucket(bucketName)
		key := manyLeaves.key(77)
		bare := testing.AllocsPerRun(100, func() { b.Cursor().Seek(key) })
		// bbolt's cursor, ours, and what DB.Info returns.
		hinted := testing.AllocsPerRun(100, func() { h.Cursor(b).Seek(key) })
		t.Logf("construction and Seek: %v allocations, bare %v", hinted, bare)
		if hinted > 3 {
			t.Errorf("construction and Seek: %v allocations, bare %v", hinted, bare)
		}
	})
}
