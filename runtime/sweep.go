// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"time"

	"github.com/predictio/predictio/runtime/policy"
)

const (
	// sweepPiece is read at a time, in bytes. The backend's wait for the device's
	// queue is what paces a sweep.
	sweepPiece = 2 << 20
	// sweepCheck is how often a sweep looks whether memory still holds what it
	// read, in bytes.
	sweepCheck = 16 << 20
	// sweepKept is the part that must still be there, a quarter of the way back.
	sweepKept = 0.9
	// sweepIdle is how long a sweep waits for a stream that doesn't move, and
	// sweepNap how long it sleeps when it may go no further.
	sweepIdle = int64(time.Second)
	sweepNap  = time.Millisecond
)

// sweep is a file being read from one end to the other for a stream.
type sweep struct {
	policy.Sweep
	stop  atomic.Bool
	done  atomic.Bool
	beats atomic.Int64 // the stream's events
	to    atomic.Int64 // offset up to which the stream justifies it
}

// running reports whether the sweep has started and nobody has ended it.
func (s *sweep) running() bool { return s != nil && !s.done.Load() }

// sweepFile runs on a worker.
func (r *Runtime) sweepFile(s *sweep) {
	defer s.File.Release()
	defer s.done.Store(true)
	var (
		beats   int64
		movedAt = r.budget.clock()
		end     = s.Off + s.Len
		split   = &slot{}
		ignored Counters
	)
	for off := s.Off; off < end; {
		if s.stop.Load() || r.work.stopped() {
			return
		}
		if off >= s.to.Load() {
			now := r.budget.clock()
			if b := s.beats.Load(); b != beats {
				beats, movedAt = b, now
			} else if now-movedAt > sweepIdle {
				return // nobody reads on
			}
			time.Sleep(sweepNap)
			continue
		}
		piece := pageRange{s.File, off, min(off+sweepPiece, end)}
		if (off-s.Off)%sweepCheck == 0 {
			r.budget.reread()
			if r.budget.state.Load().short || !r.keeps(s, off) {
				return
			}
		}
		split.reqs = split.reqs[:0]
		r.split(split, &ignored, piece)
		r.behind.submitted(sweeps, split.reqs, r.backend.Submit(split.reqs))
		off += sweepPiece
	}
}

// keeps reports whether what a sweep has read is still resident. Where the system
// doesn't tell, it goes by the memory budget alone.
func (r *Runtime) keeps(s *sweep, off int64) bool {
	if r.prober == nil || off == s.Off {
		return true
	}
	back := s.Off + (off-s.Off)*3/4
	back &^= policy.PageSize - 1
	n := min(int64(sweepPiece), off-back)
	pages, known := r.prober.Resident(s.File, back, n)
	return !known || float64(pages*policy.PageSize) >= sweepKept*float64(n)
}
