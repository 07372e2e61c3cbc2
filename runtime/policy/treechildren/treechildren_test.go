// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
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

func TestFixed(t *testing.T) {
	tree := &testwalk.Tree{Leaves: 10}
	tree.File = testwalk.File(t, int64(tree.Pages())*policy.PageSize)
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
