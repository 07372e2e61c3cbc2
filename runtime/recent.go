// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"time"
)

// recentSlots bounds the memory of the filter, a power of two. Ranges that share
// a slot push each other out, which costs a request of cached pages at most.
const recentSlots = 4096

// recent remembers for a moment which ranges were asked for, so that streams with
// overlapping windows ask once. It takes no lock: two goroutines that meet in a
// slot at the same time may both ask.
type recent struct {
	ttl  int64         // ns
	salt atomic.Uint32 // part of every hash
	// A slot packs 32 bits of the range's hash and the time in 2^20 ns.
	slots [recentSlots]atomic.Uint64
}

func newRecent(ttl time.Duration) *recent {
	if ttl == 0 {
		ttl = DefaultRecent
	}
	return &recent{ttl: int64(ttl)}
}

// seen reports whether the range was asked for within the last ttl, and takes
// note of it if not.
func (t *recent) seen(file uint32, off, end, now int64) bool {
	if t.ttl < 0 {
		return false
	}
	h := (uint64(off)>>12 ^ uint64(file)<<40 ^ uint64(end)<<20 ^ uint64(t.salt.Load())<<52) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	slot := &t.slots[h%recentSlots]
	const tick = 20
	stamp := uint64(uint32(now>>tick)) + 1 // an empty slot is never recent
	tag := h >> 32
	if v := slot.Load(); v>>32 == tag && uint32(v) != 0 && uint32(stamp)-uint32(v) < uint32(t.ttl>>tick) {
		return true
	}
	slot.Store(tag<<32 | uint64(uint32(stamp)))
	return false
}

// forget empties the filter: of what was noted last, something was not taken.
func (t *recent) forget() { t.salt.Add(1) }
