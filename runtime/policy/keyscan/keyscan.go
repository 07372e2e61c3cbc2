// SPDX-License-Identifier: Apache-2.0

// Package keyscan fetches what a scan in key order over sorted runs reads next: the
// levels of an LSM tree, all at once.
//
// Its unit is the byte. The first thing it fetches is the first block of every run,
// without which the scan can't be positioned; then it keeps a window ahead:
//
//	start       passed                      taken          taken again when
//	  |-----------|---------- window ---------|            passed comes to here
//	              |------ half ----|- - - - - - - - - - - - - - - - - - - ^
//
// Windows double as the scan goes on. Where the caller knows where the scan ends, all
// of a small range is fetched at once, and nothing behind it.
//
// INVARIANT: 0 <= passed <= taken.
//
// A store that needs no help is left alone: when scans find all they read in the
// engine's cache, or all that was asked for was resident and the engine never had to
// wait, the policy falls silent for the store, until the engine waits again.
package keyscan

import (
	"sync/atomic"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// Name is the policy's name.
const Name = "keyscan"

const (
	// minStart and maxStart bound the first window, in bytes, which is what scans of the
	// store used on average. Where nothing is known it is firstStart.
	minStart, firstStart, maxStart = 4 << 10, 64 << 10, 256 << 10
	// firstKnown is the first window of a scan whose end is known: what the emitter submits
	// itself, for a worker would come to it later. maxKnown is the most.
	firstKnown, maxKnown = 512 << 10, 768 << 10
	// MaxWindow bounds a window, in bytes.
	MaxWindow = 8 << 20

	// calmStarts is how many scans in a row must have needed no help until a store is
	// left alone.
	calmStarts = 4
	// The engine waits again: more than fewWaits reads, or more than one in waitShare.
	fewWaits, waitShare = 2, 16

	// storeSlots bounds what is remembered of stores, by id; those that share a slot
	// share their experience.
	storeSlots = 64
	// maxFills bounds what is remembered of the windows ahead of a scan.
	maxFills = 32
	// maxTaken bounds what is taken of one scan, in bytes.
	maxTaken = 1 << 56
	// pressureSkip is how many bytes to pass before memory is looked at again.
	pressureSkip = 1 << 20
)

// Policy makes one stream a scan. Use New.
type Policy struct {
	stores [storeSlots]store
}

// New returns the policy.
func New() *Policy { return &Policy{} }

// Name returns "keyscan".
func (*Policy) Name() string { return Name }

// Kinds returns KeyScan.
func (*Policy) Kinds() []hints.Kind { return []hints.Kind{hints.KindKeyScan} }

// NewStream returns the state of a scan.
func (p *Policy) NewStream() policy.Stream { return &stream{policy: p} }

// store is what scans of one store have learned. Streams of several goroutines meet
// here; what they lose to each other is a lesson, no more.
type store struct {
	reads, waits atomic.Uint64 // as of the last start
	helped       atomic.Bool   // something asked for since then was not resident
	calm         atomic.Int32  // starts in a row that needed no help
	quiet        atomic.Bool
	start, known atomic.Int64 // first windows, bytes; 0: the default
}

// begin takes note of a scan's start, and reports whether it should be left alone.
func (s *store) begin(e *hints.KeyScan) (quiet bool) {
	reads, waits := since(&s.reads, e.Reads), since(&s.waits, e.Misses)
	helped := s.helped.Swap(false)
	switch {
	case s.quiet.Load():
		if waits <= fewWaits && waits <= reads/waitShare {
			return true
		}
		s.wake()
	// Where the emitter can't see waits it says that all reads were. With nothing read
	// ever, nothing is known.
	case e.Reads > 0 && !helped && (waits == 0 || e.Misses == e.Reads):
		if s.calm.Add(1) >= calmStarts {
			s.quiet.Store(true)
			return true
		}
	default:
		s.calm.Store(0)
	}
	return false
}

// since is by how much a count has grown; starts side by side may come out of order.
func since(last *atomic.Uint64, now uint64) uint64 {
	return uint64(max(0, int64(now-last.Swap(now))))
}

func (s *store) wake() {
	s.quiet.Store(false)
	s.calm.Store(0)
}

// window is the first window of a scan, in bytes: what scans here used on average.
func (s *store) window(known bool) int64 {
	if known {
		if n := s.known.Load(); n > 0 {
			return max(minStart, min(n, maxKnown))
		}
		return firstKnown
	}
	if n := s.start.Load(); n > 0 {
		return max(minStart, min(n, maxStart))
	}
	return firstStart
}

// ended learns from how many bytes a scan used.
func (s *store) ended(used int64) {
	s.start.Store(smooth(s.start.Load(), min(used, maxStart), firstStart))
}

// endedKnown learns from a scan whose end was known, and which began with a window of
// first bytes: what it used is what there was, unless it was given up. Then the next one is
// trusted with less. all: it was given all there was.
func (s *store) endedKnown(first, used int64, all bool) {
	switch {
	case all && first < firstKnown:
		s.known.Store(min(firstKnown, 2*first))
	case all:
	case used < first/4:
		s.known.Store(max(minStart, first/2))
	default:
		s.known.Store(min(maxKnown, 2*first))
	}
}

// smooth moves an average, 0 being none yet, towards a new value; it is never 0.
func smooth(average, value, first int64) int64 {
	if average == 0 {
		average = first
	}
	return max(1, (7*average+value)/8)
}
