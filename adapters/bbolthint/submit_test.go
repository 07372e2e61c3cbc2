// SPDX-License-Identifier: Apache-2.0

package bbolthint_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// These tests count the pages that were submitted. The databases' page size is the
// system's, so that pages of the file and of the system are the same.

// track walks a cursor over a known tree and plays the page cache for the program:
// it says which leaf the cursor is in, and demands what the program touches.
type track struct {
	cursor  *bbolthint.Cursor
	tree    *tree
	cache   *cache
	entered map[int]bool // leaves
	at      int          // leaf of the last item
	onEnter func(leaf int)
	values  bool // the program reads values too
}

func newTrack(t tester, h *bbolthint.DB, b *bolt.Bucket, c *cache) *track {
	_, tr := treeOf(t, b)
	return &track{cursor: h.Cursor(b), tree: tr, cache: c, entered: map[int]bool{}, at: -1}
}

// saw takes what a move returned and reports whether it was an item.
func (k *track) saw(key, _ []byte) bool {
	if key == nil {
		return false
	}
	at, found := slices.BinarySearchFunc(k.tree.leaves, key, func(l leaf, key []byte) int { return bytes.Compare(l.firstKey, key) })
	if !found {
		at--
	}
	if k.at = at; !k.entered[at] {
		if k.onEnter != nil {
			k.onEnter(at)
		}
		k.entered[at] = true
		l := k.tree.leaves[at]
		for p := l.id; p <= l.id+l.overflow; p++ {
			if k.values || l.keyPages[p] {
				k.cache.demand(p)
			}
		}
	}
	return true
}

// ahead counts the leaves of which any page was submitted and that were never
// entered.
func (k *track) ahead() (leaves int) {
	for i, l := range k.tree.leaves {
		if k.entered[i] {
			continue
		}
		for p := l.id; p <= l.id+l.overflow; p++ {
			if k.cache.has(p) {
				leaves++
				break
			}
		}
	}
	return leaves
}

// TestSubmittedIsReachable: whatever is done with a cursor, what is submitted for
// it belongs to its bucket's tree.
func TestSubmittedIsReachable(t *testing.T) {
	path := tempPath(t, "db")
	rapid.Check(t, func(t *rapid.T) {
		r := drawDB(t)
		r.write(t, path)
		c := newCache()
		c.cold = rapid.Bool().Draw(t, "cold")
		p := treechildren.New()
		if rapid.IntRange(0, 3).Draw(t, "fixed") == 0 {
			p = treechildren.NewFixed(rapid.IntRange(1, 600).Draw(t, "window"))
		}
		rt := newRuntime(t, c.backend(), p)
		defer rt.Close()
		view(t, path, rt, func(h *bbolthint.DB, tx *bolt.Tx) {
			b := r.bucket(tx, rapid.IntRange(0, len(r.buckets)).Draw(t, "bucket"))
			keys := keysOf(b)
			cursor := h.Cursor(b)
			for _, m := range drawMoves(t, keys, "First", "Last", "Next", "Prev", "Next", "Prev", "Seek") {
				m.attempt(cursor)
			}
			stop := errors.New("stop")
			left := rapid.IntRange(0, 1000).Draw(t, "items")
			h.Scan(b, drawKey(t, keys), drawKey(t, keys), func(_, _ []byte) error {
				if left--; left < 0 {
					return stop
				}
				return nil
			})
			if b.Root() == 0 {
				if len(c.submitted) > 0 {
					t.Fatalf("%d pages were submitted for an inline bucket", len(c.submitted))
				}
				return
			}
			im, tr := treeOf(t, b)
			reachable := im.reachable(tr)
			for off := range c.submitted {
				if !reachable[off] {
					t.Fatalf("the page at %d was submitted and is not in the tree", off)
				}
			}
		})
	})
}

// scans are the ways to read all of a bucket.
var scans = map[string]struct {
	start, step func(*bbolthint.Cursor) (key, value []byte)
}{
	"forward":  {(*bbolthint.Cursor).First, (*bbolthint.Cursor).Next},
	"backward": {(*bbolthint.Cursor).Last, (*bbolthint.Cursor).Prev},
}

// exact checks each event of a walk against what the file says.
type exact struct {
	t       *testing.T
	tree    *tree
	lowest  []uint64 // branches above leaves, in key order
	parent  []int    // of each leaf, in lowest
	entered []int    // leaves, by the events
}

func newExact(t *testing.T, b *bolt.Bucket) *exact {
	x := &exact{t: t}
	var im image
	im, x.tree = treeOf(t, b)
	var down func(id uint64)
	down = func(id uint64) {
		off := id * im.pageSize
		for i := range im.u16(off + 10) {
			child := im.u64(off + 16 + 16*i + 8)
			if _, ok := x.tree.at[child]; ok {
				if i == 0 {
					x.lowest = append(x.lowest, id)
				}
				x.parent = append(x.parent, len(x.lowest)-1)
			} else {
				down(child)
			}
		}
	}
	down(uint64(b.Root()))
	return x
}

func (x *exact) Emit(event hints.Event) hints.Advice {
	e, ok := event.(*hints.TreeChildEnter)
	if !ok {
		return hints.Advice{}
	}
	page := func(x hints.Extent) uint64 { return uint64(x.Off / 4096) }
	at, ok := x.tree.at[page(e.Entered)]
	if !ok || x.tree.leaves[at].id != page(e.Entered) {
		x.t.Fatalf("entered page %d is not a leaf", page(e.Entered))
	}
	x.entered = append(x.entered, at)
	parent := x.parent[at]
	fanout, index := 0, 0
	for i, p := range x.parent {
		if p == parent {
			fanout++
			if e.Dir == hints.Forward && i < at || e.Dir == hints.Backward && i > at {
				index++
			}
		}
	}
	if page(e.Parent) != x.lowest[parent] || e.Fanout != fanout || e.Index != index {
		x.t.Fatalf("leaf %d: parent %d, %d of %d; want %d, %d of %d", at, page(e.Parent), e.Index, e.Fanout, x.lowest[parent], index, fanout)
	}
	for i := range 300 {
		got, ok := e.Children.Child(i)
		next := at + int(e.Dir)*(i+1)
		if exists := next >= 0 && next < len(x.tree.leaves); ok != exists {
			x.t.Fatalf("leaf %d, child %d of direction %d: %v", at, i, e.Dir, ok)
		} else if !exists {
			break
		}
		l := x.tree.leaves[next]
		if page(got) != l.id || got.Len != 4096 {
			x.t.Fatalf("leaf %d, child %d: page %d, not %d", at, i, page(got), l.id)
		}
		if i%7 == 0 {
			x.rest(e.Children.(hints.Rests), i, l)
		}
	}
	for i := range 40 {
		got, ok := e.Children.(hints.Parents).NextParent(i)
		next := parent + int(e.Dir)*(i+1)
		if exists := next >= 0 && next < len(x.lowest); ok != exists {
			x.t.Fatalf("leaf %d, next parent %d: %v", at, i, ok)
		} else if exists && page(got) != x.lowest[next] {
			x.t.Fatalf("leaf %d, next parent %d: page %d, not %d", at, i, page(got), x.lowest[next])
		}
	}
	return hints.Advice{}
}

func (x *exact) rest(r hints.Rests, i int, l leaf) {
	for _, part := range []hints.Part{hints.PartKeys, hints.PartAll} {
		got := map[uint64]bool{}
		for _, e := range r.AppendRest(nil, i, part) {
			for off := e.Off; off < e.End(); off += 4096 {
				if got[uint64(off/4096)] {
					x.t.Fatalf("page %d twice", off/4096)
				}
				got[uint64(off/4096)] = true
			}
		}
		for p := l.id + 1; p <= l.id+l.overflow; p++ {
			if want := part == hints.PartAll || l.keyPages[p]; got[p] != want {
				x.t.Fatalf("leaf %d+%d, part %d: page %d is in its rest: %v", l.id, l.overflow, part, p, got[p])
			}
			delete(got, p)
		}
		if len(got) > 0 {
			x.t.Fatalf("leaf %d+%d: its rest has strangers", l.id, l.overflow)
		}
	}
}

// TestEventsAreExact: each crossing's event names the leaf that is entered, its
// parent, and what comes next.
func TestEventsAreExact(t *testing.T) {
	for _, db := range []plain{manyLeaves, longValues, longKeys} {
		for way, scan := range scans {
			t.Run(fmt.Sprint(way, " ", db.keySize, "/", db.valueSize), func(t *testing.T) {
				var x exact
				view(t, db.path(t), &x, func(h *bbolthint.DB, tx *bolt.Tx) {
					x = *newExact(t, tx.Bucket(bucketName))
					c := h.Cursor(tx.Bucket(bucketName))
					for k, _ := scan.start(c); k != nil; k, _ = scan.step(c) {
					}
				})
				if len(x.entered) != len(x.tree.leaves)-1 {
					t.Fatalf("%d events for %d leaves", len(x.entered), len(x.tree.leaves))
				}
				if way == "backward" {
					slices.Reverse(x.entered)
				}
				if !slices.IsSorted(x.entered) {
					t.Error("events out of order")
				}
			})
		}
	}
}

// TestScanIsCovered: in a full scan of a cold file each leaf but the two that the
// first event comes too late for is submitted before it is entered, and once. With a
// fan-out of two, a few more are missed: a parent is not waited for to name them.
func TestScanIsCovered(t *testing.T) {
	for _, db := range []plain{manyLeaves, longValues, longKeys} {
		for way, scan := range scans {
			t.Run(fmt.Sprint(way, " ", db.keySize, "/", db.valueSize), func(t *testing.T) {
				c := newCache()
				c.cold = true
				rt := c.governed(t)
				defer rt.Close()
				view(t, db.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
					k := newTrack(t, h, tx.Bucket(bucketName), c)
					k.values = true
					leaves := len(k.tree.leaves)
					var missed []int
					k.onEnter = func(i int) {
						if len(k.entered) >= 2 && !c.has(k.tree.leaves[i].id) {
							missed = append(missed, i)
						}
					}
					items := 0
					for key, v := scan.start(k.cursor); k.saw(key, v); key, v = scan.step(k.cursor) {
						items++
					}
					if items != db.records || len(k.entered) != leaves || leaves < 100 {
						t.Fatalf("%d items, %d of %d leaves", items, len(k.entered), leaves)
					}
					if len(missed) > 0 && (db.keySize < 1000 || len(missed) > leaves/50) {
						t.Errorf("%d of %d leaves were entered without having been submitted, first %v", len(missed), leaves, missed[:min(9, len(missed))])
					}
					for off, times := range c.submitted {
						page := uint64(off / 4096)
						switch _, isLeaf := k.tree.at[page]; {
						case isLeaf && times > 1:
							t.Errorf("page %d of a leaf was submitted %d times", page, times)
						case !isLeaf && times > 40: // once for each branch before it at most
							t.Errorf("branch %d was submitted %d times", page, times)
						}
					}
				})
			})
		}
	}
}

// TestNothingTwice: with the filter of recent requests not even branches are.
func TestNothingTwice(t *testing.T) {
	// The filter is a hash table and may forget: a page or two at most.
	c := newCache()
	c.cold = true
	rt := recentRuntime(t, c)
	defer rt.Close()
	view(t, longKeys.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
		cursor := h.Cursor(tx.Bucket(bucketName))
		for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		}
		twice := 0
		for _, times := range c.submitted {
			if times > 1 {
				twice++
			}
		}
		if len(c.submitted) < 100 || twice > len(c.submitted)/20 {
			t.Errorf("%d of %d pages were submitted more than once", twice, len(c.submitted))
		}
	})
}

// TestSilence: what reads no more than one leaf says nothing.
func TestSilence(t *testing.T) {
	db := manyLeaves
	quiet := map[string]func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, leaves []leaf){
		"lone seeks": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, _ []leaf) {
			for i := range db.records {
				for _, k := range [][]byte{db.key(i), append(db.key(i), 0)} { // the latter may lie between leaves
					h.Cursor(b).Seek(k)
				}
			}
		},
		"seeks of one cursor": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, _ []leaf) {
			c := h.Cursor(b)
			for i := range db.records {
				c.Seek(append(db.key(i*7%db.records), 0))
			}
			c.Seek([]byte("z"))
			c.Seek(nil)
		},
		"get": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, _ []leaf) {
			for i := range 100 {
				h.Cursor(b).Bucket().Get(db.key(i * 10))
			}
		},
		"first and last": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, _ []leaf) {
			c := h.Cursor(b)
			c.First()
			c.Last()
			c.Prev() // the same leaf: each has two items at least
			c.Next()
			c.Next() // the end
			c.Next()
			h.Cursor(b).First()
			h.Cursor(b).Last()
		},
		"inside one leaf": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, leaves []leaf) {
			c := h.Cursor(b)
			for _, l := range leaves {
				c.Seek(l.firstKey)
				for range 10 {
					for range l.items - 1 {
						c.Next()
					}
					for range l.items - 1 {
						c.Prev()
					}
				}
			}
		},
		"delete": func(t *testing.T, h *bbolthint.DB, b *bolt.Bucket, _ []leaf) {
			c := h.Cursor(b)
			c.First()
			c.Delete()
		},
	}
	for name, act := range quiet {
		t.Run(name, func(t *testing.T) {
			c := newCache()
			rt := c.governed(t)
			defer rt.Close()
			s := &spy{to: rt}
			view(t, db.path(t), s, func(h *bbolthint.DB, tx *bolt.Tx) {
				b := tx.Bucket(bucketName)
				_, tr := treeOf(t, b)
				if tr.leaves[len(tr.leaves)-1].items < 2 {
					t.Fatal("the last leaf has one item")
				}
				act(t, h, b, tr.leaves)
			})
			if s.events > 0 || len(c.submitted) > 0 {
				t.Errorf("%d events, %d pages", s.events, len(c.submitted))
			}
		})
	}
}

// window is how many leaves a walk that has entered n leaves may have ahead, by
// the governor's stages.
func window(n int) int {
	switch used := n - 1; {
	case used == 0:
		return 0 // nothing before the first crossing
	case used < 64:
		return 8 << min(used-1, 2) // the ramp: 8, 16, 32
	case used < 256:
		return 64
	}
	return governor.MaxWindow
}

// TestAbandonedScan: a scan that ends anywhere leaves at most a window behind.
func TestAbandonedScan(t *testing.T) {
	for way, scan := range scans {
		t.Run(way, func(t *testing.T) {
			for _, leaves := range []int{1, 2, 3, 4, 5, 10, 63, 64, 65, 66, 100, 255, 256, 257, 300, 500} {
				c := newCache()
				c.cold = true
				rt := c.governed(t)
				view(t, manyLeaves.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
					k := newTrack(t, h, tx.Bucket(bucketName), c)
					for key, v := scan.start(k.cursor); k.saw(key, v) && len(k.entered) < leaves; key, v = scan.step(k.cursor) {
					}
					if got, most := k.ahead(), window(leaves); got > most {
						t.Errorf("after %d leaves %d more were submitted, at most %d may be", leaves, got, most)
					}
				})
				rt.Close()
			}
		})
	}
}

// TestAbandonedValues: the same, rests included.
func TestAbandonedValues(t *testing.T) {
	for _, leaves := range []int{2, 3, 10, 70, 150} {
		c := newCache()
		c.cold = true
		rt := c.governed(t)
		view(t, longValues.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
			k := newTrack(t, h, tx.Bucket(bucketName), c)
			k.values = true
			for key, v := k.cursor.First(); k.saw(key, v) && len(k.entered) < leaves; key, v = k.cursor.Next() {
			}
			whole := 0
			for i, l := range k.tree.leaves {
				if !k.entered[i] && l.overflow > 0 && c.has(l.id+1) {
					whole++
				}
			}
			most := window(leaves)
			if got := k.ahead(); got > most || whole > (most+1)/2 {
				t.Errorf("after %d leaves %d more were submitted, %d with rests; at most %d, half of them with", leaves, got, whole, most)
			}
		})
		rt.Close()
	}
}

// TestWandering: a walk that turns again and again wastes no more than that.
func TestWandering(t *testing.T) {
	c := newCache()
	c.cold = true
	rt := c.governed(t)
	defer rt.Close()
	view(t, manyLeaves.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
		k := newTrack(t, h, tx.Bucket(bucketName), c)
		k.saw(k.cursor.Seek(manyLeaves.key(manyLeaves.records / 2)))
		for i := range 400 { // back and forth over the same ten leaves
			for range 20 {
				if i%2 == 0 {
					k.saw(k.cursor.Next())
				} else {
					k.saw(k.cursor.Prev())
				}
			}
		}
		// A window on either side, and some probes once all that is there was fetched.
		if got := k.ahead(); got > 2*32+20 {
			t.Errorf("%d leaves were submitted that were never entered", got)
		}
	})
}

// TestKnownEnd: Scan submits nothing past its end, and before it misses nothing.
func TestKnownEnd(t *testing.T) {
	for _, db := range []plain{manyLeaves, longKeys} {
		for _, span := range [][2]int{{0, 1}, {3, 4}, {10, 40}, {100, 290}, {0, 299}, {200, 100}} {
			c := newCache()
			c.cold = true
			rt := c.governed(t)
			view(t, db.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
				b := tx.Bucket(bucketName)
				_, tr := treeOf(t, b)
				from, to := db.key(span[0]), db.key(span[1])
				items := 0
				h.Scan(b, from, to, func(_, _ []byte) error { items++; return nil })
				if want := max(0, span[1]-span[0]); items != want {
					t.Fatalf("%d items, not %d", items, want)
				}
				for i, l := range tr.leaves {
					// The leaf that holds to itself, or begins with it, is where the walk sees the end.
					inside := bytes.Compare(l.firstKey, to) < 0
					last := i + 1
					before := last < len(tr.leaves) && bytes.Compare(tr.leaves[last].firstKey, from) <= 0
					first := i == 0 || bytes.Compare(l.firstKey, from) <= 0
					switch got := c.has(l.id); {
					case got && (!inside || before):
						t.Errorf("%v: leaf %d was submitted", span, i)
					case !got && inside && !first:
						t.Errorf("%v: leaf %d was not submitted", span, i)
					}
				}
			})
			rt.Close()
		}
	}
}

// TestKeysOnly: a scan of keys reads no values.
func TestKeysOnly(t *testing.T) {
	for way, scan := range scans {
		t.Run(way, func(t *testing.T) {
			c := newCache()
			rt := c.governed(t)
			defer rt.Close()
			view(t, longValues.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
				k := newTrack(t, h, tx.Bucket(bucketName), c)
				for key, v := scan.start(k.cursor); k.saw(key, v); key, v = scan.step(k.cursor) {
				}
				bare := len(k.tree.branches)
				for _, l := range k.tree.leaves {
					bare += len(l.keyPages)
				}
				if got := len(c.pages); float64(got) > 1.1*float64(bare) {
					t.Errorf("%d pages; the bare cursor reads %d", got, bare)
				}
				if len(c.submitted) < bare*8/10 {
					t.Errorf("only %d of %d pages were submitted", len(c.submitted), bare)
				}
			})
		})
	}
}

// TestWholeValues: where values are read, their pages are submitted, once that was
// learned.
func TestWholeValues(t *testing.T) {
	for way, scan := range scans {
		t.Run(way, func(t *testing.T) {
			c := newCache()
			rt := c.governed(t)
			defer rt.Close()
			view(t, longValues.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
				k := newTrack(t, h, tx.Bucket(bucketName), c)
				k.values = true
				whole, entered := 0, 0
				k.onEnter = func(i int) {
					if entered++; entered < 20 {
						return
					}
					l := k.tree.leaves[i]
					for p := l.id; p < l.id+l.overflow; p++ { // the last may be a control
						if !c.has(p) {
							return
						}
					}
					whole++
				}
				for key, v := scan.start(k.cursor); k.saw(key, v); key, v = scan.step(k.cursor) {
				}
				if later := entered - 19; whole < later*9/10 {
					t.Errorf("%d of %d leaves were there with their values", whole, later)
				}
			})
		})
	}
}

// TestSmallFanout: the window is larger than a branch's fan-out, and the tree
// deeper than usual.
func TestSmallFanout(t *testing.T) {
	view(t, longKeys.path(t), nil, func(_ *bbolthint.DB, tx *bolt.Tx) {
		_, tr := treeOf(t, tx.Bucket(bucketName))
		fanout := float64(len(tr.leaves)+len(tr.branches)-1) / float64(len(tr.branches))
		if fanout > 8 || tr.depth < 4 {
			t.Fatalf("fan-out %.1f, depth %d: not what the tests above need", fanout, tr.depth)
		}
	})
	// That such a tree is covered is shown by TestScanIsCovered. Here the branches.
	c := newCache()
	c.cold = true
	rt := c.governed(t)
	defer rt.Close()
	view(t, longKeys.path(t), rt, func(h *bbolthint.DB, tx *bolt.Tx) {
		b := tx.Bucket(bucketName)
		_, tr := treeOf(t, b)
		cursor := h.Cursor(b)
		for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		}
		missed := 0
		for id := range tr.branches {
			if !c.has(id) {
				missed++
			}
		}
		// The way down to the first leaf is demanded, and so are the branches of upper
		// levels: only those right above leaves are fetched ahead.
		upper := len(tr.branches) - len(maps.Collect(maps.All(lowest(tr, readImage(t, tx.DB().Path(), 4096)))))
		if missed > upper+tr.depth {
			t.Errorf("%d of %d branches were not submitted, %d are upper ones", missed, len(tr.branches), upper)
		}
	})
}

// lowest returns the branches right above leaves.
func lowest(tr *tree, im image) map[uint64]bool {
	m := map[uint64]bool{}
	for id := range tr.branches {
		if _, ok := tr.at[im.u64(id*im.pageSize+16+8)]; ok {
			m[id] = true
		}
	}
	return m
}

// sweepSpy counts how often the tree policy would have the whole file read, memory
// being plenty.
type sweepSpy struct {
	stream policy.Stream
	sweeps int
}

func (s *sweepSpy) Emit(e hints.Event) hints.Advice {
	b := policy.Batch{Limits: policy.Limits{Requests: 256, Bytes: 16 << 20, SweepBytes: 1 << 40}}
	s.stream.Handle(e, &b)
	if b.Sweep.File != nil {
		s.sweeps++
	}
	return hints.Advice{}
}

// TestHugeFirstValue: a huge value does not make a small bucket look like the whole
// file, wherever it lies.
func TestHugeFirstValue(t *testing.T) {
	path := tempPath(t, "db")
	const small, large, huge = 40, 2000, 300 << 10
	hugeAt := map[string]int{"first": 0, "middle": small / 2, "last": small - 1}
	create(t, path, 4096, func(tx *bolt.Tx) error {
		fill := func(name string, records, hugeAt int) error {
			b, err := tx.CreateBucket([]byte(name))
			for i := 0; i < records && err == nil; i++ {
				size := 1000
				if i == hugeAt {
					size = huge
				}
				err = b.Put(fmt.Appendf(nil, "%06d", i), make([]byte, size))
			}
			return err
		}
		for name, at := range hugeAt {
			if err := fill(name, small, at); err != nil {
				return err
			}
		}
		return fill("large", large, -1)
	})
	var size int64 // bbolt makes the file larger than it need be
	view(t, path, nil, func(_ *bbolthint.DB, tx *bolt.Tx) { size = tx.Size() })
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		bucket  string
		records int
		sweeps  bool
	}{
		{"first", small, false},
		{"middle", small, false},
		{"last", small, false},
		{"large", large, true},
	} {
		t.Run(tc.bucket, func(t *testing.T) {
			s := &sweepSpy{stream: treechildren.New().NewStream()}
			view(t, path, s, func(h *bbolthint.DB, tx *bolt.Tx) {
				items := 0
				h.ForEach(tx.Bucket([]byte(tc.bucket)), func(_, _ []byte) error { items++; return nil })
				if items != tc.records {
					t.Errorf("%d items, want %d", items, tc.records)
				}
			})
			if (s.sweeps > 0) != tc.sweeps {
				t.Errorf("%d sweeps of the whole file", s.sweeps)
			}
		})
	}
}

// TestDiscardCostsOneEvent: a sink that wants nothing is left alone.
func TestDiscardCostsOneEvent(t *testing.T) {
	s := &spy{to: hints.Discard}
	view(t, manyLeaves.path(t), s, func(h *bbolthint.DB, tx *bolt.Tx) {
		c := h.Cursor(tx.Bucket(bucketName))
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
		}
	})
	if s.enters != 1 {
		t.Errorf("%d events", s.enters)
	}
}
