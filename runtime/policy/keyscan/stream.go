// SPDX-License-Identifier: Apache-2.0

package keyscan

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// fill is one batch ahead of a scan.
type fill struct {
	end     int64 // bytes taken with it
	extents int
}

type stream struct {
	policy *Policy
	store  *store
	begun  bool

	known  bool
	first  int64 // first window, bytes
	window int64
	want   int64 // bytes; 0: not known
	passed int64 // bytes behind the scan
	taken  int64 // bytes asked for
	gone   int64 // of these, those up to here are no longer counted on
	heads  int64 // of these, what it took to position the scan
	ended  bool  // nothing is left to be taken

	reads, waits uint64 // as of the last event
	asked        bool   // something was asked for since the start
	resident     int    // batches in a row that were resident, without a wait
	quiet        bool
	pressure     bool

	fills   [maxFills]fill
	head, n int // ring of fills
	extents int // in them
}

// Handle takes a KeyScan.
func (s *stream) Handle(event hints.Event, b *policy.Batch) hints.Advice {
	e, ok := event.(*hints.KeyScan)
	if !ok || e.Ahead == nil {
		return hints.Advice{Skip: hints.Silent}
	}
	fresh := e.Start || !s.begun
	if fresh {
		s.start(e, b)
	} else {
		s.pass(e, b)
	}
	s.pressure = b.Limits.Pressure
	switch {
	case s.pressure:
		s.forget(b)
	case !s.quiet && (fresh || !s.cached(e)):
		s.fill(e, b)
	}
	s.reads, s.waits = e.Reads, e.Misses
	b.HeldRequests, b.HeldBytes = s.extents, s.ahead()
	return s.advice()
}

// start begins a scan.
func (s *stream) start(e *hints.KeyScan, b *policy.Batch) {
	s.finish()
	s.forget(b)
	s.store = &s.policy.stores[e.Store%storeSlots]
	s.quiet = s.store.begin(e)
	s.begun, s.known, s.want = true, e.KnownEnd, e.Want
	s.passed = 0
	if !e.Start { // it was under way before this stream was: what was taken by then is behind
		s.passed = max(0, min(e.Passed, maxTaken))
	}
	s.taken, s.gone, s.heads, s.ended = s.passed, s.passed, s.passed, false
	s.asked, s.resident = false, 0
	s.first = s.store.window(e.KnownEnd)
	if s.want > 0 {
		s.first = min(s.want, MaxWindow)
	}
	s.window = s.first
	s.reads, s.waits = e.Reads, e.Misses
}

// finish tells the store how far the scan went.
func (s *stream) finish() {
	if !s.begun || !s.asked || s.want != 0 {
		return
	}
	used := max(0, s.passed-s.heads)
	switch {
	case !s.known:
		// It has come between this event and the next, which it didn't live to see.
		s.store.ended(used + s.window/4)
	case s.ended || s.taken-s.heads >= s.first:
		s.store.endedKnown(s.first, used, s.ended)
	}
	// Else all was fetched at once, and there is no telling how much was read.
}

// pass takes note of how far the scan has come.
func (s *stream) pass(e *hints.KeyScan, b *policy.Batch) {
	if s.quiet && e.Misses-s.waits > fewWaits {
		s.quiet, s.window, s.resident = false, s.first, 0
		s.store.wake()
	}
	if e.Misses != s.waits {
		s.resident = 0
	}
	s.passed = max(s.passed, min(e.Passed, s.taken))
	for s.n > 0 && s.fills[s.head].end <= s.passed {
		b.Useful += s.pop()
	}
}

// cached reports whether the engine has found all in its own cache since the last
// event.
func (s *stream) cached(e *hints.KeyScan) bool {
	return s.passed > 0 && e.Reads == s.reads
}

// ahead is how many bytes are asked for and not yet passed.
func (s *stream) ahead() int64 { return s.taken - max(s.passed, s.gone) }

// fill brings the window to its size if half of it was used.
func (s *stream) fill(e *hints.KeyScan, b *policy.Batch) {
	if s.ended {
		return
	}
	window := min(s.window, b.Limits.Bytes)
	ahead := s.ahead()
	if ahead > window/2 {
		return
	}
	from, want, bytes := len(b.Extents), max(0, window-ahead), int64(0)
	b.Extents, bytes = e.Ahead.Take(b.Extents, want)
	b.Overlap = len(b.Extents) > from
	if len(b.Extents) > policy.MaxExtents {
		b.Extents = b.Extents[:policy.MaxExtents]
	}
	if bytes = min(bytes, maxTaken-s.taken); bytes <= 0 {
		// Where there is no room for anything, that nothing came says nothing.
		s.ended = want > 0 && len(b.Extents) == from
		return
	}
	if s.passed == 0 {
		s.heads += max(0, bytes-window)
	}
	s.asked = true
	s.taken += bytes
	s.push(fill{s.taken, len(b.Extents)})
	// No more than as much again as was used, so that a scan which ends wastes little.
	s.window = min(2*s.window, max(s.first, 2*(s.passed-s.heads)), MaxWindow)
}

func (s *stream) push(f fill) {
	if s.n == maxFills { // the oldest two become one
		old := s.fills[s.head]
		s.head, s.n = (s.head+1)%maxFills, s.n-1
		s.fills[s.head].extents += old.extents
	}
	s.fills[(s.head+s.n)%maxFills] = f
	s.n++
	s.extents += f.extents
}

func (s *stream) pop() (extents int) {
	extents = s.fills[s.head].extents
	s.head, s.n = (s.head+1)%maxFills, s.n-1
	s.extents -= extents
	return extents
}

// forget gives up what is ahead.
func (s *stream) forget(b *policy.Batch) {
	b.Wasted += s.extents
	s.head, s.n, s.extents = 0, 0, 0
	s.gone = s.taken
}

// Settle learns whether what was asked for was there already.
func (s *stream) Settle(o *policy.Outcome) hints.Advice {
	switch {
	case o.Requests == 0 || o.Failed == o.Accepted: // nothing came of it
	case o.Resident < o.Accepted: // or nobody knows
		s.store.helped.Store(true)
		s.resident = 0
	default:
		if s.resident++; s.resident >= calmStarts {
			s.quiet = true // this scan; the next ones will see for themselves
		}
	}
	return s.advice()
}

// advice is how many bytes may be passed until the next event.
func (s *stream) advice() hints.Advice {
	switch {
	case s.pressure:
		return hints.Advice{Skip: pressureSkip}
	case s.quiet:
		return hints.Advice{Skip: hints.Silent, Sticky: s.store.quiet.Load()}
	}
	return hints.Advice{Skip: int(min(hints.Silent-1, max(0, s.ahead()-s.window/2)))}
}

// End gives up what is ahead.
func (s *stream) End() (wasted int) {
	s.finish()
	wasted = s.extents
	*s = stream{policy: s.policy}
	return wasted
}
