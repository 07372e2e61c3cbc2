// SPDX-License-Identifier: Apache-2.0

package pagecache

import "sync/atomic"

// Prober asks what is resident, and remembers which calls the kernel doesn't have,
// so that they are tried once. A refusal is not remembered: it may be one file's
// alone. Its zero value asks the system; it is safe for concurrent use.
type Prober struct {
	Calls *Calls // nil: System

	noCached, noNoWait atomic.Bool
}

func (p *Prober) calls() *Calls {
	if p.Calls == nil {
		return &System
	}
	return p.Calls
}

// Resident counts the cached pages of a range. Where cachestat(2) is missing or
// refused nothing is known: a read that may not wait starts to read what it doesn't
// find, and would answer for itself the next time.
func (p *Prober) Resident(fd int, off, n int64) (pages int64, known bool) {
	if p.noCached.Load() {
		return 0, false
	}
	pages, err := p.calls().Cached(fd, off, n)
	if err != nil {
		if Missing(err) {
			p.noCached.Store(true)
		}
		return 0, false
	}
	return pages, true
}

// Arrived tries to read a byte without waiting. The kernel starts reading a page that
// it doesn't find, so ask only for pages that are wanted anyway.
func (p *Prober) Arrived(fd int, off int64) (arrived, known bool) {
	if p.noNoWait.Load() {
		return false, false
	}
	arrived, err := p.calls().NoWait(fd, off)
	if err != nil {
		if Missing(err) {
			p.noNoWait.Store(true)
		}
		return false, false
	}
	return arrived, true
}
