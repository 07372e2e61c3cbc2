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
	depth  int // requests that the file's device takes at once; 0: not known

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
	case s.gov.Silent():
		s.probe(e, b)
	default:
		s.ask(e, b)
		s.fill(e, b)
		if newParent {
			s.considerSweep(e, b)
		}
	}
	if s.sweep == governor.FullSweep {
		// Silent or not: a sweep that waits for this walk is what keeps it warm.
		b.SweepTo = governor.SweepTo(e.Origin, e.Visited)
	}
	b.HeldRequests, b.HeldBytes = s.front.extents, s.front.bytes
	return s.advice()
}

// enter takes note of where the walk is now.
func (s *stream) enter(e *hints.TreeChildEnter, b *policy.Batch) (newParent bool) {
	switch {
	case !s.begun:
		s.begun, s.file, s.depth = true, e.Entered.File.ID(), e.Entered.File.QueueDepth()
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
		s.parent = e.Parent.Off
		s.parents = max(0, s.parents-1-(e.Crossed-1)/max(1, e.Fanout))
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
	useless := o.Requests > 0 && o.Failed == o.Accepted // nothing came of any
	if useless {
		o.Resident = o.Requests // as good as resident: asking on gains nothing
	}
	if !s.probing {
		// A paced sweep makes leaves resident that this walk then asks for in vain:
		// that is no reason to stop.
		if s.sweep != governor.PacedSweep {
			s.gov.Fetched(max(o.Accepted, o.Resident), o.Resident)
		}
	} else if o.Requests > 0 {
		if s.gov.Probed(o.Resident >= o.Accepted); !s.gov.Silent() {
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
