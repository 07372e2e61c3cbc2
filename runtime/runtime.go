// SPDX-License-Identifier: Apache-2.0

// Package runtime connects events to requests: it dispatches each event to the
// policies that want it, turns the extents they ask for into bounded page
// ranges, hands those to a backend within its budgets, and keeps account.
//
// Everything on the way runs on the emitter's goroutine, from the event to the
// backend's system call: a goroutine that should run ahead of a program waiting
// in a page fault does not get to run. Only large requests and sweeps go to a
// few workers.
package runtime

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// MaxPolicies bounds the policies of one runtime.
	MaxPolicies = 16
	// MaxStreams bounds the streams whose state is kept, a power of two. A stream
	// takes the place of the one MaxStreams ids before it.
	MaxStreams = 512
	// MaxInFlight bounds Options.InFlight: past about 340 outstanding requests a
	// device's queue (256 and the driver's ring) makes submitters wait.
	MaxInFlight = 256
	// DefaultInFlightBytes is Options.InFlightBytes' default.
	DefaultInFlightBytes = 16 << 20
	// DefaultRecent is Options.Recent's default.
	DefaultRecent = 100 * time.Millisecond

	contendedSkip = 8 // children to pass when a stream is busy on another goroutine
)

var (
	// ErrNoBackend is returned by New without a backend.
	ErrNoBackend = errors.New("runtime: no backend")
	// ErrTooManyPolicies is returned by New for more than MaxPolicies.
	ErrTooManyPolicies = errors.New("runtime: too many policies")
)

// Options configure a Runtime. All but Backend have usable zero values.
type Options struct {
	// Backend executes requests; the Runtime owns it from New on and closes it.
	Backend backend.Backend
	// Policies predict; each sees the events of the kinds it names.
	Policies []policy.Policy
	// InFlight bounds the requests asked for and not yet read by the program, over
	// all streams. 0, and all above: MaxInFlight. A walk over a file whose device has
	// a shorter queue keeps to that.
	InFlight int
	// InFlightBytes bounds their bytes. 0: DefaultInFlightBytes.
	InFlightBytes int64
	// Recent is how long a range is not asked for again. 0: DefaultRecent;
	// negative: no such filter.
	Recent time.Duration
	// Clock returns ns. nil: backend.Now.
	Clock func() int64
	// Memory reads how much memory there is. nil: the system's.
	Memory func() (memory.State, error)
}

// Runtime is a hints.Sink. Its methods are safe for concurrent use.
type Runtime struct {
	backend backend.Backend
	prober  backend.Prober // nil if the backend can't tell
	names   []string
	all     []policy.Policy
	byKind  [hints.NumKinds][]int

	slots     [MaxStreams]atomic.Pointer[slot]
	recent    *recent
	budget    budget
	work      work
	closed    atomic.Bool
	closing   sync.Once
	contended atomic.Uint64
	behind    workCounters
}

var _ hints.Sink = (*Runtime)(nil)

// New returns a running Runtime. It returns ErrNoBackend or ErrTooManyPolicies
// for options that can't work.
func New(o Options) (*Runtime, error) {
	if o.Backend == nil {
		return nil, ErrNoBackend
	}
	if len(o.Policies) > MaxPolicies {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooManyPolicies, len(o.Policies), MaxPolicies)
	}
	if o.Clock == nil {
		o.Clock = backend.Now
	}
	if o.Memory == nil {
		o.Memory = memory.Read
	}
	r := &Runtime{backend: o.Backend, all: o.Policies, recent: newRecent(o.Recent)}
	r.prober, _ = o.Backend.(backend.Prober)
	for i, p := range o.Policies {
		r.names = append(r.names, p.Name())
		for _, k := range p.Kinds() {
			if k < hints.NumKinds {
				r.byKind[k] = append(r.byKind[k], i)
			}
		}
	}
	r.budget.init(o)
	r.work.init(r)
	r.behind.policies = make([]Counters, len(o.Policies))
	return r, nil
}

// Backend is the name of the backend.
func (r *Runtime) Backend() string { return r.backend.Name() }

// Emit dispatches an event. It returns at once if another goroutine is emitting
// in the same stream, or the runtime is closed: the event is then dropped, and
// in the first case counted.
func (r *Runtime) Emit(e hints.Event) hints.Advice {
	kind, id := hints.KindTreeChildEnter, uint64(0)
	if t, ok := e.(*hints.TreeChildEnter); ok {
		id = t.Stream // the usual event, without two calls through the interface
	} else {
		kind, id = e.Kind(), e.StreamID()
	}
	switch {
	case kind == hints.KindStreamEnd:
		r.endStream(id)
		return hints.Advice{}
	case kind >= hints.NumKinds || len(r.byKind[kind]) == 0:
		return hints.Advice{Skip: hints.Silent, Sticky: true}
	}
	policies := r.byKind[kind]
	s := r.slot(id)
	if !s.mu.TryLock() {
		r.contended.Add(1)
		return hints.Advice{Skip: contendedSkip}
	}
	// Deferred: an emitter's Children may panic on a page that can't be read, and
	// the emitter is the one to recover.
	defer s.mu.Unlock()
	if r.closed.Load() {
		return hints.Advice{Skip: hints.Silent, Sticky: true}
	}
	if s.torn {
		r.end(s) // a panic has left it in the middle of an event
		s.batch.Reset()
	}
	if s.id != id && !r.rebind(s, id) {
		r.contended.Add(1)
		return hints.Advice{Skip: contendedSkip}
	}
	s.torn = true
	s.beat()
	r.budget.limits(s, &s.batch.Limits)
	advice := r.run(s, policies[0], e)
	for _, i := range policies[1:] {
		a := r.run(s, i, e)
		advice.Skip = min(advice.Skip, a.Skip)
		advice.Sticky = advice.Sticky && a.Sticky
	}
	s.torn = false
	return advice
}

// run lets one policy handle an event, and executes what it asks for.
func (r *Runtime) run(s *slot, i int, e hints.Event) hints.Advice {
	b := &s.batch
	p := s.streams[i]
	if p == nil {
		p = r.all[i].NewStream()
		s.streams[i] = p
	}
	advice := p.Handle(e, b)
	n := &s.counters[i]
	n.Events++
	if b.Empty() {
		r.budget.hold(s, i, held{})
		return advice
	}
	n.Useful += uint64(b.Useful)
	n.Wasted += uint64(b.Wasted)
	if b.Wants() {
		o := &s.outcome // not on the stack: policies are behind an interface
		*o = policy.Outcome{Resident: backend.Unknown}
		r.execute(s, i, b, o)
		advice = p.Settle(o)
	}
	r.budget.hold(s, i, held{b.HeldRequests, b.HeldBytes})
	b.Reset()
	return advice
}

// execute answers the questions of policy i's batch and requests its extents.
func (r *Runtime) execute(s *slot, i int, b *policy.Batch, o *policy.Outcome) {
	n := &s.counters[i]
	if b.Control.File != nil {
		o.Control = r.resident(b.Control)
	}
	if b.Late.File != nil && r.arrived(b.Late) == policy.Absent {
		n.Late++
	}
	if b.StopSweep {
		s.stopSweep()
	}
	if b.Sweep.File != nil && s.sweep == nil {
		s.sweep = r.work.startSweep(b.Sweep, b.SweepTo)
	}
	if o.Sweeping = s.sweep.running(); o.Sweeping && b.SweepTo > 0 {
		s.sweep.to.Store(b.SweepTo)
	}
	if len(b.Extents) == 0 {
		return
	}
	bytes := r.normalise(s, n, b.Extents)
	o.Requests = len(s.reqs)
	if o.Requests == 0 {
		return
	}
	if bytes > maxInlineBytes || b.Overlap && bytes > maxOverlapBytes {
		if o.Accepted = r.work.enqueue(i, s.reqs); o.Accepted == 0 {
			n.submitted(s.reqs, backend.Outcome{})
			r.recent.forget()
		}
		return
	}
	out := r.backend.Submit(s.reqs)
	r.budget.tick(out.End)
	n.submitted(s.reqs, out)
	if out.Accepted < o.Requests {
		r.recent.forget()
	}
	o.Accepted, o.Failed, o.Resident = out.Accepted, out.Failed, out.Resident
	if o.Accepted == 0 || o.Resident != 0 {
		return
	}
	// A slow call may have been slow for many reasons, a slow machine among them. Data
	// that is here this soon after the last request was here before.
	last := &s.reqs[o.Accepted-1]
	if r.arrived(hints.Extent{File: last.File, Off: last.Off, Len: last.Len}) == policy.Resident {
		o.Resident = o.Accepted
		n.Resident += uint64(o.Accepted)
	}
}

// resident reports whether all of an extent is cached, or on its way.
func (r *Runtime) resident(x hints.Extent) policy.Answer {
	if r.prober == nil {
		return policy.NotKnown
	}
	pages, known := r.prober.Resident(x.File, x.Off, x.Len)
	return answer(pages >= (x.Len+policy.PageSize-1)/policy.PageSize, known)
}

// arrived reports whether an extent's first page can be read without waiting.
func (r *Runtime) arrived(x hints.Extent) policy.Answer {
	if r.prober == nil {
		return policy.NotKnown
	}
	return answer(r.prober.Arrived(x.File, x.Off))
}

func answer(there, known bool) policy.Answer {
	switch {
	case !known:
		return policy.NotKnown
	case there:
		return policy.Resident
	}
	return policy.Absent
}

// Close ends all streams and workers and closes the backend. It waits for Emits
// under way; those that come later do nothing. Calling it again does nothing and
// returns nil.
func (r *Runtime) Close() error {
	var err error
	r.closing.Do(func() {
		r.closed.Store(true)
		for i := range r.slots {
			if s := r.slots[i].Load(); s != nil {
				s.mu.Lock()
				r.end(s)
				s.mu.Unlock()
			}
		}
		r.work.close()
		err = r.backend.Close()
	})
	return err
}
