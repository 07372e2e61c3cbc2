// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"fmt"
	"strings"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

// harness plays the runtime, the page cache and the program for one stream. It is
// the sink of a walk.
type harness struct {
	tree   *testwalk.Tree
	policy *Policy
	stream policy.Stream
	walk   testwalk.Walk
	limits policy.Limits
	values bool // the program reads all of a leaf, not only its keys
	deaf   bool // questions are not answered
	blind  bool // the backend can't tell what was resident
	sweeps bool // a full sweep is under way

	cached map[int64]bool // by page
	batch  policy.Batch

	// Sums over the walk's life.
	events, requests, useful, wasted, missed int

	check   func(e *hints.TreeChildEnter, b *policy.Batch) // of each batch, before it is executed
	arrived func(hints.Extent) policy.Answer               // nil: nobody can be asked
	answer  func(o *policy.Outcome)                        // if not nil, has the last word
	watch   *watched                                       // if not nil, the events' children
	log     strings.Builder
}

func newHarness(t *testwalk.Tree) *harness {
	h := &harness{tree: t, policy: New(), cached: make(map[int64]bool)}
	h.limits = policy.Limits{Requests: 256, Bytes: 16 << 20}
	h.open()
	return h
}

// open starts a stream anew: what was learned of the file stays.
func (h *harness) open() {
	h.stream = h.policy.NewStream()
	h.walk = testwalk.Walk{Tree: h.tree, Stream: 1}
}

// pages calls fn for each page of an extent.
func pages(x hints.Extent, fn func(page int64)) {
	for p := x.Off / policy.PageSize; p*policy.PageSize < x.End(); p++ {
		fn(p)
	}
}

// resident reports whether all of an extent is cached.
func (h *harness) resident(x hints.Extent) bool {
	all := true
	pages(x, func(p int64) { all = all && h.cached[p] })
	return all
}

func (h *harness) load(x hints.Extent) { pages(x, func(p int64) { h.cached[p] = true }) }

// step enters the next leaf and reads it.
func (h *harness) step() bool {
	if !h.walk.Step(h) {
		return false
	}
	part := hints.PartKeys
	if h.values {
		part = hints.PartAll
	}
	for _, x := range []hints.Extent{h.tree.Head(h.walk.At), h.tree.Rest(h.walk.At, part)} {
		if x.Empty() {
			continue
		}
		if !h.resident(x) {
			h.missed++
		}
		h.load(x)
	}
	return true
}

func (h *harness) Emit(e hints.Event) hints.Advice {
	t, ok := e.(*hints.TreeChildEnter)
	if !ok {
		wasted := h.stream.End()
		h.wasted += wasted
		fmt.Fprintf(&h.log, "end: wasted %d\n", wasted)
		return hints.Advice{}
	}
	h.events++
	b := &h.batch
	*b = policy.Batch{Limits: h.limits, Extents: b.Extents[:0], Arrived: h.arrived}
	if h.watch != nil {
		t.Children = h.watch
	}
	advice := h.stream.Handle(e, b)
	h.useful += b.Useful
	h.wasted += b.Wasted
	if h.check != nil {
		h.check(t, b)
	}
	if b.Wants() {
		o := h.execute(b)
		advice = h.stream.Settle(&o)
	}
	h.print(t, b, advice)
	return advice
}

func (h *harness) execute(b *policy.Batch) policy.Outcome {
	o := policy.Outcome{Requests: len(b.Extents), Accepted: len(b.Extents)}
	if b.Control.File != nil && !h.deaf {
		o.Control = policy.Absent
		if h.resident(b.Control) {
			o.Control = policy.Resident
		}
	}
	for _, x := range b.Extents {
		if h.resident(x) {
			o.Resident++
		}
		h.load(x)
	}
	if h.blind {
		o.Resident = -1
	}
	h.requests += len(b.Extents)
	h.sweeps = !b.StopSweep && (h.sweeps || b.Sweep.File != nil)
	o.Sweeping = h.sweeps
	if h.answer != nil {
		h.answer(&o)
	}
	return o
}

// watched are a walk's children, and tell the test what is asked of them.
type watched struct {
	*testwalk.Walk
	onChild, onRest func(i int)
}

func (w *watched) Child(i int) (hints.Extent, bool) {
	if w.onChild != nil {
		w.onChild(i)
	}
	return w.Walk.Child(i)
}

func (w *watched) AppendRest(dst []hints.Extent, i int, part hints.Part) []hints.Extent {
	if w.onRest != nil {
		w.onRest(i)
	}
	return w.Walk.AppendRest(dst, i, part)
}

// print logs a line for an event: the leaf, what was asked for, and what else the
// event came to.
func (h *harness) print(e *hints.TreeChildEnter, b *policy.Batch, a hints.Advice) {
	w := &h.log
	fmt.Fprintf(w, "%d: %s", h.walk.At, h.names(b.Extents))
	for _, n := range []struct {
		name string
		n    int
	}{{"useful", b.Useful}, {"wasted", b.Wasted}, {"held", b.HeldRequests}, {"skip", a.Skip}} {
		if n.n != 0 {
			fmt.Fprintf(w, " %s=%d", n.name, n.n)
		}
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"sticky", a.Sticky}, {"control", b.Control.File != nil},
		{"sweep", b.Sweep.File != nil}, {"stop-sweep", b.StopSweep},
	} {
		if f.set {
			fmt.Fprintf(w, " %s", f.name)
		}
	}
	w.WriteByte('\n')
}

// names lists extents, runs of leaves' heads as "3-7".
func (h *harness) names(xs []hints.Extent) string {
	var out []string
	for i := 0; i < len(xs); {
		first, from := h.tree.Name(xs[i]), i
		last := first
		dir := 0
		for i++; i < len(xs); i++ {
			next := h.tree.Name(xs[i])
			d := follows(last, next)
			if d == 0 || dir != 0 && d != dir {
				break
			}
			dir, last = d, next
		}
		switch {
		case i-from > 2:
			out = append(out, first+"-"+last)
		case i-from == 2:
			out = append(out, first, last)
		default:
			out = append(out, first)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}

// follows reports whether b is the leaf after a (1), before it (-1), or neither.
func follows(a, b string) int {
	var m, n int
	if strings.ContainsAny(a+b, "b+@") {
		return 0
	}
	fmt.Sscan(a, &m)
	fmt.Sscan(b, &n)
	if d := n - m; d == 1 || d == -1 {
		return d
	}
	return 0
}

// take returns the log and empties it.
func (h *harness) take() string {
	s := h.log.String()
	h.log.Reset()
	return s
}
