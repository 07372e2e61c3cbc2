// SPDX-License-Identifier: Apache-2.0

// Package testwalk walks made-up trees for tests, as an adapter of an engine
// would: it emits events at crossings and obeys the sink's advice.
package testwalk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// File registers a new sparse file of so many bytes, closed when the test ends.
func File(t testing.TB, bytes int64) *hints.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, bytes); err != nil {
		t.Fatal(err)
	}
	f, err := hints.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// Tree is a tree of leaves under branches of equal fan-out. In the file, leaf i
// lies at page i*Stride(), its overflow behind its head, and a page of nothing
// behind that, so that no two leaves touch; the branches follow the leaves.
type Tree struct {
	File     *hints.File
	Leaves   int
	Fanout   int // leaves a branch; 0: one branch holds all
	Overflow int // pages of each leaf beyond its head
	KeyPages int // of those, from the front, the pages that hold keys
}

// Stride is how many pages lie between two leaves' heads.
func (t *Tree) Stride() int { return t.Overflow + 2 }

// Pages is the size of the file that the tree needs.
func (t *Tree) Pages() int { return t.Leaves*t.Stride() + 2*t.Branches() }

// Branches is how many branches are above the leaves.
func (t *Tree) Branches() int { return (t.Leaves + t.fanout() - 1) / t.fanout() }

func (t *Tree) fanout() int {
	if t.Fanout <= 0 {
		return max(1, t.Leaves)
	}
	return t.Fanout
}

// Head is the first page of a leaf, Rest its other pages, or those with keys.
func (t *Tree) Head(leaf int) hints.Extent { return t.pages(leaf*t.Stride(), 1) }

// Rest is what AppendRest gives for a leaf; empty if the head is all.
func (t *Tree) Rest(leaf int, part hints.Part) hints.Extent {
	n := t.Overflow
	if part == hints.PartKeys {
		n = t.KeyPages
	}
	return t.pages(leaf*t.Stride()+1, n)
}

// Branch is the page of a branch.
func (t *Tree) Branch(i int) hints.Extent { return t.pages(t.Leaves*t.Stride()+2*i, 1) }

func (t *Tree) pages(page, n int) hints.Extent {
	return hints.Extent{File: t.File, Off: int64(page) * policy.PageSize, Len: int64(n) * policy.PageSize}
}

// Name tells what an extent is, for golden files: "3" is leaf 3's head, "3+2" two
// pages of its rest, "b1" a branch, "@8+4" four pages of the file from page 8.
func (t *Tree) Name(x hints.Extent) string {
	page, n := int(x.Off/policy.PageSize), int(x.Len/policy.PageSize)
	leaf, in := page/t.Stride(), page%t.Stride()
	switch {
	case leaf >= t.Leaves && n == 1:
		return fmt.Sprintf("b%d", (page-t.Leaves*t.Stride())/2)
	case in == 0 && n == 1:
		return fmt.Sprint(leaf)
	case in == 1 && n <= t.Overflow:
		return fmt.Sprintf("%d+%d", leaf, n)
	}
	return fmt.Sprintf("@%d+%d", page, n)
}

// Walk is a cursor over a Tree. It is the Children, Rests and Parents of its own
// events.
type Walk struct {
	Tree   *Tree
	Stream uint64
	At     int // leaf; what Step enters is the next
	Dir    hints.Direction
	Origin hints.Origin
	End    int // leaf to stop before in Dir, if Known
	Known  bool

	fresh   bool
	skip    int
	sticky  bool
	crossed int
	visited int64
	event   hints.TreeChildEnter
}

// Seek positions the walk on a leaf, and emits nothing.
func (w *Walk) Seek(leaf int, dir hints.Direction, origin hints.Origin) {
	w.At, w.Dir, w.Origin, w.Known = leaf, dir, origin, false
	w.fresh, w.crossed, w.visited = true, 0, 0
	if !w.sticky {
		w.skip = 0
	}
}

// inside reports whether a leaf is one that the walk may come to.
func (w *Walk) inside(leaf int) bool {
	return leaf >= 0 && leaf < w.Tree.Leaves && !(w.Known && (leaf-w.End)*int(w.Dir) >= 0)
}

// Step enters the next leaf and emits, unless it was told to skip the event. It
// returns false, and does nothing, at the end.
func (w *Walk) Step(sink hints.Sink) bool {
	next := w.At + int(w.Dir)
	if !w.inside(next) {
		return false
	}
	left := w.At
	w.At = next
	w.crossed++
	w.visited += int64(w.Tree.Overflow+1) * policy.PageSize
	if w.skip > 0 {
		w.skip--
		return true
	}
	t := w.Tree
	branch := w.At / t.fanout()
	size := min(t.fanout(), t.Leaves-branch*t.fanout())
	index := w.At % t.fanout()
	if w.Dir == hints.Backward {
		index = size - 1 - index
	}
	w.event = hints.TreeChildEnter{
		Stream: w.Stream, Parent: t.Branch(branch), Index: index, Fanout: size,
		Dir: w.Dir, Origin: w.Origin, Start: w.fresh, KnownEnd: w.Known, Crossed: w.crossed,
		Visited: w.visited, TreeBytes: int64(t.Leaves*(t.Overflow+1)) * policy.PageSize,
		Entered: t.Head(w.At), Children: w,
	}
	if t.Overflow > 0 {
		w.event.LeftTail = t.pages(left*t.Stride()+t.Overflow, 1)
	}
	a := sink.Emit(&w.event)
	w.skip, w.sticky = a.Skip, a.Sticky
	w.crossed, w.fresh = 0, false
	return true
}

// Finish emits the end of the stream.
func (w *Walk) Finish(sink hints.Sink) {
	w.fresh = true
	sink.Emit(&hints.StreamEnd{Stream: w.Stream})
}

// Child returns the head of the i-th leaf to come.
func (w *Walk) Child(i int) (hints.Extent, bool) {
	leaf := w.At + (i+1)*int(w.Dir)
	if i < 0 || !w.inside(leaf) {
		return hints.Extent{}, false
	}
	return w.Tree.Head(leaf), true
}

// AppendRest appends the rest of the i-th leaf to come.
func (w *Walk) AppendRest(dst []hints.Extent, i int, part hints.Part) []hints.Extent {
	if x := w.Tree.Rest(w.At+(i+1)*int(w.Dir), part); !x.Empty() {
		dst = append(dst, x)
	}
	return dst
}

// NextParent returns the i-th branch to come.
func (w *Walk) NextParent(i int) (hints.Extent, bool) {
	fanout := w.Tree.fanout()
	b := w.At/fanout + (i+1)*int(w.Dir)
	first := b * fanout // leaf that the walk would come to first
	if w.Dir == hints.Backward {
		first += fanout - 1
	}
	if i < 0 || !w.inside(first) {
		return hints.Extent{}, false
	}
	return w.Tree.Branch(b), true
}
