// SPDX-License-Identifier: Apache-2.0

// Package record is the backend of tests: it keeps every request and plays the
// page cache that the test wants, partial acceptance included.
package record

import (
	"sync"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend"
)

// MaxRequests bounds what is kept; later requests are accepted and only counted.
const MaxRequests = 1 << 20

// Range is a request without its file's handle, which may be closed by the time
// that a test looks.
type Range struct {
	FileID   uint32
	Off, Len int64 // bytes
}

// Backend records. Its zero value accepts everything and knows no residency.
type Backend struct {
	// Answer, if not nil, decides each Submit; it runs under the Backend's lock.
	Answer func(reqs []backend.Request) backend.Outcome
	// Cached, if not nil, answers Resident.
	Cached func(f *hints.File, off, n int64) (pages int64, known bool)

	mu     sync.Mutex
	ranges []Range
	total  int
	closed bool
}

// Name returns "record".
func (*Backend) Name() string { return "record" }

// Submit keeps the accepted requests.
func (b *Backend) Submit(reqs []backend.Request) backend.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := backend.Outcome{Accepted: len(reqs), Resident: backend.Unknown}
	if b.closed {
		out.Accepted = 0
		return out
	}
	if b.Answer != nil {
		out = b.Answer(reqs)
	}
	for _, r := range reqs[:out.Accepted] {
		if b.total++; len(b.ranges) < MaxRequests {
			b.ranges = append(b.ranges, Range{r.File.ID(), r.Off, r.Len})
		}
	}
	return out
}

// Resident answers with Cached, or that it does not know.
func (b *Backend) Resident(f *hints.File, off, n int64) (pages int64, known bool) {
	if b.Cached == nil {
		return 0, false
	}
	return b.Cached(f, off, n)
}

// Arrived answers with Cached.
func (b *Backend) Arrived(f *hints.File, off int64) (arrived, known bool) {
	pages, known := b.Resident(f, off, 1)
	return pages > 0, known
}

// Ranges returns a copy of what was accepted, in order.
func (b *Backend) Ranges() []Range {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Range(nil), b.ranges...)
}

// Total is how many requests were accepted.
func (b *Backend) Total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Reset forgets what was recorded.
func (b *Backend) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ranges, b.total = b.ranges[:0], 0
}

// Close makes Submit accept nothing.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
