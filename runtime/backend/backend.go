// SPDX-License-Identifier: Apache-2.0

// Package backend is the contract between prediction and execution: a request
// names a registered file and a bounded range of its bytes, and a backend tries
// to have that range in the page cache soon.
//
// A backend may do less than it was asked. It never fails towards the caller:
// what it can't do it leaves out and counts. Package conformance holds the tests
// that every backend passes.
package backend

import (
	"time"

	"github.com/predictio/predictio/hints"
)

// Request asks for one range. Off and Len are multiples of the system's page
// size except where the file's end cuts Len short, and Len is at most the file's
// Device().MaxRequest where that is known.
type Request struct {
	File *hints.File
	Off  int64 // bytes
	Len  int64 // bytes
}

// Unknown is an Outcome's Resident where the backend can't tell.
const Unknown = -1

// Outcome says what became of a Submit.
type Outcome struct {
	// Accepted is how many requests, from the front, were taken. The others were
	// dropped, and the backend has forgotten them.
	Accepted int
	// Failed counts accepted requests that the system refused.
	Failed int
	// Resident is how many of the accepted requests were in the cache already,
	// or Unknown.
	Resident int
	// End is Now at the return, for backends that have read the clock anyway; 0
	// otherwise.
	End int64
}

var epoch = time.Now()

// Now is the runtime's clock: ns since the process started, monotonic.
func Now() int64 { return int64(time.Since(epoch)) }

// Backend executes requests. Its methods are safe for concurrent use.
type Backend interface {
	// Name is a short stable name, as in statistics and on command lines.
	Name() string
	// Submit starts the requests and returns without waiting for storage. The
	// caller holds a reference to every file until Submit returns; the slice
	// stays the caller's. After Close it accepts nothing.
	Submit(reqs []Request) Outcome
	// Close waits until no work of this backend is under way that needs its
	// resources, and frees them. Calling it again does nothing.
	Close() error
}

// Prober is implemented by backends that can tell whether a range is resident.
type Prober interface {
	// Resident returns how many of the range's pages are cached or on their way.
	// known is false where the system does not say; it is never a guess.
	Resident(f *hints.File, off, n int64) (pages int64, known bool)
	// Arrived reports whether the page at off can be read without waiting: cached,
	// and not merely on its way. Asking may start to read the page.
	Arrived(f *hints.File, off int64) (arrived, known bool)
}
