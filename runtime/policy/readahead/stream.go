// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"slices"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// stream is the state of one open file. Should its events name several files, their
// sequences share the places.
type stream struct {
	policy     *Policy
	clock      uint64 // events that advanced a sequence or a candidate
	sequences  [MaxSequences]sequence
	candidates [MaxSequences]sequence
	fetched    *sequence // the latest batch is for this one; nil: for none
}

// Handle takes a FileAccess or a ReadaheadWindow.
func (s *stream) Handle(event hints.Event, b *policy.Batch) hints.Advice {
	s.fetched = nil
	if b.Limits.Pressure {
		b.Wasted += s.forget()
		return hints.Advice{}
	}
	switch e := event.(type) {
	case *hints.FileAccess:
		if !e.Extent.Empty() {
			s.access(e, b)
		}
	case *hints.ReadaheadWindow:
		if !e.Window.Empty() && !s.policy.files {
			s.through(e.Window, b)
		}
	}
	b.HeldRequests, b.HeldBytes = s.held()
	return s.advice()
}

// advice spares the emitter, while there is no sequence that Files follows, the reads
// that need not wait.
func (s *stream) advice() (a hints.Advice) {
	if s.policy.files && !slices.ContainsFunc(s.sequences[:], func(q sequence) bool { return q.used > 0 }) {
		a.Skip = hints.Silent
	}
	return a
}

// access finds the sequence of a read and advances it.
func (s *stream) access(e *hints.FileAccess, b *policy.Batch) {
	file := e.Extent.File
	r := span{e.Extent.Off, min(e.Extent.End(), file.Size())}
	if r.off >= r.end {
		return
	}
	q := s.find(file.ID(), r)
	if q == nil {
		c := s.candidate(file.ID(), r, e.Waited)
		if c.score < needReads {
			return
		}
		q = s.promote(c, r, b)
	}
	r = q.along(r)
	s.use(q)
	switch {
	case e.Waited:
		q.warm = 0
	case r.off >= q.asked:
		q.warm++ // cached, and not by us
	}
	b.Useful += q.reached(r.end)
	switch {
	case q.engine:
	case s.policy.files && q.warm >= maxWarm:
		s.demote(q, r, b)
	default:
		s.fill(q, r, file, b)
	}
}

// find returns the sequence that a read belongs to, of several the one that has come
// nearest to it.
func (s *stream) find(file uint32, r span) (best *sequence) {
	var nearest int64
	for i := range s.sequences {
		q := &s.sequences[i]
		if q.used == 0 || q.file != file || !s.policy.belongs(q, q.along(r)) {
			continue
		}
		if d := q.distance(r); best == nil || d < nearest {
			best, nearest = q, d
		}
	}
	return best
}

// candidate counts a read for the candidate that it follows, or makes one of it.
func (s *stream) candidate(file uint32, r span, waited bool) (best *sequence) {
	var nearest int64
	turned := false
	for i := range s.candidates {
		c := &s.candidates[i]
		if c.used == 0 || c.file != file {
			continue
		}
		at, turn := c.along(r), false
		d := c.distance(r)
		if !s.policy.follows(c, at) {
			if !s.policy.pebble && at.off >= c.from && at.end <= c.pos {
				return c // once more what was read last: it says nothing
			}
			if !s.policy.files || !c.lone {
				continue
			}
			down := *c
			if down.turn(); !s.policy.follows(&down, r.mirror()) {
				continue
			}
			d, turn = down.distance(r), true
		}
		if best == nil || d < nearest {
			best, nearest, turned = c, d, turn
		}
	}
	// A scan of which much is cached, and not by us, needs no help.
	counts := 1
	if s.policy.files && !waited && !s.requested(file, r) {
		counts = -1
	}
	if best == nil {
		best = oldest(&s.candidates)
		best.begin(file, r, max(0, counts))
	} else {
		if turned {
			best.turn()
		}
		best.lone = false
		best.score = max(0, best.score+counts)
		best.place(best.along(r))
	}
	s.use(best)
	return best
}

// requested reports whether a read begins in an outstanding window.
func (s *stream) requested(file uint32, r span) bool {
	return s.missing(file, span{r.off, r.off}).off != r.off
}

// promote makes a sequence of a candidate. If it runs where another has requested
// already, that one's reader has leapt, and the candidate was its shadow.
func (s *stream) promote(c *sequence, r span, b *policy.Batch) *sequence {
	own := *c
	c.drop()
	at := own.along(r)
	for i := range s.sequences {
		q := &s.sequences[i]
		if q.used > 0 && q.file == own.file && q.dir == own.dir && at.off >= q.from && at.off < q.asked {
			return q
		}
	}
	q := oldest(&s.sequences)
	b.Wasted += q.drop()
	*q = own
	return q
}

// demote makes a sequence a candidate again, which must see reads wait.
func (s *stream) demote(q *sequence, r span, b *policy.Batch) {
	c := oldest(&s.candidates)
	*c = sequence{file: q.file, dir: q.dir, size: firstWindow}
	c.place(r)
	s.use(c)
	b.Wasted += q.drop()
}

// use notes that a sequence or a candidate was advanced.
func (s *stream) use(q *sequence) {
	s.clock++
	q.used = s.clock
}

// oldest returns the place least recently advanced, a free one if there is any.
func oldest(places *[MaxSequences]sequence) *sequence {
	q := &places[0]
	for i := range places {
		if places[i].used < q.used {
			q = &places[i]
		}
	}
	return q
}

// held is what is outstanding of all sequences.
func (s *stream) held() (requests int, bytes int64) {
	for i := range s.sequences {
		n, size := s.sequences[i].held()
		requests += n
		bytes += size
	}
	return requests, bytes
}

// forget frees all places. It returns how many extents nobody came to.
func (s *stream) forget() (wasted int) {
	for i := range s.sequences {
		wasted += s.sequences[i].drop()
		s.candidates[i].drop()
	}
	return wasted
}

// Settle learns whether the window was cached before it was asked for. Only Files cares.
func (s *stream) Settle(o *policy.Outcome) hints.Advice {
	if q := s.fetched; q != nil && o.Accepted > 0 {
		switch {
		case o.Resident == o.Accepted, o.Resident < 0 && o.Control == policy.Resident:
			q.warm++
		case o.Resident >= 0, o.Control == policy.Absent:
			q.warm = 0
		}
	}
	return s.advice()
}

// End forgets all.
func (s *stream) End() (wasted int) {
	wasted = s.forget()
	*s = stream{policy: s.policy}
	return wasted
}
