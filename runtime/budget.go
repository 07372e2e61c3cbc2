// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"time"

	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// memoryAge is how old a reading of the memory may be. Reading takes some 50 us
	// and so is left to a worker.
	memoryAge = int64(500 * time.Millisecond)
	// tickEvery is how many events may pass before the clock is read although no
	// backend has done so.
	tickEvery = 64
	// staleAfter is how long an untouched stream's outstanding requests count: as long
	// as a full queue takes. Disks with moving parts take longer, but what a device
	// says of itself in this is not to be relied on: virtual disks claim to rotate.
	staleAfter = int64(20 * time.Millisecond)
	// reclaimEvery is how often the streams are searched for such.
	reclaimEvery = int64(5 * time.Millisecond)
	// sweepShare is the part of the available memory that a sweep may fill.
	sweepShare = 0.5
)

// budget bounds what is in flight and watches memory.
type budget struct {
	maxRequests int64
	maxBytes    int64
	requests    atomic.Int64 // outstanding over all streams
	bytes       atomic.Int64

	clock    func() int64
	time     atomic.Int64 // the clock as it was last read
	read     func() (memory.State, error)
	state    atomic.Pointer[memoryState]
	stateAt  atomic.Int64
	refresh  func() // asks a worker to call reread
	reclaim  func() // takes back what stale streams hold
	lastTake atomic.Int64
}

// memoryState is what a reading of the memory comes to.
type memoryState struct {
	short bool
	sweep int64 // bytes that a sweep may bring in
}

func (b *budget) init(o Options) {
	b.maxRequests = MaxInFlight
	if o.InFlight > 0 && o.InFlight < MaxInFlight {
		b.maxRequests = int64(o.InFlight)
	}
	if b.maxBytes = o.InFlightBytes; b.maxBytes <= 0 {
		b.maxBytes = DefaultInFlightBytes
	}
	b.clock, b.read = o.Clock, o.Memory
	b.time.Store(b.clock())
	b.reread()
}

// reread reads the memory's state. Where the system doesn't tell there is no
// pressure, and no room for a sweep either.
func (b *budget) reread() {
	s, err := b.read()
	if err != nil {
		s = memory.State{}
	}
	b.state.Store(&memoryState{short: s.Short(), sweep: int64(sweepShare * float64(s.Available))})
	b.stateAt.Store(b.time.Load())
}

func (b *budget) now() int64 { return b.time.Load() }

// tick takes note of the time: at is a clock that somebody has just read, or 0.
func (b *budget) tick(at int64) {
	if at > 0 {
		b.time.Store(at)
	}
}

// limits sets what a stream may have in flight, what it holds included.
func (b *budget) limits(s *slot, l *policy.Limits) {
	if s.untilTick--; s.untilTick <= 0 {
		s.untilTick = tickEvery
		b.look()
	}
	now := b.now()
	s.lastSeen = now
	state := b.state.Load()
	others := b.requests.Load() - int64(s.heldRequests)
	if others > b.maxRequests/2 && now-b.lastTake.Load() > reclaimEvery {
		b.lastTake.Store(now)
		b.reclaim()
		others = b.requests.Load() - int64(s.heldRequests)
	}
	l.Requests = int(max(0, b.maxRequests-others))
	l.Bytes = max(0, b.maxBytes-(b.bytes.Load()-s.heldBytes))
	l.SweepBytes = state.sweep
	l.Pressure = state.short
}

// look reads the clock, and has the memory read if that was long ago.
func (b *budget) look() {
	now := b.clock()
	b.time.Store(now)
	if now-b.stateAt.Load() > memoryAge {
		b.stateAt.Store(now) // one asks, not all
		b.refresh()
	}
}

// hold sets what policy i of a stream has outstanding.
func (b *budget) hold(s *slot, i int, now held) {
	was := &s.held[i]
	if d := now.requests - was.requests; d != 0 {
		b.requests.Add(int64(d))
		s.heldRequests += d
	}
	if d := now.bytes - was.bytes; d != 0 {
		b.bytes.Add(d)
		s.heldBytes += d
	}
	*was = now
}

// holdNothing gives back all that a stream has outstanding.
func (b *budget) holdNothing(s *slot) {
	for i := range s.held {
		b.hold(s, i, held{})
	}
}

// reclaimStale takes back what streams hold that nobody has moved for long: an
// abandoned cursor says no goodbye.
func (r *Runtime) reclaimStale() {
	now := r.budget.now()
	for i := range r.slots {
		s := r.slots[i].Load()
		if s == nil || !s.mu.TryLock() {
			continue
		}
		if s.heldRequests > 0 && now-s.lastSeen > staleAfter {
			r.budget.holdNothing(s)
		}
		s.mu.Unlock()
	}
}
