// SPDX-License-Identifier: Apache-2.0

// Package pagecache is the default backend: it asks the kernel from user space,
// by posix_fadvise(2) with POSIX_FADV_WILLNEED, needs no privilege and never
// waits for the data.
package pagecache

import (
	"sync/atomic"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/runtime/backend"
)

// residentNs tells a range that was cached from one that had to be started, by
// how long the call took: measured 132-700 ns against 1300 ns and more. A batch
// that took less than this for each request is taken as resident.
const residentNs = 1000

// Options configure a backend; the zero value is the real thing.
type Options struct {
	// Calls replace the system calls in tests.
	Calls *pagecache.Calls
	// Clock returns ns. nil: backend.Now.
	Clock func() int64
}

// Backend implements backend.Backend and backend.Prober.
type Backend struct {
	calls  *pagecache.Calls
	clock  func() int64
	closed atomic.Bool
	prober pagecache.Prober
	// noWillNeed remembers that the kernel has no such call, so that it is tried once
	// and not at every request.
	noWillNeed atomic.Bool
}

// New returns a backend.
func New(o Options) *Backend {
	b := &Backend{calls: o.Calls, clock: o.Clock}
	if b.calls == nil {
		b.calls = &pagecache.System
	}
	b.prober.Calls = b.calls
	if b.clock == nil {
		b.clock = backend.Now
	}
	return b
}

// Name returns "pagecache".
func (b *Backend) Name() string { return "pagecache" }

// Submit asks the kernel to start reading each range. Its duration tells what
// was resident: a cached range returns at once, a cold one has to be queued.
func (b *Backend) Submit(reqs []backend.Request) backend.Outcome {
	if len(reqs) == 0 || b.closed.Load() || b.noWillNeed.Load() {
		return backend.Outcome{Resident: backend.Unknown}
	}
	out := backend.Outcome{Accepted: len(reqs)}
	start := b.clock()
	for i := range reqs {
		r := &reqs[i]
		if err := b.calls.WillNeed(r.File.FD(), r.Off, r.Len); err != nil {
			if pagecache.Missing(err) {
				b.noWillNeed.Store(true)
				return backend.Outcome{Accepted: i, Failed: out.Failed, Resident: backend.Unknown, End: b.clock()}
			}
			// Any other error is this range's alone: a file system that refuses,
			// memory that is short. Demand paging is what is left.
			out.Failed++
		}
	}
	out.End = b.clock()
	switch {
	case out.Failed > 0:
		out.Resident = backend.Unknown
	case out.End-start < int64(len(reqs))*residentNs:
		out.Resident = len(reqs)
	}
	return out
}

// Resident counts the cached pages of a range with cachestat(2).
func (b *Backend) Resident(f *hints.File, off, n int64) (pages int64, known bool) {
	if b.closed.Load() {
		return 0, false
	}
	return b.prober.Resident(f.FD(), off, n)
}

// Arrived tries to read a byte without waiting.
func (b *Backend) Arrived(f *hints.File, off int64) (arrived, known bool) {
	if b.closed.Load() {
		return false, false
	}
	return b.prober.Arrived(f.FD(), off)
}

// Close makes Submit accept nothing. Requests that were started go on in the
// kernel, which needs nothing of ours for them.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}
