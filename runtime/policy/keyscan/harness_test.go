// SPDX-License-Identifier: Apache-2.0

package keyscan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	blockBytes = 4 << 10  // what is taken is whole blocks
	pieceBytes = 64 << 10 // and comes in extents no longer than this
	fileBytes  = 1 << 40
)

// runs are made-up sorted runs: the hints.Ahead of one scan.
type runs struct {
	file  *hints.File
	runs  int   // each gives one block to position the scan
	total int64 // bytes of data, these blocks included
	index int   // Takes that give an extent of an index and nothing else, at first

	placed bool
	taken  int64 // bytes
	takes  int   // calls
	asked  int64 // bytes, by the last of them
	gave   int   // extents of data, in all
}

func (r *runs) Take(dst []hints.Extent, bytes int64) ([]hints.Extent, int64) {
	r.takes++
	r.asked = bytes
	if r.index > 0 {
		r.index--
		return append(dst, hints.Extent{File: r.file, Off: fileBytes - blockBytes*int64(r.index+1), Len: blockBytes}), 0
	}
	from, before := len(dst), r.taken
	if !r.placed {
		r.placed = true
		for i := 0; i < r.runs && r.taken < r.total; i++ {
			dst = r.add(dst, len(dst))
		}
	}
	for goal, piece := r.taken+bytes, len(dst); r.taken < goal && r.taken < r.total; {
		if len(dst) > piece && dst[len(dst)-1].Len >= pieceBytes {
			piece = len(dst)
		}
		dst = r.add(dst, piece)
	}
	r.gave += len(dst) - from
	return dst, r.taken - before
}

// add takes a block: as an extent of its own, or as more of the last one from that piece on.
func (r *runs) add(dst []hints.Extent, piece int) []hints.Extent {
	n := min(blockBytes, r.total-r.taken)
	if len(dst) > piece {
		dst[len(dst)-1].Len += n
	} else {
		dst = append(dst, hints.Extent{File: r.file, Off: r.taken, Len: n})
	}
	r.taken += n
	return dst
}

// harness plays the emitter and the runtime for one stream.
type harness struct {
	policy *Policy
	stream *stream
	limits policy.Limits
	event  hints.KeyScan
	runs   *runs
	layout runs // of the next scan
	blind  bool // waits can't be seen
	answer func(*policy.Outcome)

	batch   policy.Batch
	outcome policy.Outcome
	advice  hints.Advice

	// Sums over the stream's life, in extents.
	requested, useful, wasted int
	indexes                   int // of those requested
}

func newHarness(t testing.TB) *harness {
	return over(testwalk.File(t, fileBytes))
}

// over is newHarness over a file that others use too.
func over(file *hints.File) *harness {
	h := &harness{policy: New(), limits: policy.Limits{Requests: 256, Bytes: 16 << 20}}
	h.layout = runs{file: file, runs: 4, total: 1 << 30}
	h.event.Stream, h.event.Store = 1, 1
	h.open()
	return h
}

// open makes a new stream of the same policy.
func (h *harness) open() { h.stream = h.policy.NewStream().(*stream) }

// absent, resident and unknown are what may become of requests.
func absent(*policy.Outcome)     {}
func resident(o *policy.Outcome) { o.Resident = o.Accepted }
func unknown(o *policy.Outcome)  { o.Resident = -1 }
func failed(o *policy.Outcome)   { o.Failed = o.Accepted }
func dropped(o *policy.Outcome)  { o.Accepted = 0 }
func recent(o *policy.Outcome)   { o.Requests, o.Accepted = 0, 0 }

// count is what the engine has read since the last event, and how often it waited.
func (h *harness) count(reads, waits uint64) {
	if h.blind {
		waits = reads
	}
	h.event.Reads += reads
	h.event.Misses += waits
}

// start positions the scan anew, over runs of the current layout.
func (h *harness) start() {
	r := h.layout
	h.runs = &r
	h.event.Start, h.event.Passed = true, 0
	h.emit()
	h.event.Start = false
}

// pass goes on by so many bytes, at most to what was taken.
func (h *harness) pass(bytes int64) {
	h.event.Passed = min(h.event.Passed+bytes, h.runs.taken)
	h.emit()
}

// emit lets the stream handle the event, and settles what it asks for.
func (h *harness) emit() {
	h.event.Ahead = h.runs
	h.handle(&h.event)
}

func (h *harness) handle(e hints.Event) {
	b := &h.batch
	b.Reset()
	b.Limits = h.limits
	var data int
	if h.runs != nil {
		data = h.runs.gave
	}
	h.advice = h.stream.Handle(e, b)
	h.useful += b.Useful
	h.wasted += b.Wasted
	if b.Wants() {
		h.requested += len(b.Extents)
		if h.runs != nil && h.runs.gave == data {
			h.indexes += len(b.Extents)
		}
		h.outcome = policy.Outcome{Requests: len(b.Extents), Accepted: len(b.Extents)}
		if h.answer != nil {
			h.answer(&h.outcome)
		}
		h.advice = h.stream.Settle(&h.outcome)
	}
}

func (h *harness) end() (wasted int) {
	wasted = h.stream.End()
	h.wasted += wasted
	return wasted
}

// size writes bytes as in scripts: "64k", "1m", "100".
func size(n int64) string {
	switch {
	case n != 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dm", n>>20)
	case n != 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%dk", n>>10)
	}
	return fmt.Sprint(n)
}

// parseSize reads what size writes.
func parseSize(t testing.TB, s string) int64 {
	t.Helper()
	unit := int64(1)
	digits := s
	if d, ok := strings.CutSuffix(s, "k"); ok {
		digits, unit = d, 1<<10
	} else if d, ok := strings.CutSuffix(s, "m"); ok {
		digits, unit = d, 1<<20
	}
	var n int64
	if _, err := fmt.Sscan(digits, &n); err != nil {
		t.Fatalf("%q is no size: %v", s, err)
	}
	return n * unit
}
