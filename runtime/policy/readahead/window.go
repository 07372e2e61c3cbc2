// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// lead is how many bytes before the end of the last window the next is requested:
//
//	        last window                next window
//	|-------------------------------|- - - - - - - - - -
//	          ^ Native, where the kernel would take over: once a read is in it
//	                ^ Coalesced, Files: at its half
//	                                ^ Native: once a read leaves it
func (p *Policy) lead(q *sequence) int64 {
	switch {
	case !p.pebble:
		return q.last / 2
	case q.prev == p.most:
		return max(0, q.last-1)
	}
	return 0
}

// fill requests the next window of a sequence if the read r is far enough in the last.
//
// The next window follows on the last. If the read has left that, Pebble measures from the
// read's start, and so do all of a sequence's first window and after a gap: one request
// then serves the read too. What was asked for before is left out, and so is what lies
// behind the file's end.
//
//	 last window      limit
//	|-------------------|
//	               |--- r ---|                      Native
//	               |----|== requested ==|
//	               |<----- size ------->|  next limit
//
//	       |--- r ---|                              Coalesced, Files, Native while leading
//	|-------------------|==== requested ====|
//	                    |<------ size ----->|  next limit
func (s *stream) fill(q *sequence, r span, file *hints.File, b *policy.Batch) {
	p := s.policy
	if q.limit-r.end > p.lead(q) {
		return
	}
	base, left := max(q.limit, r.off), r.end >= q.limit
	if left && p.pebble {
		base = r.off
	}
	size := q.size
	if !p.pebble {
		size = min(p.most, max(size, 2*(r.end-r.off))) // a large read alone would cover it
	}
	// At most half of what is allowed, so that the next one fits beside it.
	bytes := min(size, b.Limits.Bytes/2)
	if room := s.room(b); bytes > room || bytes <= 0 {
		switch {
		case !left:
			return // a later read will find more room: requests stay large
		case room <= 0 || bytes <= 0:
			q.limit = r.end
			return
		}
		bytes = room
	}
	w := span{off: max(r.off, q.asked)}
	w.end = min(base, w.off) + bytes
	q.from, q.limit = r.off, w.end
	q.last, q.prev, q.size = bytes, size, min(2*size, p.most)
	if q.dir == hints.Backward {
		w.end = min(w.end, 0)
	} else {
		w.end = min(w.end, file.Size())
	}
	if x := extent(file, q.along(w)); b.Add(x) {
		b.Overlap = true
		q.push(w)
		if p.files {
			s.fetched, b.Control = q, x
		}
	}
}

// through requests a window that the engine has predicted, but for what is already
// requested. That the engine gives one is all we hear of its reads: they have come to
// its start.
func (s *stream) through(x hints.Extent, b *policy.Batch) {
	r := span{x.Off, min(x.End(), x.File.Size())}
	if r.off >= r.end {
		return
	}
	q := s.engines(x.File.ID(), r)
	if q == nil {
		q = oldest(&s.sequences)
		b.Wasted += q.drop()
		q.begin(x.File.ID(), span{r.off, r.off}, 0)
	}
	q.engine = true
	s.use(q)
	b.Useful += q.reached(r.off)
	q.from = r.off
	for r.off = max(r.off, q.asked, q.pos); ; {
		w := s.missing(q.file, r)
		w.end = min(w.end, w.off+s.room(b))
		if !b.Add(extent(x.File, w)) {
			break
		}
		b.Overlap = true
		q.push(w)
		r.off = w.end
	}
	q.limit = q.asked
}

// engines returns the sequence that an engine's window continues.
func (s *stream) engines(file uint32, r span) *sequence {
	for i := range s.sequences {
		q := &s.sequences[i]
		if q.used > 0 && q.file == file && q.dir == hints.Forward && r.off >= q.from && r.off <= q.asked+s.policy.gap {
			return q
		}
	}
	return nil
}

// missing returns the first part of a range that is not requested.
func (s *stream) missing(file uint32, r span) span {
	for again := true; again; {
		again = false
		for i := range s.sequences {
			q := &s.sequences[i]
			for _, w := range q.windows[:q.n] {
				if w := q.along(w.span); q.file == file && w.off <= r.off && r.off < w.end {
					r.off, again = w.end, true
				}
			}
		}
	}
	for i := range s.sequences {
		q := &s.sequences[i]
		for _, w := range q.windows[:q.n] {
			if w := q.along(w.span); q.file == file && w.off > r.off {
				r.end = min(r.end, w.off)
			}
		}
	}
	return r
}

// room is how many bytes more may be requested; 0 also if no request may be.
func (s *stream) room(b *policy.Batch) int64 {
	requests, bytes := s.held()
	if requests >= b.Limits.Requests {
		return 0
	}
	return max(0, b.Limits.Bytes-bytes)
}

func extent(f *hints.File, r span) hints.Extent {
	return hints.Extent{File: f, Off: r.off, Len: r.end - r.off}
}
