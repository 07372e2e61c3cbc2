// SPDX-License-Identifier: Apache-2.0

// Package noop is the backend that does nothing: it accepts every request and
// reads no page. Against the bare engine it shows what prediction costs. What it is
// asked about residency it asks the system, as the real one does.
package noop

import (
	"sync/atomic"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/runtime/backend"
)

// Backend accepts everything. Its zero value is ready.
type Backend struct {
	closed atomic.Bool
	prober pagecache.Prober
}

// Name returns "noop".
func (*Backend) Name() string { return "noop" }

// Submit accepts all requests and starts none.
func (b *Backend) Submit(reqs []backend.Request) backend.Outcome {
	if b.closed.Load() {
		return backend.Outcome{Resident: backend.Unknown}
	}
	return backend.Outcome{Accepted: len(reqs), Resident: backend.Unknown}
}

// Resident counts the cached pages of a range.
func (b *Backend) Resident(f *hints.File, off, n int64) (pages int64, known bool) {
	return b.prober.Resident(f.FD(), off, n)
}

// Arrived reports whether a page can be read without waiting.
func (b *Backend) Arrived(f *hints.File, off int64) (arrived, known bool) {
	return b.prober.Arrived(f.FD(), off)
}

// Close makes Submit accept nothing.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}
