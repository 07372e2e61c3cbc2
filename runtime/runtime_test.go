// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/neighbor"
	nopolicy "github.com/predictio/predictio/runtime/policy/noop"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

func TestNewRefuses(t *testing.T) {
	if _, err := New(Options{}); !errors.Is(err, ErrNoBackend) {
		t.Errorf("without a backend: %v", err)
	}
	many := slices.Repeat([]policy.Policy{nopolicy.Policy{}}, MaxPolicies+1)
	if _, err := New(Options{Backend: new(noop.Backend), Policies: many}); !errors.Is(err, ErrTooManyPolicies) {
		t.Errorf("with %d policies: %v", len(many), err)
	}
}

func TestDefaultsRun(t *testing.T) {
	r, err := New(Options{Backend: new(record.Backend), Policies: []policy.Policy{willneed.Policy{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Emit(need(1, pages(file(t, 4), 0, 1)))
	if c := one(t, r); r.Backend() != "record" || c.Events != 1 || c.Accepted+c.Dropped != 1 {
		t.Errorf("backend %s, %+v", r.Backend(), c)
	}
}

// unknown is an event of a kind that does not exist.
type unknown struct{}

func (unknown) Kind() hints.Kind { return hints.NumKinds }
func (unknown) StreamID() uint64 { return 1 }

func TestDispatchByKind(t *testing.T) {
	seen := make(map[string]int)
	watch := func(name string, kinds ...hints.Kind) policy.Policy {
		return &scripted{name: name, kinds: kinds, handle: func(hints.Event, *policy.Batch) hints.Advice {
			seen[name]++
			return hints.Advice{}
		}}
	}
	r, _, _ := open(t, policies(
		watch("needs", hints.KindWillNeed),
		watch("both", hints.KindWillNeed, hints.KindLayerStart),
		watch("wrong", hints.NumKinds, hints.NumKinds+1)))
	r.Emit(&hints.WillNeed{})
	r.Emit(&hints.LayerStart{})
	if a := r.Emit(&hints.ProcessExit{}); a != (hints.Advice{Skip: hints.Silent, Sticky: true}) {
		t.Errorf("an event that nobody wants: %+v, want silence", a)
	}
	if a := r.Emit(unknown{}); a.Skip != hints.Silent {
		t.Errorf("an event of no known kind: %+v, want silence", a)
	}
	if seen["needs"] != 1 || seen["both"] != 2 || seen["wrong"] != 0 {
		t.Errorf("events seen: %v", seen)
	}
}

// The eagerest policy decides when the next event comes.
func TestAdviceIsTheEagerest(t *testing.T) {
	say := func(a hints.Advice) policy.Policy {
		return &scripted{handle: func(hints.Event, *policy.Batch) hints.Advice { return a }}
	}
	for _, tc := range []struct{ a, b, want hints.Advice }{
		{hints.Advice{Skip: 5, Sticky: true}, hints.Advice{Skip: 9, Sticky: true}, hints.Advice{Skip: 5, Sticky: true}},
		{hints.Advice{Skip: 9, Sticky: true}, hints.Advice{Skip: 5}, hints.Advice{Skip: 5}},
		{hints.Advice{}, hints.Advice{Skip: hints.Silent, Sticky: true}, hints.Advice{}},
	} {
		r, _, _ := open(t, policies(say(tc.a), say(tc.b)))
		if got := r.Emit(need(1)); got != tc.want {
			t.Errorf("%+v and %+v give %+v, want %+v", tc.a, tc.b, got, tc.want)
		}
	}
}

// Settle hears what became of the batch, and its advice counts; a batch that asks
// for nothing is not settled.
func TestSettle(t *testing.T) {
	f := file(t, 10)
	var got []policy.Outcome
	p := &scripted{
		handle: func(e hints.Event, b *policy.Batch) hints.Advice {
			for _, x := range e.(*hints.WillNeed).Extents {
				b.Add(x)
			}
			return hints.Advice{Skip: 1}
		},
		settle: func(o *policy.Outcome) hints.Advice {
			got = append(got, *o)
			return hints.Advice{Skip: 2}
		},
	}
	b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
		return backend.Outcome{Accepted: len(reqs) - 1, Failed: 1, Resident: 1}
	}}
	r, _, _ := open(t, func(o *Options) { o.Policies, o.Backend = []policy.Policy{p}, b })
	if a := r.Emit(need(1)); a.Skip != 1 || len(got) != 0 {
		t.Errorf("nothing asked: advice %+v, settled %d times", a, len(got))
	}
	a := r.Emit(need(1, pages(f, 0, 1), pages(f, 2, 1), pages(f, 4, 1)))
	want := policy.Outcome{Requests: 3, Accepted: 2, Failed: 1, Resident: 1}
	if a.Skip != 2 || len(got) != 1 || got[0] != want {
		t.Errorf("advice %+v, settled with %+v, want %+v", a, got, want)
	}
	c := one(t, r)
	if c.Offered != 3 || c.Accepted != 2 || c.Failed != 1 || c.Resident != 1 || c.Bytes != uint64(2*policy.PageSize) {
		t.Errorf("%+v", c)
	}
}

func TestQuestionsAreAnswered(t *testing.T) {
	f := file(t, 10)
	for _, tc := range []struct {
		name          string
		cached        func(f *hints.File, off, n int64) (int64, bool)
		control, late policy.Answer
	}{
		{"nobody knows", nil, policy.NotKnown, policy.NotKnown},
		{"all there", func(_ *hints.File, _, n int64) (int64, bool) {
			return (n + policy.PageSize - 1) / policy.PageSize, true
		}, policy.Resident, policy.Resident},
		{"half there", func(*hints.File, int64, int64) (int64, bool) { return 1, true }, policy.Absent, policy.Resident},
		{"not there", func(*hints.File, int64, int64) (int64, bool) { return 0, true }, policy.Absent, policy.Absent},
		{"refused", func(*hints.File, int64, int64) (int64, bool) { return 2, false }, policy.NotKnown, policy.NotKnown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got policy.Outcome
			p := &scripted{
				handle: func(_ hints.Event, b *policy.Batch) hints.Advice {
					b.Control, b.Late = pages(f, 4, 2), pages(f, 1, 1)
					return hints.Advice{}
				},
				settle: func(o *policy.Outcome) hints.Advice { got = *o; return hints.Advice{} },
			}
			r, b, _ := open(t, policies(p))
			b.Cached = tc.cached
			r.Emit(need(1))
			if got.Control != tc.control {
				t.Errorf("control %v, want %v", got.Control, tc.control)
			}
			if c := one(t, r); (c.Late == 1) != (tc.late == policy.Absent) {
				t.Errorf("%d late", c.Late)
			}
		})
	}
}

// Whatever part of the requests a backend takes, the accounts add up.
func TestAccountsAddUp(t *testing.T) {
	f := file(t, 1<<14)
	rapid.Check(t, func(rt *rapid.T) {
		b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
			n := rapid.IntRange(0, len(reqs)).Draw(rt, "accepted")
			return backend.Outcome{
				Accepted: n,
				Failed:   rapid.IntRange(0, n).Draw(rt, "failed"),
				Resident: rapid.IntRange(backend.Unknown, n).Draw(rt, "resident"),
			}
		}}
		b.Cached = func(*hints.File, int64, int64) (int64, bool) {
			return int64(rapid.IntRange(0, 1).Draw(rt, "cached")), true
		}
		r, err := New(Options{
			Backend: b, Policies: []policy.Policy{willneed.Policy{}, treechildren.New(), neighbor.Policy{}},
			Clock: new(fakeClock).read, Memory: plenty,
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		tree := &testwalk.Tree{File: f, Leaves: 2000, Fanout: 100, Overflow: 1}
		walks := make([]testwalk.Walk, 4)
		for i := range walks {
			walks[i] = testwalk.Walk{Tree: tree, Stream: uint64(i + 1)}
			walks[i].Seek(i*300, hints.Forward, hints.FromSeek)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			w := &walks[rapid.IntRange(0, len(walks)-1).Draw(rt, "walk")]
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				w.Finish(r)
			case 1:
				r.Emit(need(9, pages(f, 0, 3), pages(f, rapid.IntRange(0, 1<<14).Draw(rt, "page"), 1)))
			default:
				w.Step(r)
			}
		}
		s := r.Stats()
		for name, c := range s.Policies {
			addsUp(rt, name, c)
		}
		if total := s.Total(); total.Accepted != uint64(b.Total()) {
			rt.Errorf("%d accepted by the accounts, %d by the backend", total.Accepted, b.Total())
		}
	})
}

func TestStatsOfPoliciesWithOneName(t *testing.T) {
	r, _, _ := open(t, policies(willneed.Policy{}, willneed.Policy{}))
	r.Emit(need(1, pages(file(t, 4), 0, 1)))
	if c := one(t, r); c.Events != 2 || c.Offered != 2 {
		t.Errorf("%+v, want both policies' sum", c)
	}
}

// A reader never sees a counter fall or an event twice, even while streams end.
func TestStatsWhileStreamsEnd(t *testing.T) {
	r, _, _ := open(t, policies(willneed.Policy{}))
	f := file(t, 4)
	const events = 20_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint64(events) {
			r.Emit(need(i%MaxStreams, pages(f, 0, 1)))
			r.Emit(&hints.StreamEnd{Stream: i % MaxStreams})
		}
	}()
	last := uint64(0)
	for running := true; running && !t.Failed(); {
		select {
		case <-done:
			running = false
		default:
		}
		total := r.Stats().Total()
		addsUp(t, "total", total)
		if total.Events < last || total.Events > events {
			t.Errorf("%d events after %d, of %d", total.Events, last, events)
		}
		last = total.Events
	}
	<-done
}

// On a slow machine every call looks as if it had to read. The last request of a batch,
// looked at right after, tells.
func TestSlowBatchIsVerified(t *testing.T) {
	for _, tc := range []struct {
		name     string
		pages    int64 // cached of the one that is looked at
		resident uint64
	}{{"it was there", 1, 3}, {"it is being read", 0, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			f := file(t, 10)
			r, b, _ := open(t, policies(willneed.Policy{}))
			b.Answer = cold
			b.Cached = func(_ *hints.File, off, _ int64) (int64, bool) {
				if off != 4*policy.PageSize {
					t.Errorf("the page at %d was looked at, not the last", off)
				}
				return tc.pages, true
			}
			r.Emit(need(1, pages(f, 0, 1), pages(f, 2, 1), pages(f, 4, 1)))
			if c := one(t, r); c.Accepted != 3 || c.Resident != tc.resident {
				t.Errorf("%+v", c)
			}
		})
	}
}
