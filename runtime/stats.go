// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync"

	"github.com/predictio/predictio/runtime/backend"
)

// Counters say what became of one policy's predictions. Accepted + Dropped is
// always Offered; requests that wait for a worker are in none of the three.
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

// submitted counts what became of requests that were offered to the backend.
func (c *Counters) submitted(reqs []backend.Request, out backend.Outcome) {
	c.Offered += uint64(len(reqs))
	c.Accepted += uint64(out.Accepted)
	c.Dropped += uint64(len(reqs) - out.Accepted)
	c.Failed += uint64(out.Failed)
	if out.Resident > 0 {
		c.Resident += uint64(out.Resident)
	}
	for i := range reqs[:out.Accepted] {
		c.Bytes += uint64(reqs[i].Len)
	}
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

// workCounters are what the workers count, by policy.
type workCounters struct {
	mu       sync.Mutex
	policies []Counters
	swept    Counters
}

// sweeps stands for a policy's number in what sweeps count.
const sweeps = -1

func (w *workCounters) submitted(policy int, reqs []backend.Request, out backend.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if policy == sweeps {
		w.swept.submitted(reqs, out)
	} else {
		w.policies[policy].submitted(reqs, out)
	}
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
		for j := range sums {
			sums[j].add(&slot.counters[j])
		}
		slot.mu.Unlock()
	}
	r.behind.mu.Lock()
	s.Sweep = r.behind.swept
	for j := range sums {
		sums[j].add(&r.behind.policies[j])
	}
	r.behind.mu.Unlock()
	for j, name := range r.names {
		c := s.Policies[name]
		c.add(&sums[j])
		s.Policies[name] = c
	}
	return s
}
