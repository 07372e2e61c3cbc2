// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

func drawPolicy(t *rapid.T) *Policy { return rapid.SampledFrom(policies).Draw(t, "policy") }

// Whatever is read, and whatever becomes of it, the limits hold, nothing outside the file
// is asked for, and the account is right: the harness looks at every event.
func TestAnything(t *testing.T) {
	const bytes = 64<<20 + 777
	file := testwalk.File(t, bytes)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, drawPolicy(t), file)
		var readers [6]struct{ at, dir int64 }
		for range rapid.IntRange(1, 400).Draw(t, "events") {
			r := &readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]
			n := rapid.OneOf(rapid.Just[int64](32*kib), rapid.Int64Range(1, 2<<20)).Draw(t, "bytes")
			waited := rapid.Bool().Draw(t, "waited")
			switch what := rapid.IntRange(0, 99).Draw(t, "what"); {
			case what < 2:
				h.end()
			case what < 8 || r.dir == 0:
				r.at = rapid.Int64Range(0, bytes-1).Draw(t, "at")
				r.dir = rapid.SampledFrom([]int64{1, -1}).Draw(t, "direction")
			case what < 12:
				h.limits = policy.Limits{
					Requests: rapid.SampledFrom([]int{0, 1, 3, 256}).Draw(t, "requests"),
					Bytes:    rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, 16<<20)).Draw(t, "limit"),
					Pressure: rapid.IntRange(0, 9).Draw(t, "pressure") == 0,
				}
			case what < 15:
				h.resident, h.blind = rapid.Bool().Draw(t, "resident"), rapid.Bool().Draw(t, "blind")
			case what < 25:
				h.window(rapid.Int64Range(0, bytes+kib).Draw(t, "off"), n)
			case what < 30:
				h.window(max(0, r.at), n)
				r.at += r.dir * n
			default:
				if r.dir < 0 {
					r.at -= n
				}
				h.read(max(0, r.at), n, waited)
				if r.dir > 0 {
					r.at += n
				}
				r.at += r.dir * rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 40 * kib, 200 * kib, -10 * kib}).Draw(t, "gap")
			}
			r.at = min(r.at, bytes)
		}
		h.end()
	})
}

// reader reads on in a part of the file of its own.
type reader struct{ at, dir int64 }

// next returns the next read.
func (r *reader) next(t *rapid.T) (off, n int64) {
	n = rapid.Int64Range(1, 100*kib).Draw(t, "bytes")
	gap := rapid.SampledFrom([]int64{0, 0, 0, min(5, n), min(filesGap, n), -min(n, 4*kib) / 2}).Draw(t, "gap")
	if r.dir < 0 {
		off = r.at - gap - n
		r.at = off
	} else {
		off = r.at + gap
		r.at = off + n
	}
	return off, n
}

const part = 256 << 20 // bytes, for each reader

func newReader(i int64, dir hints.Direction) *reader {
	return &reader{i*part + part/2, int64(dir)}
}

// As many scans as can be followed, interleaved in any manner: no byte is asked for
// twice, and once there are windows, each scan gets its own.
func TestNoByteTwice(t *testing.T) {
	file := testwalk.File(t, part*MaxSequences)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		h := newHarness(t, p, file)
		var readers []*reader
		for i := range rapid.Int64Range(1, MaxSequences).Draw(t, "readers") {
			dir := hints.Forward
			if p.files && rapid.Bool().Draw(t, "down") {
				dir = hints.Backward
			}
			readers = append(readers, newReader(i, dir))
		}
		var fetched []hints.Extent
		for range rapid.IntRange(1, 300).Draw(t, "reads") {
			off, n := rapid.SampledFrom(readers).Draw(t, "reader").next(t)
			fetched = append(fetched, h.read(off, n, true)...)
		}
		slices.SortFunc(fetched, func(a, b hints.Extent) int { return int(a.Off - b.Off) })
		for i := 1; i < len(fetched); i++ {
			if fetched[i-1].End() > fetched[i].Off {
				t.Fatalf("%d+%d and %d+%d", fetched[i-1].Off, fetched[i-1].Len, fetched[i].Off, fetched[i].Len)
			}
		}
		h.end()
	})
}

// Reads that have nothing to do with each other fetch nothing.
func TestPointsFetchNothing(t *testing.T) {
	const cell, cells = 1 << 20, 4096
	file := testwalk.File(t, cell*cells)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, drawPolicy(t), file)
		for _, i := range rapid.SliceOfNDistinct(rapid.Int64Range(0, cells-1), 0, 200, rapid.ID).Draw(t, "cells") {
			off := i*cell + rapid.Int64Range(0, 64*kib).Draw(t, "off")
			if xs := h.read(off, rapid.Int64Range(1, 32*kib).Draw(t, "bytes"), true); len(xs) > 0 {
				t.Fatalf("%v for a read at %d", xs, off)
			}
		}
		if n := h.end(); n != 0 {
			t.Fatalf("%d outstanding", n)
		}
	})
}

// A scan is fetched for as if the points between its reads were not there.
func TestPointsDisturbNothing(t *testing.T) {
	const cell, cells = 1 << 20, 4096
	file := testwalk.File(t, cell*cells+part)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		alone, disturbed := newHarness(t, p, file), newHarness(t, p, file)
		scan := &reader{cell * cells, 1}
		points := rapid.SliceOfNDistinct(rapid.Int64Range(0, cells-2), 200, 200, rapid.ID).Draw(t, "points")
		for i := range rapid.IntRange(1, 40).Draw(t, "reads") {
			most := 8
			if i < needReads {
				most = MaxSequences - 1 // else its candidate is lost among others
			}
			for range min(len(points), rapid.IntRange(0, most).Draw(t, "between")) {
				if xs := disturbed.read(points[0]*cell, 4*kib, true); len(xs) > 0 {
					t.Fatalf("%v for a point", xs)
				}
				points = points[1:]
			}
			off, n := scan.next(t)
			want := slices.Clone(alone.read(off, n, true))
			if got := disturbed.read(off, n, true); !slices.Equal(got, want) {
				t.Fatalf("read %d+%d: %v, alone %v", off, n, got, want)
			}
		}
	})
}

// A warm scan is left alone by Files, in whatever direction; so is one that finds all
// that is fetched for it in the cache, after a few windows.
func TestWarmScansAreLeftAlone(t *testing.T) {
	file := testwalk.File(t, part)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, Files(), file)
		r := newReader(0, rapid.SampledFrom([]hints.Direction{hints.Forward, hints.Backward}).Draw(t, "direction"))
		h.resident, h.blind = true, rapid.Bool().Draw(t, "blind")
		waits := rapid.IntRange(0, 10).Draw(t, "waits")
		for i := range 300 {
			h.read(r.at, 32*kib, i < waits)
			r.at += r.dir * 32 * kib
		}
		if waits < needReads && h.issued > 0 || h.issued > waits+maxWarm {
			t.Fatalf("%d requests after %d waits", h.issued, waits)
		}
		if n := h.end(); n != 0 {
			t.Fatalf("%d outstanding", n)
		}
	})
}

// Over a long scan nothing is for nothing, requests are few, and none but the reads that
// make it a scan find that nothing was asked for.
func TestLongScan(t *testing.T) {
	const block, blocks = 32 * kib, part / (32 * kib)
	file := testwalk.File(t, part)
	for _, tc := range []struct {
		policy *Policy
		dir    hints.Direction
		most   int
	}{
		{Native(), hints.Forward, part/maxNative + 2},
		{Coalesced(), hints.Forward, part/maxCoalesced + 7},
		{Files(), hints.Forward, part/maxCoalesced + 7},
		{Files(), hints.Backward, part/maxCoalesced + 7},
	} {
		h := newHarness(t, tc.policy, file)
		fetched := make(map[int64]bool) // by block
		late := 0
		for i := range int64(blocks) {
			at := i
			if tc.dir == hints.Backward {
				at = blocks - 1 - i
			}
			if !fetched[at] {
				late++
			}
			for _, x := range h.read(at*block, block, !fetched[at]) {
				for off := x.Off; off < x.End(); off += block {
					fetched[off/block] = true
				}
			}
		}
		if h.issued > tc.most || h.wasted > 0 || late > needReads || h.end() > 0 {
			t.Errorf("%s: %d requests, at most %d; %d wasted, %d late", tc.policy.Name(), h.issued, tc.most, h.wasted, late)
		}
	}
}
