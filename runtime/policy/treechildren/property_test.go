// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
)

// bounded checks what holds of every batch: it stays within the limits and the
// frontier's bounds, and asks only for what the walk may come to.
func (h *harness) bounded(t *rapid.T) func(*hints.TreeChildEnter, *policy.Batch) {
	return func(e *hints.TreeChildEnter, b *policy.Batch) {
		f := &h.stream.(*stream).front
		switch {
		case f.staged < 0 || f.staged > f.ahead || f.ahead > governor.MaxWindow:
			t.Fatalf("staged %d, ahead %d", f.staged, f.ahead)
		case f.extents != b.HeldRequests || f.bytes != b.HeldBytes:
			t.Fatalf("holds %d requests, %d bytes of %d, %d", b.HeldRequests, b.HeldBytes, f.extents, f.bytes)
		case b.HeldRequests > b.Limits.Requests:
			t.Fatalf("holds %d requests of %d", b.HeldRequests, b.Limits.Requests)
		case b.HeldBytes > b.Limits.Bytes:
			t.Fatalf("holds %d bytes of %d", b.HeldBytes, b.Limits.Bytes)
		case len(b.Extents) > policy.MaxExtents:
			t.Fatalf("%d extents", len(b.Extents))
		case b.Limits.Pressure && len(b.Extents) > 0:
			t.Fatalf("%d extents although memory is short", len(b.Extents))
		}
		var extents int
		var bytes int64
		for i := range f.ahead {
			extents += int(f.at(i).extents)
			bytes += f.at(i).bytes
		}
		if extents != f.extents || bytes != f.bytes {
			t.Fatalf("the frontier has %d extents, %d bytes; it says %d, %d", extents, bytes, f.extents, f.bytes)
		}
		given := h.given()
		for _, x := range b.Extents {
			if end, ok := given[x.Off]; !ok || x.End() > end {
				t.Fatalf("leaf %d: %s was never offered", h.walk.At, h.tree.Name(x))
			}
		}
	}
}

// given are the ends, by offset, of what the walk may come to within a window.
func (h *harness) given() map[int64]int64 {
	ends := make(map[int64]int64)
	for i := range governor.MaxWindow {
		x, ok := h.walk.Child(i)
		if !ok {
			break
		}
		ends[x.Off] = x.End()
		for _, x := range h.walk.AppendRest(nil, i, hints.PartAll) {
			ends[x.Off] = x.End()
		}
	}
	for i := 0; ; i++ {
		x, ok := h.walk.NextParent(i)
		if !ok {
			return ends
		}
		ends[x.Off] = x.End()
	}
}

// drawTree draws a tree; its file is shared by all.
func drawTree(t *rapid.T, file *hints.File) *testwalk.Tree {
	overflow := rapid.IntRange(0, 8).Draw(t, "overflow")
	return &testwalk.Tree{
		File:     file,
		Leaves:   rapid.IntRange(1, 600).Draw(t, "leaves"),
		Fanout:   rapid.IntRange(1, 200).Draw(t, "fanout"),
		Overflow: overflow,
		KeyPages: rapid.IntRange(0, overflow).Draw(t, "keys"),
	}
}

func drawLeaf(t *rapid.T, h *harness) int {
	return rapid.IntRange(0, h.tree.Leaves-1).Draw(t, "leaf")
}

// seek positions the walk somewhere.
func (h *harness) seek(t *rapid.T) {
	dir := rapid.SampledFrom([]hints.Direction{hints.Forward, hints.Backward}).Draw(t, "dir")
	h.walk.Seek(drawLeaf(t, h), dir, hints.FromSeek)
	if h.walk.Known = rapid.Bool().Draw(t, "known end"); h.walk.Known {
		h.walk.End = drawLeaf(t, h)
	}
}

func TestAnyScript(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(drawTree(t, file))
		h.check = h.bounded(t)
		h.seek(t)
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				h.seek(t)
			case 1:
				h.walk.Finish(h)
			case 2:
				h.setCache(rapid.SampledFrom([]string{"cold", "warm"}).Draw(t, "cache"))
			case 3:
				h.deaf, h.blind = rapid.Bool().Draw(t, "deaf"), rapid.Bool().Draw(t, "blind")
			case 4:
				// Others leave more or less room, but never take what is held.
				h.limits.Requests = max(h.batch.HeldRequests, rapid.IntRange(0, 256).Draw(t, "requests"))
				h.limits.Bytes = max(h.batch.HeldBytes, rapid.Int64Range(0, 1<<21).Draw(t, "bytes"))
				h.limits.Pressure = rapid.IntRange(0, 3).Draw(t, "pressure") == 0
			default:
				h.values = rapid.Bool().Draw(t, "values")
				for range rapid.IntRange(1, 100).Draw(t, "steps") {
					h.step()
				}
			}
		}
	})
}

// No child is named by a parent that was not requested by an earlier event. Where the
// end is known, an event may wait for one parent: that will be read for certain.
func TestNoParentIsWaitedFor(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(drawTree(t, file))
		h.values = rapid.Bool().Draw(t, "values")
		requested := make(map[int]bool) // branches
		waited := -1                    // the branch that this event waits for
		h.watch = &watched{Walk: &h.walk, onChild: func(i int) {
			leaf := h.walk.At + (i+1)*int(h.walk.Dir)
			if leaf < 0 || leaf >= h.tree.Leaves {
				return
			}
			at, branch := h.walk.At/h.tree.Fanout, leaf/h.tree.Fanout
			if branch == at || branch == waited || requested[branch] {
				return
			}
			if !h.walk.Known || waited >= 0 {
				t.Fatalf("at leaf %d, leaf %d was looked up, branch %d not having been requested", h.walk.At, leaf, branch)
			}
			waited = branch
		}}
		h.check = func(_ *hints.TreeChildEnter, b *policy.Batch) {
			requested[waited], waited = true, -1
			for i := range h.tree.Branches() {
				requested[i] = requested[i] || slices.Contains(b.Extents, h.tree.Branch(i))
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "walks") {
			h.seek(t)
			for range rapid.IntRange(1, 400).Draw(t, "steps") {
				h.step()
			}
		}
	})
}

// Of a walk that is given up, no more than one window was for nothing.
func TestAbandonedWalkWastesAWindow(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, file)
		tree.Overflow, tree.KeyPages = 0, 0
		h := newHarness(tree)
		for range rapid.IntRange(1, 5).Draw(t, "walks") {
			h.walk.Seek(drawLeaf(t, h), hints.Forward, hints.FromSeek)
			for range rapid.IntRange(0, 300).Draw(t, "steps") {
				h.step()
			}
			window := h.stream.(*stream).gov.Window()
			before := h.wasted
			h.walk.Finish(h)
			if got := h.wasted - before; got > window {
				t.Fatalf("%d wasted of a window of %d", got, window)
			}
		}
	})
}

// A walk that reads on to the end of its tree wastes nothing, and asks for nothing
// twice but the branches.
func TestFullScanWastesNothing(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(drawTree(t, file))
		h.values = rapid.Bool().Draw(t, "values")
		h.walk.Seek(0, hints.Forward, hints.FromEnd)
		seen := make(map[int64]bool)
		h.check = func(_ *hints.TreeChildEnter, b *policy.Batch) {
			for _, x := range b.Extents {
				if seen[x.Off] && x.Off < h.tree.Branch(0).Off && !h.stream.(*stream).gov.Silent() {
					t.Fatalf("%s was asked for twice", h.tree.Name(x))
				}
				seen[x.Off] = true
			}
		}
		for h.step() {
		}
		h.walk.Finish(h)
		if h.wasted != 0 {
			t.Fatalf("%d wasted", h.wasted)
		}
	})
}

// Over cached pages, a walk asks for few, and ever fewer; one that then meets what
// is not cached wakes up.
func TestWarmWalkIsSilent(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		tree := &testwalk.Tree{
			File: file, Leaves: 2500, Fanout: rapid.IntRange(100, 400).Draw(t, "fanout"),
		}
		h := newHarness(tree)
		warm := rapid.IntRange(500, 1000).Draw(t, "warm leaves")
		h.setCache("warm")
		for leaf := warm; leaf < tree.Leaves; leaf++ {
			pages(tree.Head(leaf), func(p int64) { delete(h.cached, p) })
		}
		h.walk.Seek(0, hints.Forward, hints.FromSeek)
		for range warm - 200 {
			h.step()
		}
		// A start, a doubling to one probe in 64 leaves, and one more a branch where
		// a probe found no room before its end.
		most := governor.MaxWindow/4 + (warm/64)*2
		if h.requests > most {
			t.Fatalf("%d requests over %d cached leaves, want at most %d", h.requests, warm, most)
		}
		h.requests, h.missed = 0, 0
		for range 1000 {
			h.step()
		}
		if h.requests < 500 || h.missed > 200 {
			t.Fatalf("woke up late: %d requests, waited %d times in 800 cold leaves", h.requests, h.missed)
		}
	})
}

// After End, a stream is as new: the same walk gives the same requests.
func TestEndForgets(t *testing.T) {
	file := testwalk.File(t, 10_000*policy.PageSize)
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, file)
		run := func(h *harness, leaf int) string {
			clear(h.cached)
			h.policy.priors[file.ID()%priorSlots].Store(0) // what the file has taught is another matter
			h.take()
			h.walk = testwalk.Walk{Tree: tree, Stream: 1}
			h.walk.Seek(leaf, hints.Forward, hints.FromSeek)
			for range 30 {
				h.step()
			}
			return h.take()
		}
		used, fresh := newHarness(tree), newHarness(tree)
		used.deaf = rapid.Bool().Draw(t, "deaf")
		used.seek(t)
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			used.step()
		}
		used.walk.Finish(used)
		used.deaf = false
		leaf := drawLeaf(t, used)
		if got, want := run(used, leaf), run(fresh, leaf); got != want {
			t.Fatalf("a used stream:\n%s\na new one:\n%s", got, want)
		}
	})
}
