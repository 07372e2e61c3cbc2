// SPDX-License-Identifier: Apache-2.0

package keyscan

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

// fataler is a test, or one run of a property.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// bounded checks what holds after every event.
func (h *harness) bounded(t fataler) {
	t.Helper()
	s, b := h.stream, &h.batch
	used := max(0, s.passed-s.heads)
	switch {
	case s.passed < 0 || s.passed > s.taken || s.gone > s.taken:
		t.Fatalf("passed %d, gone %d, taken %d", s.passed, s.gone, s.taken)
	case b.HeldBytes != s.taken-max(s.passed, s.gone) || b.HeldBytes < 0:
		t.Fatalf("holds %d of passed %d, gone %d, taken %d", b.HeldBytes, s.passed, s.gone, s.taken)
	case s.window < 1 || s.window > MaxWindow:
		t.Fatalf("window %d", s.window)
	case s.window > max(s.first, 2*used):
		t.Fatalf("window %d of a scan that began with %d and used %d", s.window, s.first, used)
	case b.HeldRequests < 0 || b.HeldRequests != s.extents || s.n > maxFills:
		t.Fatalf("holds %d extents of %d, in %d batches", b.HeldRequests, s.extents, s.n)
	case h.advice.Skip < 0 || h.advice.Skip > hints.Silent:
		t.Fatalf("skip %d", h.advice.Skip)
	case h.advice.Sticky && h.advice.Skip != hints.Silent:
		t.Fatalf("skip %d, sticky", h.advice.Skip)
	case len(b.Extents) > policy.MaxExtents:
		t.Fatalf("%d extents", len(b.Extents))
	case b.Limits.Pressure && (len(b.Extents) > 0 || b.HeldRequests > 0 || b.HeldBytes > 0):
		t.Fatalf("memory is short, and there are %d extents, %d held", len(b.Extents), b.HeldRequests)
	}
	extents := 0
	for i := range s.n {
		extents += s.fills[(s.head+i)%maxFills].extents
	}
	if extents != s.extents {
		t.Fatalf("the batches ahead have %d extents; it says %d", extents, s.extents)
	}
	if got := h.useful + h.wasted + s.extents; got != h.requested-h.indexes {
		t.Fatalf("%d useful, %d wasted, %d ahead; requested were %d, %d of them indexes",
			h.useful, h.wasted, s.extents, h.requested, h.indexes)
	}
}

var anyOutcome = []func(*policy.Outcome){absent, resident, unknown, failed, dropped, recent}

// Whatever a well-behaved emitter says, the accounts add up, and nothing is taken that
// should not be.
func TestAnyScript(t *testing.T) {
	file := testwalk.File(t, fileBytes)
	rapid.Check(t, func(t *rapid.T) {
		h := over(file)
		h.blind = rapid.Bool().Draw(t, "blind")
		most := int64(0) // bytes by which one Take exceeded what was asked for, heads included
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			h.count(rapid.Uint64Range(0, 40).Draw(t, "reads"), 0)
			if !h.blind {
				h.count(0, rapid.SampledFrom([]uint64{0, 0, 0, 1, 3}).Draw(t, "waits"))
			}
			h.limits.Pressure = rapid.IntRange(0, 9).Draw(t, "pressure") == 0
			before := runs{}
			if h.runs != nil {
				before = *h.runs
			}
			switch what := rapid.IntRange(0, 11).Draw(t, "what"); {
			case what == 0 || h.runs == nil:
				h.layout.runs = rapid.IntRange(0, 12).Draw(t, "runs")
				h.layout.index = rapid.IntRange(0, 2).Draw(t, "indexes")
				h.layout.total = rapid.SampledFrom([]int64{0, 1000, 100 << 10, 3 << 20, 1 << 30}).Draw(t, "total")
				h.event.Store = rapid.Uint64Range(0, 2).Draw(t, "store")
				h.event.KnownEnd = rapid.Bool().Draw(t, "known")
				h.event.Want = rapid.SampledFrom([]int64{0, 0, 1, 300 << 10, 1 << 40}).Draw(t, "want")
				before = runs{}
				h.start()
			case what == 1:
				h.answer = rapid.SampledFrom(anyOutcome).Draw(t, "outcome")
				continue
			case what == 2:
				h.limits.Bytes = rapid.SampledFrom([]int64{0, 1, 10 << 10, 1 << 20, 16 << 20}).Draw(t, "bytes")
				continue
			case what == 3:
				h.end()
				if h.stream.extents != 0 || h.useful+h.wasted != h.requested-h.indexes {
					t.Fatalf("in the end %d useful, %d wasted of %d", h.useful, h.wasted, h.requested-h.indexes)
				}
				h.runs = nil
				continue
			case what < 7:
				h.pass(rapid.Int64Range(0, 1<<20).Draw(t, "bytes"))
			default:
				h.pass(min(int64(h.advice.Skip), 1<<40))
			}
			h.bounded(t)
			switch takes := h.runs.takes - before.takes; {
			case takes > 1:
				t.Fatalf("%d takes", takes)
			case takes == 1 && h.limits.Pressure:
				t.Fatalf("it takes although memory is short")
			case takes == 1 && h.runs.asked > max(0, min(MaxWindow, h.limits.Bytes)):
				t.Fatalf("it asks for %d bytes of %d", h.runs.asked, h.limits.Bytes)
			case takes == 1:
				most = max(most, h.runs.taken-before.taken-h.runs.asked)
			}
			if s := h.stream; s.taken-s.passed > MaxWindow+most+s.gone {
				t.Fatalf("%d ahead", s.taken-s.passed)
			}
		}
	})
}

// A silent scan takes nothing, and one of a silent store not even its heads.
func TestSilenceTakesNothing(t *testing.T) {
	file := testwalk.File(t, fileBytes)
	rapid.Check(t, func(rt *rapid.T) {
		h := over(file)
		h.answer = resident
		for range calmStarts + 1 {
			h.count(rapid.Uint64Range(1, 100).Draw(rt, "reads"), 0)
			h.start()
		}
		takes, waits := 0, uint64(0) // since the last start
		for range rapid.IntRange(1, 50).Draw(rt, "events") {
			h.answer = rapid.SampledFrom(anyOutcome).Draw(rt, "outcome")
			// Too few waits to wake anybody.
			more := rapid.Uint64Range(0, fewWaits-waits).Draw(rt, "waits")
			waits += more
			h.count(rapid.Uint64Range(waitShare*fewWaits, 100).Draw(rt, "reads"), more)
			if rapid.Bool().Draw(rt, "start") {
				takes, waits = 0, 0
				h.start()
			} else {
				h.pass(rapid.Int64Range(0, 1<<20).Draw(rt, "bytes"))
			}
			if h.runs.takes > takes || h.advice != (hints.Advice{Skip: hints.Silent, Sticky: true}) {
				rt.Fatalf("%d takes, %+v", h.runs.takes, h.advice)
			}
		}
		// Then the engine waits.
		h.count(3, fewWaits+1)
		h.start()
		if h.runs.takes == 0 || h.advice.Skip == hints.Silent {
			rt.Fatalf("%d takes, %+v of a store that was woken", h.runs.takes, h.advice)
		}
	})
}

// A cold scan that obeys the advice reads all that lies ahead, waits for next to none of
// it, and of what is fetched nothing is for nothing.
func TestFullScanWastesNothing(t *testing.T) {
	file := testwalk.File(t, fileBytes)
	rapid.Check(t, func(t *rapid.T) {
		h := over(file)
		h.layout.runs = rapid.IntRange(1, 9).Draw(t, "runs")
		h.layout.index = rapid.IntRange(0, 2).Draw(t, "indexes")
		h.layout.total = rapid.Int64Range(1, 64<<20).Draw(t, "total")
		h.answer = rapid.SampledFrom([]func(*policy.Outcome){absent, unknown}).Draw(t, "outcome")
		h.event.KnownEnd = rapid.Bool().Draw(t, "known")
		h.start()
		for h.event.Passed < h.layout.total {
			h.count(10, 1)
			before, placed := h.event.Passed, h.runs.placed
			if placed && h.event.Passed+int64(h.advice.Skip) > h.runs.taken {
				t.Fatalf("at %d of %d taken, skip %d", before, h.runs.taken, h.advice.Skip)
			}
			if h.pass(max(blockBytes, int64(h.advice.Skip))); placed && h.event.Passed == before {
				t.Fatalf("it stands still at %d of %d", before, h.layout.total)
			}
			h.bounded(t)
		}
		if h.runs.taken != h.layout.total || h.end() != 0 || h.wasted != 0 {
			t.Fatalf("%d of %d taken, %d wasted", h.runs.taken, h.layout.total, h.wasted)
		}
	})
}

// However often memory becomes short, a scan is never further ahead than its window and
// what was given up last.
func TestPressureDoesNotAddUp(t *testing.T) {
	h := newHarness(t)
	h.answer = absent
	h.start()
	for i := range 400 {
		h.count(10, 1)
		h.limits.Pressure = i%7 == 0
		h.pass(max(blockBytes, min(h.stream.window/2, int64(h.advice.Skip))))
		h.bounded(t)
		if ahead := h.runs.taken - h.event.Passed; ahead > 2*MaxWindow+4*blockBytes {
			t.Fatalf("event %d: %d bytes ahead, the window being %d", i, ahead, h.stream.window)
		}
	}
}

// A stream that meets a scan under way keeps to its window, however far the scan is.
func TestScanUnderWay(t *testing.T) {
	file := testwalk.File(t, fileBytes)
	rapid.Check(t, func(rt *rapid.T) {
		h := over(file)
		r := h.layout
		h.runs, r.total = &r, math.MaxInt64/2
		r.placed = true
		h.event.Passed = rapid.Int64Range(1, 1<<35).Draw(rt, "passed")
		r.taken = h.event.Passed
		h.emit()
		h.bounded(rt)
		for i := range 40 {
			h.count(10, 1)
			h.pass(max(blockBytes, int64(h.advice.Skip)))
			h.bounded(rt)
			if ahead := r.taken - h.event.Passed; ahead > h.stream.window+blockBytes {
				rt.Fatalf("event %d: %d bytes ahead, window %d", i, ahead, h.stream.window)
			}
		}
		if h.runs.takes < 20 {
			rt.Fatalf("%d takes: it does not go on", h.runs.takes)
		}
	})
}
