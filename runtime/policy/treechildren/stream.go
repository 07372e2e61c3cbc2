// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// probeReach is how far ahead a silent walk probes, in children: far enough
	// to see the end of a warm stretch before the walk is there.
	probeReach = 64
	// parentSlack is how many children before the window's end the parent must
	// be requested that the window will run into: one read's worth of walking.
	parentSlack = 32
	// maxParents bounds how many parents are requested ahead: trees with huge
	// keys have a fan-out of a few.
	maxParents = 32
	// restSplit: rests are requested for the nearer 1/restSplit of the window, so
	// that the heads they are read from have arrived.
	restSplit = 2
	// pressureSkip is how many children to pass before memory is looked at again.
	pressureSkip = 64
	// crowdedSkip is the same for a device that others keep busy.
	crowdedSkip = 8
	// firstRandom is any seed but 0.
	firstRandom = 1
	// noControl: no fetched child was left without its last page.
	noControl = -1
)

type stream struct {
	policy *Policy
	gov    governor.Governor
	front  frontier
	begun  bool
	file   uint32

	parent  int64 // offset of the current parent
	parents int   // parents requested after it
	control int   // crossings until the control is left: 0 at its leaving, noControl if none

	probing  bool
	keysOnly bool // most of each child is values, and the program doesn't read them
	asked    bool // the batch asks what the child just left tells
	deaf     bool // the system does not answer such questions
	crowded  bool // others leave this walk no room
	pressure bool
	refill   int // fill again when no more than this are ahead
	sweep    governor.Sweep
	swept    bool  // a full sweep was asked for
	sweepOff int64 // next byte of a paced sweep

	random uint32
}

func (s *stream) Handle(event hints.Event, b *policy.Batch) hints.Advice {
	e, ok := event.(*hints.TreeChildEnter)
	if !ok || e.Children == nil || e.Entered.File == nil {
		return hints.Advice{}
	}
	newParent := s.enter(e, b)
	s.probing, s.asked, s.crowded, s.pressure = false, false, false, b.Limits.Pressure
	switch {
	case s.pressure:
		s.forget(b)
	case s.gov.Silent() && s.sweep != governor.PacedSweep:
		s.probe(e, b)
	default:
		s.ask(e, b)
		s.fill(e, b)
		if newParent {
			s.considerSweep(e, b)
		}
	}
	b.HeldRequests, b.HeldBytes = s.front.extents, s.front.bytes
	return s.advice()
}

// enter takes note of where the walk is now.
func (s *stream) enter(e *hints.TreeChildEnter, b *policy.Batch) (newParent bool) {
	switch {
	case !s.begun:
		s.begun, s.file = true, e.Entered.File.ID()
		s.gov = governor.New(s.policy.prior(s.file))
		s.gov.Restart(0, e.KnownEnd)
		s.control = noControl
	case e.Start:
		ahead := s.front.ahead
		s.forget(b)
		s.gov.Restart(ahead, e.KnownEnd)
	}
	if e.Start {
		s.parent, s.parents, s.keysOnly = -1, 0, false
	}
	s.gov.Cross(e.Crossed)
	if s.front.ahead >= e.Crossed {
		b.Late = e.Entered
	}
	b.Useful += s.front.enter(e.Crossed)
	if s.control >= 0 {
		s.control = max(noControl, s.control-e.Crossed)
	}
	if newParent = e.Parent.Off != s.parent; newParent {
		s.parent, s.parents = e.Parent.Off, 0
	}
	return newParent
}

// forget gives the frontier up: the walk went elsewhere, or memory is short.
func (s *stream) forget(b *policy.Batch) {
	b.Wasted += s.front.clear()
	s.control = noControl
	b.StopSweep = s.swept
	s.sweep, s.sweepOff, s.swept = governor.NoSweep, 0, false
}

// probe fetches one child of those to come, to see whether it is there.
func (s *stream) probe(e *hints.TreeChildEnter, b *policy.Batch) {
	b.Late = hints.Extent{}
	// Children of the next parent would have to be read from it, and it may be
	// cold: that is for an active walk to fetch.
	reach := min(probeReach, e.Fanout-e.Index-1)
	if reach <= 0 {
		return
	}
	s.random ^= s.random << 13
	s.random ^= s.random >> 17
	s.random ^= s.random << 5
	x, ok := e.Children.Child(int(s.random % uint32(reach)))
	s.probing = ok && b.Add(x)
}

// ask finds out what the child just left can tell: whether values are read.
func (s *stream) ask(e *hints.TreeChildEnter, b *policy.Batch) {
	due := s.control == 0
	if due {
		s.control = noControl
	}
	// A tail that was fetched for the walk says nothing of what the program reads.
	s.asked = !s.deaf && !e.LeftTail.Empty() && s.front.left.end < e.LeftTail.End() &&
		(due || s.gov.Part() == hints.PartKeys)
	if s.asked {
		b.Control = e.LeftTail
	}
}

// fill brings the window to its size if enough of it was used.
func (s *stream) fill(e *hints.TreeChildEnter, b *policy.Batch) {
	rests := s.front.extents - s.front.ahead
	want := max(0, min(s.gov.Window(), b.Limits.Requests-rests))
	if s.refill = s.gov.Refill(want); s.front.ahead > s.refill {
		return
	}
	arrived := s.front.ahead // heads requested by earlier events
	s.fetchParents(e, b, want)
	room := s.fetchRests(e, b, min(arrived, s.gov.Window()/restSplit))
	s.crowded = want <= s.front.ahead
	for room && s.front.ahead < want {
		x, ok := e.Children.Child(s.front.ahead)
		if !ok || !s.fits(b, x.Len, 1) || !b.Add(x) {
			break
		}
		s.front.push(x)
	}
	if s.sweep == governor.PacedSweep {
		s.pace(e, b)
	}
	s.gov.Filled()
	want = max(0, min(s.gov.Window(), b.Limits.Requests-rests))
	s.refill = s.gov.Refill(want)
}

// fetchParents requests the parents that the window runs into.
func (s *stream) fetchParents(e *hints.TreeChildEnter, b *policy.Batch, window int) {
	parents, ok := e.Children.(hints.Parents)
	if !ok || e.Fanout <= 0 {
		return
	}
	need := min(maxParents, (e.Index+window+parentSlack)/e.Fanout)
	for ; s.parents < need; s.parents++ {
		x, ok := parents.NextParent(s.parents)
		if !ok || !b.Add(x) {
			return
		}
	}
}

// fetchRests requests the rests of the children up to the given one, whose heads
// have arrived. It reports whether the limits left room for all: what is needed
// sooner must not wait for more heads.
func (s *stream) fetchRests(e *hints.TreeChildEnter, b *policy.Batch, upTo int) (room bool) {
	rests, ok := e.Children.(hints.Rests)
	if !ok {
		return true
	}
	for ; s.front.staged < upTo && s.front.bytes < b.Limits.Bytes && s.front.extents < b.Limits.Requests; s.front.staged++ {
		i := s.front.staged
		from := len(b.Extents)
		b.Extents = rests.AppendRest(b.Extents, i, s.gov.Part())
		if len(b.Extents) == from {
			continue // the head was all
		}
		bytes := int64(0)
		for _, x := range b.Extents[from:] {
			bytes += x.Len
		}
		if !s.fits(b, bytes, len(b.Extents)-from) || len(b.Extents) > policy.MaxExtents {
			b.Extents = b.Extents[:from] // as the walk goes on there will be room
			return false
		}
		if !s.deaf && s.control == noControl && s.gov.NextControl() {
			// Leave the last page: nobody but the program can then bring it in. Child
			// i is entered after i+1 crossings and left after one more.
			s.control = i + 2
			last := &b.Extents[len(b.Extents)-1]
			if last.Len -= policy.PageSize; last.Len <= 0 {
				b.Extents = b.Extents[:len(b.Extents)-1]
			}
		}
		for _, x := range b.Extents[from:] {
			s.front.extend(i, x)
		}
	}
	return true
}

// fits reports whether the limits leave room for so much more ahead.
func (s *stream) fits(b *policy.Batch, bytes int64, extents int) bool {
	return s.front.extents+extents <= b.Limits.Requests && s.front.bytes+bytes <= b.Limits.Bytes
}

// pace adds the next stretch of the file to the batch.
func (s *stream) pace(e *hints.TreeChildEnter, b *policy.Batch) {
	n := int64(len(b.Extents)) * governor.PacedPages * policy.PageSize
	n = min(n, e.Entered.File.Size()-s.sweepOff)
	if n <= 0 {
		s.sweep = governor.NoSweep // the whole file was read: all is there, or was
		return
	}
	b.Add(hints.Extent{File: e.Entered.File, Off: s.sweepOff, Len: n})
	s.sweepOff += n
}

// considerSweep looks, once a parent, whether the whole file is being read.
func (s *stream) considerSweep(e *hints.TreeChildEnter, b *policy.Batch) {
	size := e.Entered.File.Size()
	if s.sweepOff >= size || s.keysOnly {
		return // a paced sweep has been through, or would read what nobody wants
	}
	to := governor.Progress{
		Origin: e.Origin, Visited: e.Visited, TreeBytes: e.TreeBytes,
		FileBytes: size, MayRead: b.Limits.SweepBytes,
	}.Decide()
	if to == governor.FullSweep && s.sweep != governor.FullSweep {
		b.Sweep = policy.Sweep{File: e.Entered.File, Off: 0, Len: size}
		s.swept = true
	}
	if s.sweep != governor.FullSweep {
		s.sweep = to
	}
}

// Settle learns from what came of the batch.
func (s *stream) Settle(o *policy.Outcome) hints.Advice {
	if s.sweep == governor.FullSweep && !o.Sweeping {
		s.sweep = governor.NoSweep
	}
	if s.asked {
		s.deaf = o.Control == policy.NotKnown
		s.gov.Control(s.deaf || o.Control == policy.Resident)
		s.keysOnly = s.gov.Part() == hints.PartKeys
	}
	if !s.probing {
		// A paced sweep makes leaves resident that this walk then asks for in vain:
		// that is no reason to stop.
		if s.sweep != governor.PacedSweep {
			s.gov.Fetched(o.Requests, o.Resident)
		}
	} else if o.Requests > 0 {
		if s.gov.Probed(o.Resident >= o.Requests); !s.gov.Silent() {
			s.policy.learn(s.file, s.gov.Prior())
		}
	}
	if s.gov.Silent() {
		// All of it was there: whoever reads it, it is no request of ours.
		s.front.clear()
		s.control = noControl
	}
	return s.advice()
}

// advice is how long the emitter may keep quiet.
func (s *stream) advice() hints.Advice {
	switch {
	case s.pressure:
		return hints.Advice{Skip: pressureSkip, Sticky: true}
	case s.gov.Silent():
		s.policy.learn(s.file, s.gov.Prior())
		if s.probing {
			return hints.Advice{Skip: s.gov.Skip(), Sticky: true}
		}
		return hints.Advice{} // no child to probe here: at the next one
	}
	skip := s.front.ahead - s.refill - 1
	if s.crowded {
		skip = max(skip, crowdedSkip)
	}
	if s.control > 0 {
		skip = min(skip, s.control-1)
	}
	return hints.Advice{Skip: max(0, skip)}
}

// End gives up what is ahead, and tells the walks to come what was learned.
func (s *stream) End() (wasted int) {
	if s.begun {
		s.gov.Restart(s.front.ahead, false)
		s.policy.learn(s.file, s.gov.Prior())
	}
	wasted = s.front.clear()
	*s = stream{policy: s.policy, random: firstRandom}
	return wasted
}
