// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	maxWorkers = 2  // goroutines, started when first needed
	maxQueue   = 64 // jobs that wait for one
)

// work is the bounded queue and its workers, for what would make an emitter wait.
type work struct {
	rt    *Runtime
	queue chan func()
	stop  chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex
	started int
	idle    atomic.Int32
	// sweeping: one at a time.
	sweeping atomic.Bool
	closed   bool
}

func (w *work) init(r *Runtime) {
	w.rt = r
	w.queue = make(chan func(), maxQueue)
	w.stop = make(chan struct{})
	r.budget.refresh = func() { w.try(r.budget.reread) }
	r.budget.reclaim = r.reclaimStale
}

// try queues a job and reports whether there was room.
func (w *work) try(job func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	select {
	case w.queue <- job:
	default:
		return false
	}
	if w.idle.Load() < int32(len(w.queue)) && w.started < maxWorkers {
		w.started++
		w.wg.Go(w.loop)
	}
	return true
}

func (w *work) loop() {
	for {
		w.idle.Add(1)
		select {
		case <-w.stop:
			return
		case job := <-w.queue:
			w.idle.Add(-1)
			job()
		}
	}
}

// enqueue hands a policy's requests to a worker, all or none, and returns how
// many. The worker keeps account of them.
func (w *work) enqueue(policy int, reqs []backend.Request) int {
	own := slices.Clone(reqs)
	for _, q := range own {
		q.File.Retain() // the emitter holds a reference: this can't fail
	}
	release := func() {
		for _, q := range own {
			q.File.Release()
		}
	}
	ok := w.try(func() {
		defer release()
		rest := own
		for len(rest) > 0 && !w.stopped() {
			n := min(len(rest), maxInFlightPiece)
			w.rt.behind.submitted(policy, rest[:n], w.rt.backend.Submit(rest[:n]))
			rest = rest[n:]
		}
		w.rt.behind.submitted(policy, rest, backend.Outcome{})
	})
	if !ok {
		release()
		return 0
	}
	return len(own)
}

// maxInFlightPiece is how many requests a worker submits between two looks at
// whether it should stop.
const maxInFlightPiece = 16

func (w *work) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// close ends the workers and waits for them. Jobs still queued are run with the
// runtime stopped: they only give back what they hold.
func (w *work) close() {
	w.mu.Lock()
	w.closed = true
	close(w.stop)
	w.mu.Unlock()
	w.wg.Wait()
	for {
		select {
		case job := <-w.queue:
			job()
		default:
			return
		}
	}
}

// startSweep begins a sweep that may go as far as to; 0: to the end. It returns nil if one is
// under way, since each may take half of the memory, or the queue is full.
func (w *work) startSweep(p policy.Sweep, to int64) *sweep {
	if !w.sweeping.CompareAndSwap(false, true) {
		return nil
	}
	if !p.File.Retain() {
		w.sweeping.Store(false)
		return nil
	}
	s := &sweep{Sweep: p}
	if to == 0 {
		to = math.MaxInt64
	}
	s.to.Store(to)
	ok := w.try(func() {
		defer w.sweeping.Store(false)
		w.rt.sweepFile(s)
	})
	if !ok {
		w.sweeping.Store(false)
		p.File.Release()
		return nil
	}
	return s
}
