// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/pagecache"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/keyscan"
	"github.com/predictio/predictio/runtime/policy/readahead"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// fill writes some rows.
func (w *world) fill(t *rapid.T, rng *rand.Rand, rows int) {
	b := w.NewBatch()
	for range rows {
		k := key(rng.IntN(keySpace))
		if w.suffixes {
			k = fmt.Appendf(k, "@%d", 1+rng.IntN(9))
		}
		size := []int{0, 10, 10, 60, 150, 1500}[rng.IntN(6)]
		must(t, b.Set(k, value(rng.IntN(1000), size), nil))
	}
	must(t, w.Apply(b, pebble.NoSync))
}

// change draws a change of the database and makes it.
func (w *world) change(t *rapid.T, deed string) {
	switch deed {
	case "set":
		must(t, w.Set(w.userKey(t), []byte("set"), pebble.NoSync))
	case "set many":
		w.fill(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3)), 60)
	case "delete":
		must(t, w.Delete(w.userKey(t), pebble.NoSync))
	case "merge":
		must(t, w.Merge(w.userKey(t), []byte("+"), pebble.NoSync))
	case "single": // a key is written once, and deleted once, for it says nothing else
		k := fmt.Appendf(nil, "key-%06d-single", w.singles/2)
		if w.singles++; w.singles%2 == 1 {
			must(t, w.Set(k, []byte("single"), pebble.NoSync))
		} else {
			must(t, w.SingleDelete(k, pebble.NoSync))
		}
	case "delete range":
		if from, to, ok := w.prefixes(t); ok {
			must(t, w.DeleteRange(from, to, pebble.NoSync))
		}
	case "range key":
		from, to, ok := w.prefixes(t)
		if !ok || !w.ranges || w.o.FormatMajorVersion < rangeKeys {
			return
		}
		var suffix []byte
		if w.suffixes && rapid.Bool().Draw(t, "suffix") {
			suffix = []byte("@5")
		}
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			must(t, w.RangeKeyUnset(from, to, suffix, pebble.NoSync))
		case 1:
			must(t, w.RangeKeyDelete(from, to, pebble.NoSync))
		default:
			must(t, w.RangeKeySet(from, to, suffix, []byte("range"), pebble.NoSync))
		}
	case "flush":
		must(t, w.Flush())
		if rapid.Bool().Draw(t, "settle") {
			w.settle()
		}
	case "compact":
		if from, to, ok := w.prefixes(t); ok {
			must(t, compact(w.DB, from, to))
		}
		if rapid.Bool().Draw(t, "settle") {
			w.settle()
		}
	case "excise":
		if from, to, ok := w.prefixes(t); ok && w.canExcise() {
			must(t, excise(w.database, from, to))
		}
	case "ingest":
		must(t, ingest(w.DB, w.table(t, 0, keySpace)))
	case "ingest and excise":
		a := rapid.IntRange(0, keySpace-10).Draw(t, "from")
		b := a + rapid.IntRange(5, 10).Draw(t, "keys")
		if w.canExcise() {
			from, to := key(a), key(b)
			if w.compare(from, to) > 0 {
				from, to = key(b-1), append(key(a)[:4:4], '!') // behind key(a), where order is reversed
			}
			must(t, ingestAndExcise(w.DB, w.table(t, a, b), from, to))
		}
	}
}

func (w *world) canExcise() bool { return w.o.FormatMajorVersion >= pebble.FormatVirtualSSTables }

// table makes one of some keys in [from, to).
func (w *world) table(t *rapid.T, from, to int) string {
	var keys [][]byte
	for i := from; i < to; i += rapid.IntRange(1, 40).Draw(t, "step") {
		keys = append(keys, key(i))
	}
	slices.SortFunc(keys, w.compare)
	keys = slices.CompactFunc(keys, bytes.Equal)
	w.tables++
	path := filepath.Join(filepath.Dir(w.database.dir), fmt.Sprint(w.tables, ".sst"))
	must(t, writeTable(w.o, path, func(set func(k, v []byte) error) error {
		for _, k := range keys {
			if err := set(k, bytes.Repeat([]byte("ingested"), 5)); err != nil {
				return err
			}
		}
		return nil
	}))
	return path
}

// ---- Sinks.

// policies are those of the product.
func policies() []policy.Policy {
	return []policy.Policy{keyscan.New(), readahead.Files(), willneed.Policy{}}
}

// newRuntime is a runtime that never lacks memory.
func newRuntime(t tester, b backend.Backend) *runtime.Runtime {
	t.Helper()
	rt, err := runtime.New(runtime.Options{
		Backend: b, Policies: policies(),
		Memory: func() (memory.State, error) { return memory.State{Available: 1 << 40, Limit: 1 << 40}, nil },
	})
	must(t, err)
	return rt
}

// drawSink returns a sink and what ends it; ending it again does nothing.
func drawSink(t *rapid.T) (sink hints.Sink, end func()) {
	switch rapid.SampledFrom([]string{"pagecache", "record", "hostile", "hostile", "discard", "nil"}).Draw(t, "sink") {
	case "pagecache":
		rt := newRuntime(t, pagecache.New(pagecache.Options{}))
		return rt, func() { rt.Close() }
	case "record":
		rt := newRuntime(t, record.Moody(rapid.Uint64().Draw(t, "mood")))
		return rt, func() { rt.Close() }
	case "hostile":
		return newHostile(rapid.Uint64().Draw(t, "seed")), func() {}
	case "discard":
		return hints.Discard, func() {}
	}
	return nil, func() {}
}
