// SPDX-License-Identifier: Apache-2.0

package readahead

import "github.com/predictio/predictio/hints"

// span is a range of offsets. A sequence that runs down counts them from the file's
// start into the negative, so that for itself it too runs up.
type span struct{ off, end int64 }

func (r span) mirror() span { return span{-r.end, -r.off} }

// sequence is what is known of consecutive reads, or of a candidate. All offsets are in
// its own direction.
type sequence struct {
	used uint64 // when it was last advanced; 0: the place is free
	file uint32
	dir  hints.Direction
	lone bool // a candidate's only read: it may go on in either direction
	// engine: the engine sends its own windows, and ours are not wanted.
	engine bool
	score  int // of a candidate: reads that count
	warm   int // how often in a row the cache needed no help

	from  int64 // reads that end before this are others'
	pos   int64 // end of the furthest read
	limit int64 // end of the last window, though the file may end before
	asked int64 // nothing from here on was requested
	last  int64 // bytes of the last window, before any clipping to the file
	prev  int64 // size when it was requested
	size  int64 // bytes of the next window

	windows [maxWindows]window
	n       int
}

// window is a part of the file that was requested and not yet read to its end.
type window struct {
	span
	extents int // requested with it, while no read has come to it
}

// along returns a range of the file in the sequence's direction, or the reverse.
func (q *sequence) along(r span) span {
	if q.dir == hints.Backward {
		return r.mirror()
	}
	return r
}

// distance is how far a read of the file lies from where the sequence has come to.
func (q *sequence) distance(r span) int64 {
	d := q.along(r).off - q.pos
	return max(d, -d)
}

// begin makes a candidate of one read.
func (q *sequence) begin(file uint32, r span, score int) {
	*q = sequence{file: file, dir: hints.Forward, lone: true, score: score, size: firstWindow}
	q.place(r)
}

// place sets a candidate to its latest read, in its direction.
func (q *sequence) place(r span) {
	q.from, q.pos = r.off, r.end
	q.limit, q.asked = r.off, r.off
}

// turn makes a lone read the start of a sequence that runs down.
func (q *sequence) turn() {
	q.dir = hints.Backward
	q.place(span{q.from, q.pos}.mirror())
}

// follows reports whether a read, in the candidate's direction, continues it. For Pebble
// one that gets no further does too: its handles serve one scan each. Ours serve all
// readers of a file, who may well read the same block.
func (p *Policy) follows(q *sequence, r span) bool {
	if p.pebble {
		return r.end >= q.pos && r.off <= q.pos+p.gap
	}
	return r.end > q.pos && r.off <= q.pos+p.reach(r)
}

// reach is how many bytes a read may leave out.
func (p *Policy) reach(r span) int64 {
	if p.files {
		return min(p.gap, gapReads*(r.end-r.off))
	}
	return p.gap
}

// belongs reports whether a read, in the sequence's direction, is one of it. Pebble's
// windows are small, and a read anywhere in one belongs. In a large window it may well be
// another reader's, and belongs only if it begins near where the last one ended:
//
//	      from     pos                 limit
//	-------|--------|--------------------|---------> offsets
//	       |<------------- Pebble -------+- gap ->|
//	       |<-ours -+- gap ->|
func (p *Policy) belongs(q *sequence, r span) bool {
	if p.pebble {
		return r.end >= q.from && r.off <= q.limit+p.gap
	}
	return r.end > q.from && r.off <= q.pos+p.reach(r)
}

// reached notes that the program has read up to an offset. It returns how many extents
// it is the first to come to.
func (q *sequence) reached(end int64) (useful int) {
	q.pos = max(q.pos, end)
	kept := 0
	for i := range q.n {
		w := q.windows[i]
		if w.off < end {
			useful += w.extents
			w.extents = 0
		}
		if w.extents > 0 || w.end > q.pos {
			q.windows[kept] = w
			kept++
		}
	}
	q.n = kept
	return useful
}

// push remembers a requested window.
func (q *sequence) push(r span) {
	q.asked = max(q.asked, r.end)
	if q.n == maxWindows {
		w := &q.windows[q.n-1]
		w.end, w.extents = r.end, w.extents+1
		return
	}
	q.windows[q.n] = window{r, 1}
	q.n++
}

// held is what is outstanding of the sequence.
func (q *sequence) held() (requests int, bytes int64) {
	for _, w := range q.windows[:q.n] {
		requests += max(1, w.extents)
		bytes += max(0, w.end-max(w.off, q.pos))
	}
	return requests, bytes
}

// drop frees the place. It returns how many extents nobody came to.
func (q *sequence) drop() (wasted int) {
	for _, w := range q.windows[:q.n] {
		wasted += w.extents
	}
	*q = sequence{}
	return wasted
}
