// SPDX-License-Identifier: Apache-2.0

//go:build !race

package runtime

import (
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend"
	bnoop "github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/policy/neighbor"
	"github.com/predictio/predictio/runtime/policy/noop"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// eager takes the sink's advice away, so that every step is an event.
type eager struct{ hints.Sink }

func (e eager) Emit(event hints.Event) hints.Advice {
	e.Sink.Emit(event)
	return hints.Advice{}
}

func TestEmitDoesNotAllocate(t *testing.T) {
	tr := &testwalk.Tree{Leaves: 1 << 20, Fanout: 100, Overflow: 2, KeyPages: 1}
	tr.File = file(t, tr.Pages())
	warm := func(reqs []backend.Request) backend.Outcome {
		return backend.Outcome{Accepted: len(reqs), Resident: len(reqs)}
	}
	walk := func(r *Runtime) func() {
		w := &testwalk.Walk{Tree: tr, Stream: 1}
		w.Seek(0, hints.Forward, hints.FromSeek)
		var sink hints.Sink = eager{r}
		return func() { w.Step(sink) }
	}
	needs := need(1, pages(tr.File, 0, 1), pages(tr.File, 5, 1))
	for _, tc := range []struct {
		name    string
		set     func(*Options)
		answer  func([]backend.Request) backend.Outcome
		operate func(r *Runtime) func()
	}{
		{"no policy wants it", policies(willneed.Policy{}), nil, walk},
		{"no request", policies(noop.Policy{}), nil, walk},
		{"silent walk", policies(treechildren.New()), warm, walk},
		{"active walk", policies(treechildren.New()), cold, walk},
		{"plain walk", policies(treechildren.NewFixed(16)), cold, walk},
		{"neighbours", policies(neighbor.Policy{}), cold, walk},
		{"plain extents", policies(willneed.Policy{}), cold, func(r *Runtime) func() {
			return func() { r.Emit(needs) }
		}},
		{"end of a stream", policies(noop.Policy{}), nil, func(r *Runtime) func() {
			end := &hints.StreamEnd{Stream: 1}
			return func() { r.Emit(needs); r.Emit(end) }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _, _ := open(t, func(o *Options) {
				tc.set(o)
				o.Backend = answering{new(bnoop.Backend), tc.answer}
			})
			step := tc.operate(r)
			for range 3000 { // until all buffers have their size
				step()
			}
			if n := testing.AllocsPerRun(1000, step); n != 0 {
				t.Errorf("%v allocations an event", n)
			}
		})
	}
}

// answering keeps nothing, unlike the recording backend.
type answering struct {
	*bnoop.Backend
	answer func([]backend.Request) backend.Outcome
}

func (a answering) Submit(reqs []backend.Request) backend.Outcome {
	if a.answer == nil {
		return a.Backend.Submit(reqs)
	}
	return a.answer(reqs)
}
