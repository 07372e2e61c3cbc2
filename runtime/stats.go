// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync"

	"github.com/predictio/predictio/runtime/backend"
)

// Counters say what became of one policy's predictions. Accepted + Dropped is
// always Offered.
type Counters struct {
	Events     uint64 // handled
	Offered    uint64 // requests, after normalisation
	Accepted   uint64 // requests that the backend took
	Dropped    uint64 // requests that a budget or the backend refused
	Failed     uint64 // accepted requests that the system refused
	Resident   uint64 // accepted requests whose pages were cached already
	Bytes      uint64 // of the accepted requests
	Suppressed uint64 // extents left out because they were asked for a moment ago
	Useful     uint64 // extents that the program came to read
	Late       uint64 // sampled reads that came before the data
	Wasted     uint64 // extents that the program never came to
}

func (c *Counters) add(o *Counters) {
	c.Events += o.Events
	c.Offered += o.Offered
	c.Accepted += o.Accepted
	c.Dropped += o.Dropped
	c.Failed += o.Failed
	c.Resident += o.Resident
	c.Bytes += o.Bytes
	c.Suppressed += o.Suppressed
	c.Useful += o.Useful
	c.Late += o.Late
	c.Wasted += o.Wasted
}

// Stats is a snapshot.
type Stats struct {
	Backend string
	// Policies by name. Sweep is the background reading of whole files.
	Policies map[string]Counters
	Sweep    Counters
	// Contended counts events dropped because their stream was busy.
	Contended uint64
	// InFlight is what was asked for and not yet read by the program.
	InFlight      int
	InFlightBytes int64
}

// Total sums the policies and the sweeps.
func (s Stats) Total() Counters {
	t := s.Sweep
	for _, c := range s.Policies {
		t.add(&c)
	}
	return t
}

// pastCounters sums the streams that have ended, and the sweeps.
type pastCounters struct {
	mu       sync.Mutex
	policies []Counters
	swept    Counters
}

func (p *pastCounters) init(policies int) { p.policies = make([]Counters, policies) }

func (p *pastCounters) add(of []Counters) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range of {
		p.policies[i].add(&of[i])
	}
}

func (p *pastCounters) sweep(bytes int64, offered int, out backend.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.swept
	c.Offered += uint64(offered)
	c.Accepted += uint64(out.Accepted)
	c.Dropped += uint64(offered - out.Accepted)
	c.Failed += uint64(out.Failed)
	if out.Resident > 0 {
		c.Resident += uint64(out.Resident)
	}
	c.Bytes += uint64(bytes)
}

// Stats returns what has happened so far. It waits for events under way, one
// stream at a time.
func (r *Runtime) Stats() Stats {
	s := Stats{
		Backend:       r.backend.Name(),
		Policies:      make(map[string]Counters, len(r.all)),
		Contended:     r.contended.Load(),
		InFlight:      int(r.budget.requests.Load()),
		InFlightBytes: r.budget.bytes.Load(),
	}
	sums := make([]Counters, len(r.all))
	for i := range r.slots {
		slot := r.slots[i].Load()
		if slot == nil {
			continue
		}
		slot.mu.Lock()
		for j := range slot.counters {
			sums[j].add(&slot.counters[j])
		}
		slot.mu.Unlock()
	}
	r.past.mu.Lock()
	s.Sweep = r.past.swept
	for j := range sums {
		sums[j].add(&r.past.policies[j])
	}
	r.past.mu.Unlock()
	for j, name := range r.names {
		c := s.Policies[name]
		c.add(&sums[j])
		s.Policies[name] = c
	}
	return s
}
