// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"cmp"
	"slices"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// maxRequests bounds what one event becomes; the rest is dropped and counted.
	maxRequests = 4096
	// defaultRequest is the largest request where the device doesn't say, in
	// bytes: the kernel's default readahead.
	defaultRequest = 128 << 10
	// maxInlineBytes is what the emitter submits itself; more goes to the workers,
	// since starting it could make the emitter wait for the device's queue. Where the
	// emitter's waiting lets a worker run, it is maxOverlapBytes: taking so many pages
	// from the system alone keeps it busy for a millisecond.
	maxInlineBytes, maxOverlapBytes = 8 << 20, 1 << 20
)

// pageRange is a range of whole pages, in bytes.
type pageRange struct {
	file     *hints.File
	off, end int64
}

// normalise turns extents into requests, in s.reqs: clipped to the file, rounded
// to pages, without those asked for a moment ago, sorted, joined where they touch
// or overlap, and split to what the device reads at once. It returns their bytes.
func (r *Runtime) normalise(s *slot, n *Counters, extents []hints.Extent) (bytes int64) {
	s.ranges, s.reqs = s.ranges[:0], s.reqs[:0]
	now, looked := r.budget.now(), false
	for i := range extents {
		x := &extents[i]
		if x.Empty() {
			continue
		}
		end, size := x.End(), x.File.Size()
		if end > size {
			// The file may have grown since it was last looked at.
			size = x.File.Refresh()
		}
		end = min(pageUp(min(end, size)), size)
		off := x.Off &^ (policy.PageSize - 1)
		if off >= end {
			continue
		}
		if r.recent.seen(x.File.ID(), off, end, now) {
			if !looked {
				// The clock may have stood still: nobody reads it while nothing happens.
				looked = true
				r.budget.look()
				now = r.budget.now()
			}
			if r.recent.seen(x.File.ID(), off, end, now) {
				n.Suppressed++
				continue
			}
		}
		s.ranges = append(s.ranges, pageRange{x.File, off, end})
	}
	if len(s.ranges) > 1 {
		slices.SortFunc(s.ranges, func(a, b pageRange) int {
			if a.file != b.file {
				return cmp.Compare(a.file.ID(), b.file.ID())
			}
			return cmp.Compare(a.off, b.off)
		})
	}
	for i := 0; i < len(s.ranges); {
		joined := s.ranges[i]
		for i++; i < len(s.ranges) && s.ranges[i].file == joined.file && s.ranges[i].off <= joined.end; i++ {
			joined.end = max(joined.end, s.ranges[i].end)
		}
		bytes += r.split(s, n, joined)
	}
	return bytes
}

// split appends one range to the slot's requests in pieces that the device reads
// at once.
func (r *Runtime) split(s *slot, n *Counters, p pageRange) (bytes int64) {
	piece := p.file.MaxRequest() &^ (policy.PageSize - 1)
	if piece <= 0 {
		piece = defaultRequest
	}
	for off := p.off; off < p.end; off += piece {
		if len(s.reqs) == maxRequests {
			left := uint64((p.end - off + piece - 1) / piece)
			n.Offered += left
			n.Dropped += left
			break
		}
		q := backend.Request{File: p.file, Off: off, Len: min(piece, p.end-off)}
		s.reqs = append(s.reqs, q)
		bytes += q.Len
	}
	return bytes
}

func pageUp(n int64) int64 { return (n + policy.PageSize - 1) &^ (policy.PageSize - 1) }
