// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/neighbor"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// Whatever many walks do, no more is in flight than was allowed.
func TestInFlightIsBounded(t *testing.T) {
	f := file(t, 1<<16)
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{
			Backend:       &record.Backend{Answer: cold},
			Policies:      []policy.Policy{treechildren.New()},
			InFlight:      rapid.IntRange(1, MaxInFlight).Draw(rt, "in flight"),
			InFlightBytes: rapid.Int64Range(policy.PageSize, 4<<20).Draw(rt, "bytes"),
			Clock:         new(fakeClock).read, // nothing is ever stale
			Memory:        plenty,
		}
		r, err := New(o)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		overflow := rapid.IntRange(0, 20).Draw(rt, "overflow")
		tree := &testwalk.Tree{
			File: f, Leaves: 2000, Fanout: rapid.IntRange(2, 200).Draw(rt, "fanout"),
			Overflow: overflow, KeyPages: rapid.IntRange(0, overflow).Draw(rt, "keys"),
		}
		walks := make([]testwalk.Walk, rapid.IntRange(1, 8).Draw(rt, "walks"))
		for i := range walks {
			walks[i] = testwalk.Walk{Tree: tree, Stream: uint64(i + 1)}
			walks[i].Seek(i*100, hints.Forward, hints.FromSeek)
		}
		for range 100 {
			w := &walks[rapid.IntRange(0, len(walks)-1).Draw(rt, "walk")]
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				w.Step(r)
				if n := r.budget.requests.Load(); n < 0 || n > int64(o.InFlight) {
					rt.Fatalf("%d requests in flight, at most %d are allowed", n, o.InFlight)
				}
				if n := r.budget.bytes.Load(); n < 0 || n > o.InFlightBytes {
					rt.Fatalf("%d bytes in flight, at most %d are allowed", n, o.InFlightBytes)
				}
			}
		}
		for i := range walks {
			walks[i].Finish(r)
		}
		if s := r.Stats(); s.InFlight != 0 || s.InFlightBytes != 0 {
			rt.Fatalf("%d requests, %d bytes in flight after the end", s.InFlight, s.InFlightBytes)
		}
	})
}

func TestStaleStreamsGiveBack(t *testing.T) {
	tr := tree(t, 20_000)
	const inFlight = 32
	r, b, c := open(t, func(o *Options) {
		policies(treechildren.New())(o)
		o.InFlight = inFlight
	})
	b.Answer = cold
	walkSteps(r, tr, 1, 200)
	if got := r.Stats().InFlight; got < inFlight/2 {
		t.Fatalf("%d in flight of one walk, want it to use its %d", got, inFlight)
	}
	walkSteps(r, tr, 2, 1)
	crowded := r.Stats().InFlight
	if crowded > inFlight {
		t.Errorf("%d in flight", crowded)
	}

	c.advance(2 * time.Duration(staleAfter)) // the first walk was abandoned
	w := walkSteps(r, tr, 3, 200)
	if got := r.slots[1].Load().heldRequests; got != 0 {
		t.Errorf("the abandoned walk still holds %d", got)
	}
	if got := r.Stats().InFlight; got > inFlight || got < inFlight/2 {
		t.Errorf("%d in flight of the walk that lives", got)
	}
	w.Finish(r)
}

// Short scans that end without a word, each in a stream of its own, get what the first
// got: what those before them hold is taken back in time.
func TestShortScansStarveNobody(t *testing.T) {
	tr := tree(t, 1000)
	for _, gap := range []time.Duration{5 * time.Millisecond, 15 * time.Millisecond} {
		t.Run(gap.String(), func(t *testing.T) {
			r, b, c := open(t, policies(treechildren.New()))
			b.Answer = cold
			first := 0
			for id := range uint64(100) {
				b.Reset()
				walkSteps(r, tr, id+1, 8)
				if first == 0 {
					first = b.Total()
				}
				if got := b.Total(); got != first || first == 0 {
					t.Fatalf("%d requests for scan %d, %d for the first; %d are in flight", got, id, first, r.Stats().InFlight)
				}
				c.advance(gap)
			}
		})
	}
}

// After a pause nothing that was held before counts, for a slot that is reused neither.
func TestReusedSlotReadsTheClock(t *testing.T) {
	tr := tree(t, 1000)
	const inFlight = 32
	r, b, c := open(t, func(o *Options) {
		policies(treechildren.New())(o)
		o.InFlight = inFlight
	})
	b.Answer = cold
	walkSteps(r, tr, 1, 1).Finish(r)
	walkSteps(r, tr, 2, 200) // takes all, and is abandoned
	if got := r.Stats().InFlight; got < inFlight*3/4 {
		t.Fatalf("%d in flight", got)
	}
	c.advance(time.Minute)
	b.Reset()
	walkSteps(r, tr, 1+MaxStreams, 1)
	if held := r.slots[2].Load().heldRequests; held != 0 || b.Total() == 0 {
		t.Errorf("%d requests; the abandoned walk still holds %d", b.Total(), held)
	}
}

// What a stream holds is the sum of what its policies hold.
func TestHeldIsSummedOverPolicies(t *testing.T) {
	var holds [2]held
	holder := func(i int, kinds ...hints.Kind) *scripted {
		return &scripted{kinds: kinds, handle: func(_ hints.Event, b *policy.Batch) hints.Advice {
			b.HeldRequests, b.HeldBytes = holds[i].requests, holds[i].bytes
			return hints.Advice{}
		}}
	}
	r, _, _ := open(t, policies(holder(0, hints.KindWillNeed), holder(1, hints.KindWillNeed, hints.KindLayerStart)))
	both, second := need(1), &hints.LayerStart{Stream: 1}
	for _, tc := range []struct {
		name  string
		e     hints.Event
		holds [2]held
		want  held
	}{
		{"both", both, [2]held{{3, 30}, {5, 50}}, held{8, 80}},
		{"more and less", both, [2]held{{4, 40}, {1, 10}}, held{5, 50}},
		{"the second alone", second, [2]held{{9, 90}, {6, 60}}, held{10, 100}},
		{"the first no more", both, [2]held{{}, {6, 60}}, held{6, 60}},
		{"the first again", both, [2]held{{2, 20}, {6, 60}}, held{8, 80}},
		{"the end", &hints.StreamEnd{Stream: 1}, [2]held{}, held{}},
	} {
		holds = tc.holds
		r.Emit(tc.e)
		if s := r.Stats(); (held{s.InFlight, s.InFlightBytes}) != tc.want {
			t.Errorf("%s: %d requests, %d bytes in flight, want %+v", tc.name, s.InFlight, s.InFlightBytes, tc.want)
		}
	}
}

// memoryOf is a Memory that can be changed.
func memoryOf(s *atomic.Pointer[memory.State]) func() (memory.State, error) {
	return func() (memory.State, error) { return *s.Load(), nil }
}

func TestNothingIsFetchedUnderPressure(t *testing.T) {
	tr := tree(t, 1000)
	var s atomic.Pointer[memory.State]
	s.Store(&memory.State{Limit: 1 << 40})
	r, b, c := open(t, func(o *Options) {
		policies(treechildren.New(), willneed.Policy{}, neighbor.Policy{})(o)
		o.Memory = memoryOf(&s)
	})
	b.Answer = cold
	walkSteps(r, tr, 1, 300)
	r.Emit(need(2, pages(tr.File, 0, 10)))
	if b.Total() != 0 {
		t.Errorf("%d requests although memory is short", b.Total())
	}

	s.Store(&memory.State{Available: 1 << 40, Limit: 1 << 41})
	c.advance(2 * time.Duration(memoryAge))
	eventually(t, "memory is looked at again", func() bool {
		walkSteps(r, tr, 3, 300)
		return b.Total() > 0
	})
}

func TestUnknownMemoryIsNoPressure(t *testing.T) {
	var limits policy.Limits
	r, _, _ := open(t, func(o *Options) {
		o.Memory = func() (memory.State, error) { return memory.State{Limit: 1 << 40}, errors.New("no /proc") }
		o.Policies = []policy.Policy{&scripted{handle: func(_ hints.Event, b *policy.Batch) hints.Advice {
			limits = b.Limits
			return hints.Advice{}
		}}}
	})
	r.Emit(need(1))
	want := policy.Limits{Requests: MaxInFlight, Bytes: DefaultInFlightBytes}
	if limits != want {
		t.Errorf("%+v, want %+v: no pressure, and no room for a sweep", limits, want)
	}
}

// A sweep of a whole file starts only if the file fits into the memory budget.
func TestSweepNeedsMemory(t *testing.T) {
	tr := &testwalk.Tree{Leaves: 1000, Fanout: 100, Overflow: 2}
	tr.File = file(t, tr.Pages())
	size := tr.File.Size()
	for _, tc := range []struct {
		name      string
		available int64
		want      bool
	}{
		{"twice the file and more", 2*size + 2, true},
		{"less than twice the file", 2*size - 2, false},
		{"nothing known", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _, _ := open(t, func(o *Options) {
				policies(treechildren.New())(o)
				o.Memory = func() (memory.State, error) { return memory.State{Available: tc.available}, nil }
			})
			w := testwalk.Walk{Tree: tr, Stream: 1}
			w.Seek(0, hints.Forward, hints.Certain)
			for range 150 { // into the second branch
				w.Step(r)
			}
			if tc.want {
				eventually(t, "the sweep ends", func() bool { return r.Stats().Sweep.Bytes == uint64(size) })
			}
			r.Close()
			if got := r.Stats().Sweep.Bytes > 0; got != tc.want {
				t.Errorf("swept: %v, want %v", got, tc.want)
			}
		})
	}
}
