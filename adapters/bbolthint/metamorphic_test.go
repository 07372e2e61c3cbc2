// SPDX-License-Identifier: Apache-2.0

package bbolthint_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend/pagecache"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/neighbor"
	"github.com/predictio/predictio/runtime/policy/noop"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// ---- Random databases.

// shape is one kind of bucket content.
type shape struct {
	items            int
	minKey, maxKey   int
	minValue, maxVal int
}

var shapes = map[string]shape{
	"empty":       {0, 1, 1, 0, 0},
	"inline":      {5, 1, 8, 0, 20},
	"one byte":    {256, 1, 1, 0, 40},
	"small":       {1500, 4, 24, 0, 64},
	"1 KiB":       {250, 16, 16, 1 << 10, 1 << 10},
	"long values": {12, 16, 16, 20 << 10, 64 << 10},
	"mixed":       {60, 1, 300, 0, 12 << 10},
	"long keys":   {90, 400, 3000, 0, 100},
	"huge keys":   {8, 20 << 10, 32 << 10, 0, 2000},
}

// random is a database drawn at random.
type random struct {
	pageSize int
	seed     uint64
	buckets  [][]string // paths, a bucket's parent before it
	shapes   []string   // of the buckets
}

func drawDB(t *rapid.T) *random {
	names := make([]string, 0, len(shapes))
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	r := &random{
		pageSize: rapid.SampledFrom([]int{4096, 1024, 8192, 16384, 65536}).Draw(t, "pageSize"),
		seed:     rapid.Uint64().Draw(t, "seed"),
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "buckets") {
		path := []string{fmt.Sprintf("bucket%d", i)}
		if i > 0 && rapid.Bool().Draw(t, "nested") {
			parent := r.buckets[rapid.IntRange(0, i-1).Draw(t, "parent")]
			path = append(slices.Clone(parent), path...)
		}
		r.buckets = append(r.buckets, path)
		r.shapes = append(r.shapes, rapid.SampledFrom(names).Draw(t, "shape"))
	}
	return r
}

// write makes the database's file.
func (r *random) write(t *rapid.T, path string) {
	rng := rand.New(rand.NewPCG(r.seed, 0))
	db := openDB(t, path, &bolt.Options{PageSize: r.pageSize, NoSync: true, NoFreelistSync: rng.IntN(2) == 0})
	defer db.Close()
	update := func(i int, fn func(b *bolt.Bucket) error) {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(r.buckets[i][0]))
			for _, name := range r.buckets[i][1:] {
				if err == nil {
					b, err = b.CreateBucketIfNotExists([]byte(name))
				}
			}
			if err != nil {
				return err
			}
			b.FillPercent = []float64{0.1, 0.5, 1}[rng.IntN(3)]
			return fn(b)
		})
		if err != nil {
			t.Fatalf("bucket %v: %v", r.buckets[i], err)
		}
	}
	for i := range r.buckets {
		s := shapes[r.shapes[i]]
		keys := make([][]byte, s.items)
		for j := range keys {
			keys[j] = make([]byte, s.minKey+rng.IntN(s.maxKey-s.minKey+1))
			for k := range keys[j] {
				keys[j][k] = byte(rng.Uint32())
			}
		}
		if rng.IntN(2) == 0 {
			slices.SortFunc(keys, bytes.Compare)
		}
		for part := range slices.Chunk(keys, s.items/(1+rng.IntN(3))+1) {
			update(i, func(b *bolt.Bucket) error {
				for _, k := range part {
					v := make([]byte, s.minValue+rng.IntN(s.maxVal-s.minValue+1))
					if len(v) > 0 {
						v[0] = byte(rng.Uint32())
					}
					if err := b.Put(k, v); err != nil {
						return err
					}
				}
				return nil
			})
		}
		update(i, func(b *bolt.Bucket) error { return nil })
		if rng.IntN(3) > 0 {
			continue
		}
		// Delete a run of keys, or all but a few, or all.
		slices.SortFunc(keys, bytes.Compare)
		from := rng.IntN(len(keys) + 1)
		to := from + rng.IntN(len(keys)-from+1)
		if rng.IntN(3) == 0 {
			from, to = 0, len(keys)
		}
		update(i, func(b *bolt.Bucket) error {
			for _, k := range keys[from:to] {
				if err := b.Delete(k); err != nil && !errors.Is(err, berrors.ErrIncompatibleValue) {
					return err
				}
			}
			return nil
		})
	}
}

// bucket opens the i-th bucket; the one after the last is the root bucket.
func (r *random) bucket(tx *bolt.Tx, i int) *bolt.Bucket {
	if i == len(r.buckets) {
		return tx.Cursor().Bucket()
	}
	b := tx.Bucket([]byte(r.buckets[i][0]))
	for _, name := range r.buckets[i][1:] {
		b = b.Bucket([]byte(name))
	}
	return b
}

// ---- Random sinks.

// drawSink returns a sink and what ends it.
func drawSink(t *rapid.T) (sink hints.Sink, end func()) {
	kind := rapid.SampledFrom([]string{"runtime", "mean", "discard", "nil"}).Draw(t, "sink")
	switch kind {
	case "mean":
		return newMeanSink(rapid.Uint64().Draw(t, "seed")), func() {}
	case "discard":
		return hints.Discard, func() {}
	case "nil":
		return nil, func() {}
	}
	var p policy.Policy
	switch rapid.SampledFrom([]string{"tree", "fixed", "neighbor", "noop"}).Draw(t, "policy") {
	case "tree":
		p = treechildren.New()
	case "fixed":
		p = treechildren.NewFixed(rapid.IntRange(1, 300).Draw(t, "window"))
	case "neighbor":
		p = neighbor.Policy{}
	case "noop":
		p = noop.Policy{}
	}
	o := runtime.Options{
		Policies: []policy.Policy{p},
		InFlight: rapid.SampledFrom([]int{0, 1, 20}).Draw(t, "inFlight"),
	}
	if rapid.Bool().Draw(t, "pagecache") {
		o.Backend = pagecache.New(pagecache.Options{})
	} else {
		o.Backend = record.Moody(rapid.Uint64().Draw(t, "mood"))
	}
	switch rapid.SampledFrom([]string{"plenty", "unknown", "short"}).Draw(t, "memory") {
	case "plenty":
		o.Memory = func() (memory.State, error) { return memory.State{Available: 1 << 40, Limit: 1 << 40}, nil }
	case "unknown":
		o.Memory = noMemory
	case "short":
		o.Memory = func() (memory.State, error) { return memory.State{Available: 1, Limit: 1 << 40}, nil }
	}
	rt, err := runtime.New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return rt, func() { rt.Close() }
}

// ---- Random scripts.

// drawMoves draws calls, with keys that lie on, beside, before and after those of
// the bucket.
func drawMoves(t *rapid.T, keys [][]byte, names ...string) []move {
	var moves []move
	for range rapid.IntRange(1, 8).Draw(t, "stretches") {
		m := move{name: rapid.SampledFrom(names).Draw(t, "move")}
		times := 1
		switch m.name {
		case "Seek":
			m.key = drawKey(t, keys)
		case "Next", "Prev":
			times = rapid.SampledFrom([]int{1, 2, 7, 40, 400, 1600}).Draw(t, "times")
		}
		for range times {
			moves = append(moves, m)
		}
	}
	return moves
}

func drawKey(t *rapid.T, keys [][]byte) []byte {
	kind := rapid.SampledFrom([]string{"exact", "after", "prefix", "less", "nil", "empty", "largest", "any"}).Draw(t, "key")
	var k []byte
	if len(keys) > 0 {
		k = slices.Clone(keys[rapid.IntRange(0, len(keys)-1).Draw(t, "of")])
	}
	switch kind {
	case "after":
		return append(k, 0)
	case "prefix":
		return k[:len(k)/2]
	case "less":
		if n := len(k); n > 0 && k[n-1] > 0 {
			k[n-1]--
		}
		return k
	case "nil":
		return nil
	case "empty":
		return []byte{}
	case "largest":
		return bytes.Repeat([]byte{0xff}, 40)
	case "any":
		return rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "bytes")
	}
	return k
}

func keysOf(b *bolt.Bucket) (keys [][]byte) {
	b.ForEach(func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	})
	return keys
}

// step compares one call on both cursors.
func step(t tester, n int, m move, bare, hinted mover) outcome {
	t.Helper()
	want, got := m.attempt(bare), m.attempt(hinted)
	if !got.same(want) {
		t.Fatalf("move %d, %v:\nbare   %v\nhinted %v", n, m, want, got)
	}
	return want
}

func tempPath(t *testing.T, name string) string {
	return filepath.Join(t.TempDir(), name)
}

var allMoves = []string{"First", "Last", "Next", "Prev", "Next", "Prev", "Seek", "Delete", "Bucket"}

// TestCursorEqualsBare runs the same calls on both cursors in one transaction.
func TestCursorEqualsBare(t *testing.T) {
	path := tempPath(t, "db")
	rapid.Check(t, func(t *rapid.T) {
		defer os.Remove(path)
		r := drawDB(t)
		r.write(t, path)
		db := openDB(t, path, &bolt.Options{ReadOnly: rapid.Bool().Draw(t, "readOnly"), NoSync: true})
		defer db.Close()
		sink, end := drawSink(t)
		defer end()
		h, err := bbolthint.Attach(db, sink)
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer h.Close()

		tx, err := db.Begin(false)
		if err != nil {
			t.Fatalf("%v", err)
		}
		open := true
		defer func() {
			if open {
				tx.Rollback()
			}
		}()
		// Two pairs of cursors take turns.
		type pair struct {
			bare, hinted mover
			moves        []move
		}
		var pairs []pair
		for range 2 {
			b := r.bucket(tx, rapid.IntRange(0, len(r.buckets)).Draw(t, "bucket"))
			pairs = append(pairs, pair{b.Cursor(), h.Cursor(b), drawMoves(t, keysOf(b), allMoves...)})
		}
		for n := 0; len(pairs[0].moves)+len(pairs[1].moves) > 0; n++ {
			for i := range pairs {
				p := &pairs[i]
				turn := min(len(p.moves), 1+n%50)
				for _, m := range p.moves[:turn] {
					step(t, n, m, p.bare, p.hinted)
				}
				p.moves = p.moves[turn:]
			}
		}
		tx.Rollback()
		open = false
		for _, p := range pairs {
			for n, name := range allMoves {
				step(t, n, move{name: name}, p.bare, p.hinted)
			}
		}
	})
}

// TestWritableEqualsBare does the same changes and moves in write transactions of
// two copies of a database.
func TestWritableEqualsBare(t *testing.T) {
	dir := t.TempDir()
	paths := [2]string{filepath.Join(dir, "bare"), filepath.Join(dir, "hinted")}
	rapid.Check(t, func(t *rapid.T) {
		r := drawDB(t)
		defer os.Remove(paths[0])
		defer os.Remove(paths[1])
		r.write(t, paths[0])
		copyFile(t, paths[0], paths[1])
		sink, end := drawSink(t)
		defer end()

		var dbs [2]*bolt.DB
		var txs [2]*bolt.Tx
		for i := range dbs {
			dbs[i] = openDB(t, paths[i], &bolt.Options{NoSync: true})
			defer dbs[i].Close()
		}
		h, err := bbolthint.Attach(dbs[1], sink)
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer h.Close()
		begin := func(writable bool) {
			for i := range txs {
				if txs[i], err = dbs[i].Begin(writable); err != nil {
					t.Fatalf("%v", err)
				}
			}
		}
		begin(true)
		defer func() { txs[0].Rollback(); txs[1].Rollback() }()

		which := rapid.IntRange(0, len(r.buckets)).Draw(t, "bucket")
		var b [2]*bolt.Bucket
		reopen := func() (bare, hinted mover) {
			for i := range b {
				b[i] = r.bucket(txs[i], which)
			}
			return b[0].Cursor(), h.Cursor(b[1])
		}
		bare, hinted := reopen()
		keys := keysOf(b[0])
		for n := range rapid.IntRange(1, 6).Draw(t, "changes") {
			for _, m := range drawMoves(t, keys, allMoves...) {
				// bbolt's Last never returns from a tree whose leaves are all empty.
				if k, _ := b[0].Cursor().First(); k == nil && m.name == "Last" {
					continue
				}
				want, got := m.attempt(bare), m.attempt(hinted)
				if want.bucket, got.bucket = nil, nil; !got.same(want) {
					t.Fatalf("change %d, %v:\nbare   %v\nhinted %v", n, m, want, got)
				}
			}
			switch rapid.SampledFrom([]string{"put", "delete many", "fresh bucket", "commit"}).Draw(t, "change") {
			case "put":
				k := append(drawKey(t, keys), 'x')
				v := make([]byte, rapid.SampledFrom([]int{0, 100, 5000}).Draw(t, "size"))
				same(t, "Put", b[0].Put(k, v), b[1].Put(k, v))
			case "delete many": // whole leaves become empty
				if len(keys) == 0 {
					continue
				}
				from := rapid.IntRange(0, len(keys)-1).Draw(t, "from")
				for _, k := range keys[from:min(len(keys), from+300)] {
					same(t, "Delete", b[0].Delete(k), b[1].Delete(k))
				}
			case "fresh bucket":
				name := fmt.Appendf(nil, "fresh%d", n)
				var err [2]error
				for i := range b {
					var fresh *bolt.Bucket
					if fresh, err[i] = b[i].CreateBucketIfNotExists(name); err[i] == nil {
						for k := range 200 {
							if err := fresh.Put(fmt.Append(nil, k), name); err != nil {
								t.Fatalf("%v", err)
							}
						}
						b[i] = fresh
					}
				}
				same(t, "CreateBucket", err[0], err[1])
				bare, hinted = b[0].Cursor(), h.Cursor(b[1])
			case "commit":
				same(t, "Commit", txs[0].Commit(), txs[1].Commit())
				step(t, n, move{name: "Next"}, bare, hinted) // panics
				begin(rapid.Bool().Draw(t, "writable"))
				bare, hinted = reopen()
				if !txs[0].Writable() {
					for _, m := range drawMoves(t, keys, allMoves...) {
						want, got := m.attempt(bare), m.attempt(hinted)
						if want.bucket, got.bucket = nil, nil; !got.same(want) {
							t.Fatalf("after commit, %v:\nbare   %v\nhinted %v", m, want, got)
						}
					}
					txs[0].Rollback()
					txs[1].Rollback()
					begin(true)
					bare, hinted = reopen()
				}
			}
		}
	})
}

func same(t tester, what string, a, b error) {
	t.Helper()
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Fatalf("%s: bare %v, hinted %v", what, a, b)
	}
}

func copyFile(t tester, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatalf("%v", err)
	}
}

// TestScanEqualsLoop compares Scan and ForEach with the same loop over bbolt's
// cursor.
func TestScanEqualsLoop(t *testing.T) {
	path := tempPath(t, "db")
	errStop := errors.New("stop")
	type item struct{ key, value []byte }
	rapid.Check(t, func(t *rapid.T) {
		defer os.Remove(path)
		r := drawDB(t)
		r.write(t, path)
		db := openDB(t, path, &bolt.Options{NoSync: true})
		defer db.Close()
		sink, end := drawSink(t)
		defer end()
		h, err := bbolthint.Attach(db, sink)
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer h.Close()
		tx, err := db.Begin(rapid.Bool().Draw(t, "writable"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		open := true
		defer func() {
			if open {
				tx.Rollback()
			}
		}()
		b := r.bucket(tx, rapid.IntRange(0, len(r.buckets)).Draw(t, "bucket"))
		keys := keysOf(b)
		for range rapid.IntRange(1, 4).Draw(t, "scans") {
			from, to := drawKey(t, keys), drawKey(t, keys)
			stop := rapid.SampledFrom([]int{-1, -1, 1, 50}).Draw(t, "stop")
			collect := func(items *[]item) func(k, v []byte) error {
				return func(k, v []byte) error {
					if *items = append(*items, item{k, v}); len(*items) == stop {
						return errStop
					}
					return nil
				}
			}
			loop := func(fn func(k, v []byte) error) error {
				c := b.Cursor()
				k, v := c.First()
				if from != nil {
					k, v = c.Seek(from)
				}
				for ; k != nil && (to == nil || bytes.Compare(k, to) < 0); k, v = c.Next() {
					if err := fn(k, v); err != nil {
						return err
					}
				}
				return nil
			}
			var want, got []item
			wantErr, gotErr := loop(collect(&want)), h.Scan(b, from, to, collect(&got))
			if from == nil && to == nil && rapid.Bool().Draw(t, "forEach") {
				want, got = nil, nil
				wantErr, gotErr = b.ForEach(collect(&want)), h.ForEach(b, collect(&got))
			}
			if !sameError(gotErr, wantErr) || len(got) != len(want) {
				t.Fatalf("from %.20q to %.20q: %d items, %v; bare %d, %v", from, to, len(got), gotErr, len(want), wantErr)
			}
			for i := range want {
				if !sameBytes(got[i].key, want[i].key) || !sameBytes(got[i].value, want[i].value) {
					t.Fatalf("from %.20q to %.20q: item %d differs", from, to, i)
				}
			}
		}
		tx.Rollback()
		open = false
		never := func(_, _ []byte) error { t.Fatalf("called in a closed transaction"); return nil }
		for _, err := range []error{h.Scan(b, nil, nil, never), h.Scan(b, []byte("a"), []byte("b"), never), h.ForEach(b, never)} {
			if err != berrors.ErrTxClosed {
				t.Fatalf("in a closed transaction: %v", err)
			}
		}
	})
}

// TestFreshRootBucket: the root bucket of a new database is a page of its own
// without any item.
func TestFreshRootBucket(t *testing.T) {
	path := tempPath(t, "db")
	create(t, path, 0, func(*bolt.Tx) error { return nil })
	view(t, path, newMeanSink(1), func(h *bbolthint.DB, tx *bolt.Tx) {
		b := tx.Cursor().Bucket()
		for _, first := range allMoves {
			bare, hinted := b.Cursor(), h.Cursor(b)
			step(t, 0, move{name: first}, bare, hinted)
			for n, name := range allMoves {
				step(t, n+1, move{name: name}, bare, hinted)
			}
		}
	})
}
