// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
)

// TestWalks runs testdata/*: scripts of walks over a made-up tree. After a change
// of the governor's constants: go test -rewrite.
//
//	tree leaves=N [fanout=N] [overflow=N] [keys=N]     a new tree, cold, and a new policy
//	cache cold|warm|FROM-TO                            what is resident, in leaves
//	limits [requests=N] [pages=N] [sweep] [pressure] [deaf] [blind]
//	walk at=LEAF [back] [origin=ORIGIN] [end=LEAF] [new]
//	                                                   position it; new: another stream
//	step N [values]                                    enter N leaves and read their keys
//	end                                                the stream ends
//
// Each line of a step is an event: the leaf entered, what is asked for ("5-8" are
// heads of leaves, "5+2" two pages of leaf 5's rest, "b1" a branch, "@0+8" eight
// pages of the file), and what else it came to.
func TestWalks(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") {
			t.Skip()
		}
		var h *harness
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "tree":
				h = newHarness(scanTree(t, d))
				return fmt.Sprintf("%d pages\n", h.tree.Pages())
			case "cache":
				h.setCache(d.CmdArgs[0].Key)
				return ""
			case "limits":
				h.setLimits(t, d)
				return ""
			case "walk":
				h.position(t, d)
				return ""
			case "step":
				var n int
				fmt.Sscan(d.CmdArgs[0].Key, &n)
				h.values = d.HasArg("values")
				missed, entered := h.missed, 0
				for entered < n && h.step() {
					entered++
				}
				return fmt.Sprintf("%sentered %d, waited for %d\n", h.take(), entered, h.missed-missed)
			case "end":
				h.walk.Finish(h)
				return h.take()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func scanTree(t *testing.T, d *datadriven.TestData) *testwalk.Tree {
	tree := new(testwalk.Tree)
	d.ScanArgs(t, "leaves", &tree.Leaves)
	d.MaybeScanArgs(t, "fanout", &tree.Fanout)
	d.MaybeScanArgs(t, "overflow", &tree.Overflow)
	d.MaybeScanArgs(t, "keys", &tree.KeyPages)
	tree.File = testwalk.File(t, int64(tree.Pages())*policy.PageSize)
	return tree
}

// setCache takes cold, warm, or a range of leaves to add.
func (h *harness) setCache(what string) {
	from, to := 0, h.tree.Leaves-1
	switch what {
	case "cold":
		clear(h.cached)
		return
	case "warm":
		for i := range h.tree.Branches() {
			h.load(h.tree.Branch(i))
		}
	default:
		fmt.Sscanf(what, "%d-%d", &from, &to)
	}
	for leaf := from; leaf <= to; leaf++ {
		h.load(h.tree.Head(leaf))
		if x := h.tree.Rest(leaf, hints.PartAll); !x.Empty() {
			h.load(x)
		}
	}
}

func (h *harness) setLimits(t *testing.T, d *datadriven.TestData) {
	h.limits = newHarness(h.tree).limits
	d.MaybeScanArgs(t, "requests", &h.limits.Requests)
	if d.MaybeScanArgs(t, "pages", &h.limits.Bytes) {
		h.limits.Bytes *= policy.PageSize
	}
	if d.HasArg("sweep") {
		h.limits.SweepBytes = 1 << 40
	}
	h.limits.Pressure, h.deaf, h.blind = d.HasArg("pressure"), d.HasArg("deaf"), d.HasArg("blind")
}

var origins = map[string]hints.Origin{
	"": hints.FromSeek, "seek": hints.FromSeek, "end": hints.FromEnd, "again": hints.Again, "certain": hints.Certain,
}

func (h *harness) position(t *testing.T, d *datadriven.TestData) {
	if d.HasArg("new") {
		h.open()
	}
	var at int
	var origin string
	d.ScanArgs(t, "at", &at)
	d.MaybeScanArgs(t, "origin", &origin)
	dir := hints.Forward
	if d.HasArg("back") {
		dir = hints.Backward
	}
	h.walk.Seek(at, dir, origins[origin])
	h.walk.Known = d.MaybeScanArgs(t, "end", &h.walk.End)
}

// newTree gives a tree a file.
func newTree(t *testing.T, tree testwalk.Tree) *testwalk.Tree {
	tree.File = testwalk.File(t, int64(tree.Pages())*policy.PageSize)
	return &tree
}

// A head that has not arrived is not looked into: the walk would wait for it.
func TestHeadsAreLookedIntoOnceArrived(t *testing.T) {
	tree := newTree(t, testwalk.Tree{Leaves: 200, Overflow: 3, KeyPages: 1})
	all := func(a policy.Answer) func(hints.Extent) policy.Answer {
		return func(hints.Extent) policy.Answer { return a }
	}
	for _, tc := range []struct {
		name    string
		arrived func(hints.Extent) policy.Answer
		looks   bool
	}{
		{"nobody can be asked", nil, true},
		{"nobody knows", all(policy.NotKnown), true},
		{"arrived", all(policy.Resident), true},
		{"not arrived", all(policy.Absent), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHarness(tree)
			looked := 0
			h.watch = &watched{Walk: &h.walk, onRest: func(int) { looked++ }}
			h.arrived = tc.arrived
			h.walk.Seek(0, hints.Forward, hints.FromSeek)
			for range 50 {
				h.step()
			}
			if (looked > 0) != tc.looks {
				t.Errorf("looked into %d heads", looked)
			}
			if h.requests < 50 {
				t.Errorf("%d requests: heads are fetched in any case", h.requests)
			}
			h.arrived = all(policy.Resident)
			for looked = 0; h.step(); {
			}
			if looked == 0 {
				t.Error("no head was looked into although all have arrived now")
			}
		})
	}
}

// A backend that brings nothing is asked less and less, and again more once it works.
func TestUselessBackend(t *testing.T) {
	tree := newTree(t, testwalk.Tree{Leaves: 3000})
	for _, tc := range []struct {
		name   string
		answer func(o *policy.Outcome)
		silent bool
	}{
		{"all fail", func(o *policy.Outcome) { o.Failed, o.Resident = o.Accepted, -1 }, true},
		{"none is taken", func(o *policy.Outcome) { o.Accepted, o.Resident = 0, -1 }, true},
		{"half fail", func(o *policy.Outcome) { o.Failed, o.Resident = o.Accepted/2, -1 }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHarness(tree)
			h.answer = tc.answer
			var asked []int // leaves
			h.check = func(_ *hints.TreeChildEnter, b *policy.Batch) {
				if len(b.Extents) > 0 {
					asked = append(asked, h.walk.At)
				}
			}
			h.walk.Seek(0, hints.Forward, hints.FromSeek)
			for range 1000 {
				h.step()
			}
			if got := h.stream.(*stream).gov.Silent(); got != tc.silent {
				t.Fatalf("silent: %v", got)
			}
			if !tc.silent {
				return
			}
			for i := 2; i < len(asked); i++ {
				if asked[i]-asked[i-1] < asked[i-1]-asked[i-2] {
					t.Errorf("asked at leaves %v: not rarer and rarer", asked)
					break
				}
			}
			if len(asked) < 10 || h.requests > 50 || h.batch.HeldRequests > 0 {
				t.Errorf("asked at leaves %v, %d requests, %d held", asked, h.requests, h.batch.HeldRequests)
			}
			h.answer, h.requests = nil, 0
			clear(h.cached)
			for range 1000 {
				h.step()
			}
			if h.requests < 800 {
				t.Errorf("%d requests for 1000 leaves once it works", h.requests)
			}
		})
	}
}

// Of a child larger than the limit, a part is fetched, and those behind it follow.
func TestHugeChildren(t *testing.T) {
	const limit = 8 // pages
	for _, overflow := range []int{3, limit - 1, limit, 10 * limit} {
		t.Run(fmt.Sprint(overflow), func(t *testing.T) {
			tree := newTree(t, testwalk.Tree{Leaves: 100, Overflow: overflow})
			h := newHarness(tree)
			h.limits.Bytes = limit * policy.PageSize
			rests := make(map[int]bool) // leaves of which more than the head was fetched
			h.check = func(_ *hints.TreeChildEnter, b *policy.Batch) {
				if b.HeldBytes > b.Limits.Bytes {
					t.Errorf("holds %d bytes of %d", b.HeldBytes, b.Limits.Bytes)
				}
				for _, x := range b.Extents {
					if page := int(x.Off / policy.PageSize); page%tree.Stride() > 0 {
						rests[page/tree.Stride()] = true
					}
				}
			}
			h.values = true
			h.walk.Seek(0, hints.Forward, hints.FromSeek)
			for h.step() {
			}
			if len(rests) < tree.Leaves*3/4 {
				t.Errorf("of %d leaves out of %d something behind the head was fetched", len(rests), tree.Leaves)
			}
		})
	}
}

func TestClip(t *testing.T) {
	f := testwalk.File(t, policy.PageSize)
	list := func(lens ...int64) (out []hints.Extent) {
		for _, n := range lens {
			out = append(out, hints.Extent{File: f, Len: n})
		}
		return out
	}
	for _, tc := range []struct {
		from  int
		bytes int64
		want  []hints.Extent
	}{
		{0, 7, list(2, 3, 2)},
		{0, 6, list(2, 3, 1)},
		{0, 5, list(2, 3)},
		{0, 1, list(1)},
		{0, 0, nil},
		{1, 4, list(2, 3, 1)},
		{1, 3, list(2, 3)},
		{1, 0, list(2)},
		{3, 0, list(2, 3, 4)},
	} {
		if got := clip(list(2, 3, 4), tc.from, tc.bytes); !slices.Equal(got, tc.want) {
			t.Errorf("from %d, %d bytes: %v, want %v", tc.from, tc.bytes, got, tc.want)
		}
	}
}

// A walk keeps to what its file's device takes at once.
func TestDeviceDepthBoundsTheWindow(t *testing.T) {
	tree := newTree(t, testwalk.Tree{Leaves: 1000, Overflow: 1})
	for depth, want := range map[int]int{0: 256, 4: 4, 32: 32} {
		h := newHarness(tree)
		most := 0
		h.check = func(_ *hints.TreeChildEnter, b *policy.Batch) { most = max(most, b.HeldRequests) }
		h.values = true
		h.walk.Seek(0, hints.Forward, hints.FromSeek)
		h.step()
		h.stream.(*stream).depth = depth // it has asked the real file's device
		h.walk.Seek(0, hints.Forward, hints.FromSeek)
		for most = 0; h.step(); {
		}
		if most != want {
			t.Errorf("depth %d: %d requests held at most, want %d", depth, most, want)
		}
	}
}

func TestFixed(t *testing.T) {
	tree := newTree(t, testwalk.Tree{Leaves: 10})
	for _, tc := range []struct{ window, at, want int }{{4, 0, 4}, {4, 6, 2}, {4, 8, 0}, {0, 0, 1}, {-3, 0, 1}} {
		s := NewFixed(tc.window).NewStream()
		w := testwalk.Walk{Tree: tree}
		w.Seek(tc.at, hints.Forward, hints.FromSeek)
		var b policy.Batch
		w.Step(handle{s, &b})
		if len(b.Extents) != tc.want {
			t.Errorf("window %d at leaf %d: %d extents, want %d", tc.window, tc.at, len(b.Extents), tc.want)
		}
		for i, x := range b.Extents {
			if x != tree.Head(tc.at+2+i) {
				t.Errorf("window %d at leaf %d: extent %d is %s", tc.window, tc.at, i, tree.Name(x))
			}
		}
		if a := s.Settle(&policy.Outcome{}); a != (hints.Advice{}) || s.End() != 0 {
			t.Errorf("advice %+v: it wants every event, and keeps nothing", a)
		}
	}
}

// handle is a sink that gives events to a stream.
type handle struct {
	s policy.Stream
	b *policy.Batch
}

func (h handle) Emit(e hints.Event) hints.Advice { return h.s.Handle(e, h.b) }

// Events that say nothing ask for nothing.
func TestEmptyEvents(t *testing.T) {
	f := testwalk.File(t, policy.PageSize)
	x := hints.Extent{File: f, Len: policy.PageSize}
	for name, e := range map[string]hints.Event{
		"another kind": &hints.WillNeed{Extents: []hints.Extent{x}},
		"no children":  &hints.TreeChildEnter{Entered: x},
		"no file":      &hints.TreeChildEnter{Children: hints.ChildList{x}},
		"no more":      &hints.TreeChildEnter{Entered: x, Children: hints.ChildList{}, Start: true},
		"zero":         &hints.TreeChildEnter{},
	} {
		for _, p := range []*Policy{New(), NewFixed(8)} {
			var b policy.Batch
			b.Limits = policy.Limits{Requests: 256, Bytes: 1 << 20}
			if name == "no file" && p.window > 0 {
				continue // it looks at the children alone
			}
			p.NewStream().Handle(e, &b)
			if len(b.Extents) != 0 {
				t.Errorf("%s: %v", name, b.Extents)
			}
		}
	}
}

// A walk learns for those that come after it, in the same file only.
func TestPriorsAreOfOneFile(t *testing.T) {
	p := New()
	a := p.prior(1)
	a.Warm, a.Start, a.Part = true, 3, hints.PartAll
	p.learn(1, a)
	if got := p.prior(1); got != a {
		t.Errorf("%+v, want %+v", got, a)
	}
	if got := p.prior(2); got.Warm || got.Start != 0 || got.Part != hints.PartKeys {
		t.Errorf("another file's: %+v", got)
	}
}

// A walk that a sweep has made silent still tells the sweep how far it may go: else it
// would wait for the walk, and the walk run into what was not read.
func TestSilentWalkLeadsItsSweep(t *testing.T) {
	const filePages = 1 << 20
	f := testwalk.File(t, filePages)
	size := filePages * policy.PageSize
	s := New().NewStream()
	var b policy.Batch
	event := func(share int64, start bool) {
		b = policy.Batch{Limits: policy.Limits{Requests: 256, Bytes: 1 << 20, SweepBytes: size}}
		page := func(i int64) hints.Extent {
			return hints.Extent{File: f, Off: i * policy.PageSize, Len: policy.PageSize}
		}
		s.Handle(&hints.TreeChildEnter{
			Stream: 1, Parent: page(share), Fanout: 64, Dir: hints.Forward, Crossed: 1, Start: start,
			Origin: hints.Again, Visited: share * size / 100, TreeBytes: size, Entered: page(1),
			Children: hints.ChildList{page(2), page(3), page(4), page(5), page(6), page(7), page(8), page(9)},
		}, &b)
	}
	event(2, true)
	if b.Sweep.File == nil {
		t.Fatalf("no sweep: %+v", b)
	}
	s.Settle(&policy.Outcome{Requests: 8, Accepted: 8, Resident: 8, Sweeping: true})
	if !s.(*stream).gov.Silent() {
		t.Fatal("not silent although all was there")
	}
	event(10, false)
	if want := governor.SweepTo(hints.Again, size/10); b.SweepTo != want {
		t.Errorf("the sweep may go to %d, want %d", b.SweepTo, want)
	}
}
