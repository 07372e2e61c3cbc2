// SPDX-License-Identifier: Apache-2.0

package keyscan

import (
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

// takeFunc is an Ahead that does what it likes.
type takeFunc func(dst []hints.Extent, bytes int64) ([]hints.Extent, int64)

func (f takeFunc) Take(dst []hints.Extent, bytes int64) ([]hints.Extent, int64) { return f(dst, bytes) }

var anyBytes = rapid.OneOf(
	rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, 1 << 40, 1 << 62}),
	rapid.Int64Range(0, 32<<20), rapid.Int64())

// Whatever the emitter says and Ahead does, the bounds hold.
func TestHostileEmitter(t *testing.T) {
	file := testwalk.File(t, 1<<20)
	x := hints.Extent{File: file, Len: policy.PageSize}
	rapid.Check(t, func(t *rapid.T) {
		h := &harness{policy: New()}
		h.open()
		for range rapid.IntRange(1, 50).Draw(t, "events") {
			n := rapid.SampledFrom([]int{0, 0, 1, 3, policy.MaxExtents, policy.MaxExtents + 1, 5000}).Draw(t, "extents")
			bytes := anyBytes.Draw(t, "bytes")
			how := rapid.IntRange(0, 3).Draw(t, "how")
			data := 0
			ahead := takeFunc(func(dst []hints.Extent, asked int64) ([]hints.Extent, int64) {
				if asked < 0 || asked > MaxWindow {
					t.Fatalf("asks for %d bytes", asked)
				}
				switch how {
				case 0:
					dst = nil // what it was given is gone
				case 1:
					clear(dst[:cap(dst)])
					dst = make([]hints.Extent, 0, 1)
				}
				for range n {
					dst = append(dst, x)
				}
				data = min(n, policy.MaxExtents)
				return dst, bytes
			})
			if rapid.IntRange(0, 20).Draw(t, "end") == 0 {
				h.end()
			}
			h.answer = rapid.SampledFrom(anyOutcome).Draw(t, "outcome")
			h.limits = policy.Limits{Bytes: anyBytes.Draw(t, "limit"), Pressure: rapid.IntRange(0, 9).Draw(t, "pressure") == 0}
			e := &hints.KeyScan{
				Stream: 1, Store: rapid.Uint64().Draw(t, "store"),
				Start: rapid.IntRange(0, 5).Draw(t, "start") == 0, KnownEnd: rapid.Bool().Draw(t, "known"),
				Want: anyBytes.Draw(t, "want"), Passed: anyBytes.Draw(t, "passed"),
				Reads: rapid.Uint64().Draw(t, "reads"), Misses: rapid.Uint64().Draw(t, "misses"), Ahead: ahead,
			}
			ahead0 := h.stream.extents
			h.handle(e)
			b := &h.batch
			switch more := b.HeldRequests - (ahead0 - b.Useful - b.Wasted); {
			case more == data && bytes > 0:
			case more == 0 && (bytes <= 0 || h.stream.taken == maxTaken):
				h.indexes += data
			default:
				t.Fatalf("%d more are ahead, %d were asked for, of %d bytes", more, data, bytes)
			}
			h.bounded(t)
			if got := h.stream.store.window(e.KnownEnd); got < minStart || got > max(maxStart, maxKnown) {
				t.Fatalf("first window %d", got)
			}
		}
	})
}

// Passed goes back, or beyond what was taken: what was passed stays so, and no more.
func TestPassedIsBounded(t *testing.T) {
	h := newHarness(t)
	h.answer = absent
	h.start()
	h.event.Reads++
	h.event.Passed = 20 << 10
	h.emit()
	for _, tc := range []struct{ passed, want int64 }{
		{10 << 10, 20 << 10}, {-1, 20 << 10}, {math.MinInt64, 20 << 10}, {24 << 10, 24 << 10},
	} {
		h.event.Passed = tc.passed
		h.emit()
		h.bounded(t)
		if h.stream.passed != tc.want {
			t.Errorf("passed %d, want %d", h.stream.passed, tc.want)
		}
	}
	taken := h.stream.taken
	h.event.Passed = math.MaxInt64
	h.emit()
	h.bounded(t)
	if h.stream.passed != taken {
		t.Errorf("passed %d of %d", h.stream.passed, taken)
	}
}

// Ahead gives far less than it is asked for, again and again: of the batches that this comes
// to, the oldest become one, and the accounts still add up.
func TestManySmallBatches(t *testing.T) {
	h := newHarness(t)
	x := hints.Extent{File: h.layout.file, Len: policy.PageSize}
	crumbs := takeFunc(func(dst []hints.Extent, _ int64) ([]hints.Extent, int64) { return append(dst, x), 10 })
	const events = 3 * maxFills
	h.event.Start, h.event.Ahead = true, crumbs
	for range events {
		h.handle(&h.event)
		h.bounded(t)
		h.event.Start = false
	}
	if h.batch.HeldRequests != events || h.stream.n != maxFills {
		t.Fatalf("%d held in %d batches of %d", h.batch.HeldRequests, h.stream.n, events)
	}
	// Of those that are one, none counts as read until all are.
	h.event.Reads++
	h.limits.Bytes = 0
	const old = events - maxFills + 1 // extents of the oldest
	for _, tc := range []struct{ passed, useful int }{{1, 0}, {old - 1, 0}, {old, old}, {old + 1, old + 1}, {events, events}} {
		h.event.Passed = int64(10 * tc.passed)
		h.handle(&h.event)
		h.bounded(t)
		if h.useful != tc.useful {
			t.Errorf("%d useful of %d passed, want %d", h.useful, tc.passed, tc.useful)
		}
	}
}

// Events of other kinds, and those with nothing ahead, change nothing.
func TestOtherEvents(t *testing.T) {
	file := testwalk.File(t, policy.PageSize)
	x := hints.Extent{File: file, Len: policy.PageSize}
	for name, e := range map[string]hints.Event{
		"needs":   &hints.WillNeed{Stream: 1, Extents: []hints.Extent{x}},
		"tree":    &hints.TreeChildEnter{Stream: 1, Entered: x, Children: hints.ChildList{x}, Start: true},
		"end":     &hints.StreamEnd{Stream: 1},
		"nothing": &hints.KeyScan{Stream: 1, Start: true, Passed: 1 << 20, Reads: 7, Misses: 7},
	} {
		h := newHarness(t)
		h.handle(e)
		if h.stream.begun || len(h.batch.Extents) > 0 || h.advice.Skip != hints.Silent {
			t.Errorf("%s, first of all: %+v, %+v", name, h.batch, h.advice)
		}
		h.start()
		was := *h.stream
		h.handle(e)
		if *h.stream != was || len(h.batch.Extents) > 0 || h.advice.Skip != hints.Silent || h.advice.Sticky {
			t.Errorf("%s, of a scan: %+v, %+v", name, h.batch, h.advice)
		}
	}
}

// After End, a stream is as new.
func TestEndForgets(t *testing.T) {
	h := newHarness(t)
	if h.end() != 0 {
		t.Error("something was wasted before anything happened")
	}
	h.start()
	if h.end() == 0 {
		t.Error("nothing was wasted of what was ahead")
	}
	if *h.stream != *h.policy.NewStream().(*stream) {
		t.Errorf("%+v", h.stream)
	}
	if h.end() != 0 {
		t.Error("wasted twice")
	}
}

// Scans of one store on several goroutines: each keeps its own accounts, and what they
// tell each other stays within bounds.
func TestStreamsSideBySide(t *testing.T) {
	p := New()
	var wg sync.WaitGroup
	for g := range 4 {
		h := newHarness(t)
		h.policy = p
		h.open()
		h.answer = anyOutcome[g%3]
		wg.Go(func() {
			for i := range 300 {
				h.count(uint64(i%20), uint64(i%3))
				if i%10 == 0 {
					h.event.KnownEnd = i%20 == 0
					h.start()
				} else {
					h.pass(min(1<<20, int64(h.advice.Skip)))
				}
				h.bounded(failer{t})
				if t.Failed() {
					return
				}
			}
			h.end()
			if h.useful+h.wasted != h.requested {
				t.Errorf("%d useful, %d wasted of %d", h.useful, h.wasted, h.requested)
			}
		})
	}
	wg.Wait()
	s := &p.stores[1]
	if a, b := s.window(false), s.window(true); a < minStart || a > maxStart || b < minStart || b > maxKnown {
		t.Errorf("first windows %d and %d", a, b)
	}
}

// failer is a test on a goroutine that is not its own.
type failer struct{ *testing.T }

func (f failer) Fatalf(format string, args ...any) {
	f.Helper()
	f.Errorf(format, args...)
}
