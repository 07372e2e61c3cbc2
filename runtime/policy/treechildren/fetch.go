// SPDX-License-Identifier: Apache-2.0

package treechildren

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// parentSlack is how many children before the window's end the parent must
	// be requested that the window will run into: one read's worth of walking.
	parentSlack = 32
	// maxParents bounds how many parents are requested ahead: trees with huge
	// keys have a fan-out of a few.
	maxParents = 32
	// restSplit: rests are requested for the nearer 1/restSplit of the window, so
	// that the heads they are read from have arrived.
	restSplit = 2
)

// fill brings the window to its size if enough of it was used, and requests the rests
// of what has arrived.
func (s *stream) fill(e *hints.TreeChildEnter, b *policy.Batch) {
	reach := s.reach(e)
	s.fetchParents(e, b)
	more := s.fetchRests(e, b, min(s.front.ahead, s.gov.Window()/restSplit))
	if room := s.room(b); s.front.ahead <= s.gov.Refill(room) {
		s.crowded = room <= s.front.ahead
		for more && s.front.ahead < min(room, reach) {
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
	}
	room := s.room(b)
	if s.reach(e) <= s.front.ahead {
		room = s.front.ahead // there are no more to be named
	}
	s.refill = s.gov.Refill(room)
}

// reach is how many children can be named without waiting for a parent: those of the
// current one, and of the next ones that earlier events have requested.
func (s *stream) reach(e *hints.TreeChildEnter) int {
	if _, ok := e.Children.(hints.Parents); !ok || e.Fanout <= 0 {
		return governor.MaxWindow
	}
	reach := (s.parents+1)*e.Fanout - e.Index - 1
	if e.KnownEnd && reach <= s.front.ahead {
		reach += e.Fanout // the next parent will be read for certain: as well now
	}
	return max(0, reach)
}

// room is how many children may be ahead: the window, or what the rests leave of
// the requests in flight.
func (s *stream) room(b *policy.Batch) int {
	rests := s.front.extents - s.front.ahead
	return max(0, min(s.gov.Window(), s.requests(b)-rests))
}

// requests is how many may be in flight: what the runtime grants, and no more than the
// device's queue holds.
func (s *stream) requests(b *policy.Batch) int {
	if s.depth > 0 {
		return min(b.Limits.Requests, s.depth)
	}
	return b.Limits.Requests
}

// fetchParents requests the parents that the window runs into.
func (s *stream) fetchParents(e *hints.TreeChildEnter, b *policy.Batch) {
	parents, ok := e.Children.(hints.Parents)
	if !ok || e.Fanout <= 0 {
		return
	}
	need := min(maxParents, (e.Index+s.gov.Window()+parentSlack)/e.Fanout)
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
	if !ok || s.front.staged >= upTo || !s.arrived(e, b) {
		return true
	}
	for ; s.front.staged < upTo && s.front.bytes < b.Limits.Bytes && s.front.extents < s.requests(b); s.front.staged++ {
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
		if left := b.Limits.Bytes - s.front.bytes; i == 0 && left > 0 && bytes > b.Limits.Bytes/2 {
			// It would never fit, and nothing behind it would be fetched: take what may be
			// had of it.
			b.Extents = clip(b.Extents, from, left)
			bytes = min(bytes, left)
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

// clip cuts the extents from the given one on to so many bytes in all.
func clip(list []hints.Extent, from int, bytes int64) []hints.Extent {
	for i := from; i < len(list); i++ {
		if list[i].Len >= bytes {
			if list[i].Len = bytes; bytes == 0 {
				return list[:i]
			}
			return list[:i+1]
		}
		bytes -= list[i].Len
	}
	return list
}

// arrived reports whether the next head to look into is there. Reading one that
// isn't would make the walk wait for it, and one that nobody fetches, for nothing.
func (s *stream) arrived(e *hints.TreeChildEnter, b *policy.Batch) bool {
	x, ok := e.Children.Child(s.front.staged)
	return ok && (b.Arrived == nil || b.Arrived(x) != policy.Absent)
}

// fits reports whether the limits leave room for so much more ahead.
func (s *stream) fits(b *policy.Batch, bytes int64, extents int) bool {
	return s.front.extents+extents <= s.requests(b) && s.front.bytes+bytes <= b.Limits.Bytes
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
