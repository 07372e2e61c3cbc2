// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/adapters/pebblev1hint"
)

// keySpace is how many keys there are, without suffixes.
const keySpace = 300

// world is a random database and all that is open of it.
type world struct {
	*database
	dir      string
	suffixes bool
	ranges   bool // range keys may be written
	singles  int  // keys written once and deleted once
	tables   int

	readers []reader
	pairs   []*pair
	end     []func() // closes what is beside
}

// reader is something to be read; batch is nil if it is none.
type reader struct {
	pebble.Reader
	batch *pebble.Batch
}

func drawWorld(t *rapid.T, dir string) *world {
	w := &world{dir: dir}
	format := rapid.SampledFrom(formats).Draw(t, "format")
	o := &pebble.Options{
		FormatMajorVersion:          format,
		Logger:                      mute{}, // a test that fails leaves the database open
		MemTableSize:                rapid.SampledFrom([]uint64{64 << 10, 1 << 20}).Draw(t, "memtable"),
		L0CompactionThreshold:       rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "l0"),
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               rapid.SampledFrom([]int64{1, 64 << 20}).Draw(t, "lbase"),
		DisableAutomaticCompactions: rapid.Bool().Draw(t, "still"),
		FlushSplitBytes:             4 << 10,
	}
	layout{
		block:       rapid.SampledFrom([]int{1, 64, 300, 1024, 4096}).Draw(t, "block"),
		index:       rapid.SampledFrom([]int{1, 128, 4096, 256 << 10}).Draw(t, "index"),
		compression: rapid.SampledFrom(compressions).Draw(t, "compression"),
		filter:      rapid.Bool().Draw(t, "filter"),
		file:        rapid.SampledFrom([]int64{16 << 10, 64 << 10, 2 << 20}).Draw(t, "file"),
	}.set(o)
	blocks := rapid.Bool().Draw(t, "valueBlocks")
	o.Experimental.EnableValueBlocks = func() bool { return blocks }
	w.ranges = pebble.DefaultComparer.Split != nil // what range keys need
	switch rapid.SampledFrom([]string{"default", "suffixed", "reversed"}).Draw(t, "comparer") {
	case "suffixed":
		o.Comparer, w.suffixes, w.ranges = suffixed, true, true
	case "reversed":
		if anyOrder(format) {
			o.Comparer, w.ranges = reversed, false
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "blobs") == 0 && (o.Comparer == nil || o.Comparer != reversed) {
		separateValues(o)
	}
	sink, end := drawSink(t)
	w.end = append(w.end, end)
	if rapid.IntRange(0, 9).Draw(t, "unbound") == 0 {
		d := &database{dir: dir, o: o, h: pebblev1hint.Attach(o, sink)}
		db, err := pebble.Open(dir, o)
		must(t, err)
		d.DB, w.database = db, d
	} else {
		w.database = open(t, dir, o, sink)
	}
	w.readers = []reader{{w.DB, nil}}
	return w
}

func (w *world) compare(a, b []byte) int {
	if w.o.Comparer == nil {
		return bytes.Compare(a, b)
	}
	return w.o.Comparer.Compare(a, b)
}

// key draws one that may be there, or be near one.
func (w *world) key(t *rapid.T) []byte {
	k := w.userKey(t)
	switch rapid.SampledFrom([]string{"exact", "exact", "exact", "after", "short", "nil", "empty", "last"}).Draw(t, "kind") {
	case "after":
		return append(k, '0')
	case "short":
		return k[:len(k)/2]
	case "nil":
		return nil
	case "empty":
		return []byte{}
	case "last":
		return []byte{0xff, 0xff}
	}
	return k
}

// userKey draws one to be written.
func (w *world) userKey(t *rapid.T) []byte {
	k := key(rapid.IntRange(0, keySpace).Draw(t, "key"))
	if w.suffixes && rapid.Bool().Draw(t, "suffixed") {
		k = fmt.Appendf(k, "@%d", rapid.IntRange(1, 9).Draw(t, "suffix"))
	}
	return k
}

// prefixes draws two keys without suffixes, in order; ok: they differ.
func (w *world) prefixes(t *rapid.T) (from, to []byte, ok bool) {
	from, to = key(rapid.IntRange(0, keySpace).Draw(t, "from")), key(rapid.IntRange(0, keySpace).Draw(t, "to"))
	if w.compare(from, to) > 0 {
		from, to = to, from
	}
	return from, to, w.compare(from, to) < 0
}

// bounds draws bounds in order; nil is none.
func (w *world) bounds(t *rapid.T) (lower, upper []byte) {
	lower, upper = w.userKey(t), w.userKey(t)
	if w.compare(lower, upper) > 0 {
		lower, upper = upper, lower
	}
	switch rapid.IntRange(0, 3).Draw(t, "none") {
	case 0:
		lower = nil
	case 1:
		upper = nil
	}
	return lower, upper
}

// noFilter filters by a property that no table has.
type noFilter struct{}

func (noFilter) Name() string                    { return "predictio.test.none" }
func (noFilter) Intersects([]byte) (bool, error) { return true, nil }
func (noFilter) SyntheticSuffixIntersects(_, _ []byte) (bool, error) {
	return true, nil
}

func (w *world) iterOptions(t *rapid.T) *pebble.IterOptions {
	o := &pebble.IterOptions{}
	if rapid.Bool().Draw(t, "bounded") {
		o.LowerBound, o.UpperBound = w.bounds(t)
	}
	o.KeyTypes = rapid.SampledFrom([]pebble.IterKeyType{
		pebble.IterKeyTypePointsOnly, pebble.IterKeyTypePointsOnly, pebble.IterKeyTypePointsAndRanges, pebble.IterKeyTypeRangesOnly,
	}).Draw(t, "keyTypes")
	if w.o.FormatMajorVersion < rangeKeys || !w.ranges {
		o.KeyTypes = pebble.IterKeyTypePointsOnly
	}
	switch rapid.IntRange(0, 12).Draw(t, "more") {
	case 0:
		o.UseL6Filters = true
	case 1:
		if w.o.DisableAutomaticCompactions && w.o.FormatMajorVersion >= rangeKeys {
			o.PointKeyFilters = []pebble.BlockPropertyFilter{noFilter{}}
		}
	case 2:
		o.SkipPoint = func(k []byte) bool { return len(k)%2 == 0 }
	}
	return o
}

var deeds = []string{
	"set", "set", "set many", "delete", "delete range", "merge", "single", "flush", "flush", "compact", "compact", "ingest",
	"excise", "ingest and excise", "range key", "snapshot", "batch", "batch write", "iterator", "iterator", "clone",
	"moves", "moves", "moves", "moves", "moves", "moves", "close iterator", "get", "multi get", "close runtime", "close hints",
}

// act draws something to do and does it.
func (w *world) act(t *rapid.T) {
	switch deed := rapid.SampledFrom(deeds).Draw(t, "deed"); deed {
	case "snapshot":
		w.readers = append(w.readers, reader{w.NewSnapshot(), nil})
	case "batch":
		b := w.NewIndexedBatch()
		w.readers = append(w.readers, reader{b, b})
	case "batch write":
		if r := w.readers[len(w.readers)-1]; r.batch != nil {
			must(t, r.batch.Set(w.userKey(t), []byte("of a batch"), nil))
			if from, to, ok := w.prefixes(t); ok && rapid.Bool().Draw(t, "delete") {
				must(t, r.batch.DeleteRange(from, to, nil))
			}
		}
	case "iterator":
		r := rapid.SampledFrom(w.readers).Draw(t, "reader")
		so := pebblev1hint.ScanOptions{
			Rows:  rapid.SampledFrom([]int{0, 0, 1, 100, -1, 1 << 40}).Draw(t, "rows"),
			Bytes: rapid.SampledFrom([]int64{0, 0, 1, 10_000, -1, 1 << 60}).Draw(t, "bytes"),
		}
		var o *pebble.IterOptions
		if rapid.Bool().Draw(t, "options") {
			o = w.iterOptions(t)
		}
		if p := newPair(t, w.h, r, o, so); p != nil {
			w.pairs = append(w.pairs, p)
		}
	case "clone", "moves", "close iterator":
		if len(w.pairs) == 0 {
			return
		}
		i := rapid.IntRange(0, len(w.pairs)-1).Draw(t, "pair")
		switch p := w.pairs[i]; {
		case deed == "close iterator":
			p.close(t)
			w.pairs = slices.Delete(w.pairs, i, i+1)
		case deed == "clone" && !p.done:
			o := pebble.CloneOptions{RefreshBatchView: rapid.Bool().Draw(t, "refresh")}
			if rapid.Bool().Draw(t, "options") {
				o.IterOptions = w.iterOptions(t)
			}
			if c := p.clone(t, o); c != nil {
				w.pairs = append(w.pairs, c)
			}
		default:
			for range 6 {
				p.random(t, w)
			}
		}
	case "get", "multi get":
		w.get(t, rapid.SampledFrom(w.readers).Draw(t, "reader"), deed == "multi get")
	case "close runtime":
		if rapid.Bool().Draw(t, "really") {
			w.end[0]()
		}
	case "close hints":
		if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
			must(t, w.h.Close())
		}
	default:
		w.change(t, deed)
	}
}

// get compares reads of points.
func (w *world) get(t *rapid.T, r pebble.Reader, multi bool) {
	found := func(v []byte, c io.Closer, err error) string {
		s := fmt.Sprintf("%q, %v", v, err)
		if err == nil {
			must(t, c.Close())
		}
		return s
	}
	keys := [][]byte{w.key(t)}
	if multi {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.SampledFrom([]int{0, 1, 20, 300}).Draw(t, "keys") {
			keys = append(keys, key(rng.IntN(keySpace+20)))
		}
	}
	var want, got []string
	for _, k := range keys {
		want = append(want, found(r.Get(k)))
	}
	if rd, ok := r.(reader); ok {
		r = rd.Reader
	}
	if multi {
		for _, x := range w.h.MultiGet(r, keys) {
			got = append(got, fmt.Sprintf("%q, %v", x.Value, x.Err))
		}
	} else {
		got = append(got, found(w.h.Get(r, keys[0])))
	}
	for _, list := range [][]string{want, got} {
		for i := range list {
			list[i] = addresses.ReplaceAllString(list[i], "0x")
		}
	}
	if !slices.Equal(want, got) {
		t.Fatalf("get %q:\nbare   %v\nhinted %v", keys, want, got)
	}
}

// finish closes everything.
func (w *world) finish(t *rapid.T) {
	for _, p := range w.pairs {
		p.close(t)
	}
	for _, r := range w.readers[1:] {
		must(t, r.Close())
	}
	w.database.close(t)
	for _, end := range w.end {
		end()
	}
	if n := descriptors(t, w.dir); n > 0 {
		t.Fatalf("%d tables are still open", n)
	}
}

// TestEqualsBare moves iterators of both kinds through a database that changes.
func TestEqualsBare(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "db")
		must(t, err)
		defer os.RemoveAll(dir)
		w := drawWorld(t, filepath.Join(dir, "db"))
		done := false
		defer func() {
			if !done { // the test has failed: leave nothing behind
				for _, end := range w.end {
					end()
				}
			}
		}()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		for range rapid.SampledFrom([]int{0, 1, 3, 12}).Draw(t, "flushes") {
			w.fill(t, rng, 100)
			must(t, w.Flush())
		}
		for range rapid.IntRange(5, 10+rounds(30)).Draw(t, "deeds") {
			w.act(t)
		}
		w.finish(t)
		done = true
	})
}
