// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeClock stands still until it is moved.
type fakeClock struct{ ns atomic.Int64 }

func (c *fakeClock) read() int64             { return c.ns.Load() }
func (c *fakeClock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// plenty is a machine that has memory for everything.
func plenty() (memory.State, error) { return memory.State{Available: 1 << 40, Limit: 1 << 41}, nil }

// open returns a Runtime over a recording backend, with a clock that stands still
// and no filter of recent requests; set changes its options.
func open(t testing.TB, set func(*Options)) (*Runtime, *record.Backend, *fakeClock) {
	t.Helper()
	b, c := &record.Backend{}, &fakeClock{}
	c.advance(time.Hour)
	o := Options{Backend: b, Recent: -1, Clock: c.read, Memory: plenty}
	if set != nil {
		set(&o)
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, b, c
}

// policies sets Options.Policies.
func policies(p ...policy.Policy) func(*Options) { return func(o *Options) { o.Policies = p } }

// scripted is a policy whose streams do what the test says.
type scripted struct {
	name   string // "": scripted
	kinds  []hints.Kind
	handle func(e hints.Event, b *policy.Batch) hints.Advice
	settle func(o *policy.Outcome) hints.Advice
	end    func() int
}

func (p *scripted) Name() string {
	if p.name == "" {
		return "scripted"
	}
	return p.name
}

func (p *scripted) Kinds() []hints.Kind {
	if p.kinds == nil {
		return []hints.Kind{hints.KindWillNeed}
	}
	return p.kinds
}

func (p *scripted) NewStream() policy.Stream { return scriptedStream{p} }

type scriptedStream struct{ p *scripted }

func (s scriptedStream) Handle(e hints.Event, b *policy.Batch) hints.Advice {
	if s.p.handle == nil {
		return hints.Advice{}
	}
	return s.p.handle(e, b)
}

func (s scriptedStream) Settle(o *policy.Outcome) hints.Advice {
	if s.p.settle == nil {
		return hints.Advice{}
	}
	return s.p.settle(o)
}

func (s scriptedStream) End() int {
	if s.p.end == nil {
		return 0
	}
	return s.p.end()
}

// file is a registered sparse file of so many pages.
func file(t testing.TB, pages int) *hints.File {
	return testwalk.File(t, int64(pages)*policy.PageSize)
}

// pages is an extent of n pages from the given one.
func pages(f *hints.File, from, n int) hints.Extent {
	return hints.Extent{File: f, Off: int64(from) * policy.PageSize, Len: int64(n) * policy.PageSize}
}

// need is a WillNeed of a stream.
func need(stream uint64, x ...hints.Extent) *hints.WillNeed {
	return &hints.WillNeed{Stream: stream, Extents: x}
}

// one is the only policy's counters; they always add up.
func one(t testing.TB, r *Runtime) Counters {
	t.Helper()
	s := r.Stats()
	if len(s.Policies) != 1 {
		t.Fatalf("%d policies, want one", len(s.Policies))
	}
	for name, c := range s.Policies {
		addsUp(t, name, c)
		return c
	}
	return Counters{}
}

func addsUp(t errorer, name string, c Counters) {
	t.Helper()
	if c.Accepted+c.Dropped != c.Offered {
		t.Errorf("%s: %d accepted + %d dropped != %d offered", name, c.Accepted, c.Dropped, c.Offered)
	}
	if c.Failed > c.Accepted || c.Resident > c.Accepted {
		t.Errorf("%s: %d failed, %d resident of %d accepted", name, c.Failed, c.Resident, c.Accepted)
	}
}

// errorer is a test, or one run of a property.
type errorer interface {
	Helper()
	Errorf(string, ...any)
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// cold is an answer that takes everything and knows it was not cached.
func cold(reqs []backend.Request) backend.Outcome { return backend.Outcome{Accepted: len(reqs)} }
