// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync"

	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy"
)

// slot is the place of one stream: its state in each policy, its share of the
// budgets, and the memory that its events use again and again.
type slot struct {
	mu       sync.Mutex // held during an Emit of this stream
	id       uint64
	streams  [MaxPolicies]policy.Stream
	counters [MaxPolicies]Counters // of each policy, over all streams that had this place

	held         [MaxPolicies]held
	heldRequests int // sums of held
	heldBytes    int64
	lastSeen     int64 // runtime clock, ns
	torn         bool  // an event is under way, or has ended in a panic
	untilTick    int   // events until the clock is read
	sweep        *sweep

	batch   policy.Batch
	outcome policy.Outcome
	ranges  []pageRange
	reqs    []backend.Request
}

// held is what a policy has asked for and the program has not yet read.
type held struct {
	requests int
	bytes    int64
}

// slot returns the place for a stream id; its previous tenant may still be there.
func (r *Runtime) slot(id uint64) *slot {
	place := &r.slots[id%MaxStreams]
	if s := place.Load(); s != nil {
		return s
	}
	fresh := &slot{id: id}
	fresh.batch.Arrived = r.arrived
	if place.CompareAndSwap(nil, fresh) {
		return fresh
	}
	return place.Load()
}

// beat tells a sweep that somebody is still reading.
func (s *slot) beat() {
	if s.sweep != nil {
		s.sweep.beats.Add(1)
	}
}

func (s *slot) stopSweep() {
	if s.sweep != nil {
		s.sweep.stop.Store(true)
		s.sweep = nil
	}
}

// rebind gives the slot to another stream, and reports whether it could: a tenant
// that is at work keeps it. The caller holds s.mu.
func (r *Runtime) rebind(s *slot, id uint64) bool {
	if s.heldRequests > 0 {
		r.budget.look()
		if r.budget.now()-s.lastSeen < staleAfter {
			return false
		}
	}
	r.end(s)
	s.id, s.untilTick = id, 0
	return true
}

// end finishes the slot's stream. The caller holds s.mu.
func (r *Runtime) end(s *slot) {
	s.stopSweep()
	for i, p := range s.streams {
		if p != nil {
			s.counters[i].Wasted += uint64(p.End())
		}
	}
	r.budget.holdNothing(s)
}

// endStream takes a StreamEnd.
func (r *Runtime) endStream(id uint64) {
	s := r.slots[id%MaxStreams].Load()
	if s == nil {
		return
	}
	if !s.mu.TryLock() {
		r.contended.Add(1)
		return
	}
	defer s.mu.Unlock()
	if s.id == id {
		r.end(s)
	}
}
