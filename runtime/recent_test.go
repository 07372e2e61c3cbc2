// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

func TestRecentFilter(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ttl    time.Duration
		after  time.Duration
		passes bool
	}{
		{"by default, at once", 0, 0, false},
		{"by default, within", 0, DefaultRecent / 2, false},
		{"by default, later", 0, 2 * DefaultRecent, true},
		{"a long one", time.Hour, 59 * time.Minute, false},
		{"a long one, later", time.Hour, 61 * time.Minute, true},
		{"off", -1, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, b, c := open(t, func(o *Options) {
				policies(willneed.Policy{})(o)
				o.Recent = tc.ttl
			})
			f := file(t, 10)
			r.Emit(need(1, pages(f, 0, 1)))
			c.advance(tc.after)
			r.Emit(need(2, pages(f, 0, 1))) // another stream: the filter is for all
			want, suppressed := 1, uint64(1)
			if tc.passes {
				want, suppressed = 2, 0
			}
			if n := one(t, r); b.Total() != want || n.Suppressed != suppressed {
				t.Errorf("%d requests, %d suppressed, want %d and %d", b.Total(), n.Suppressed, want, suppressed)
			}
		})
	}
}

// A clock that nobody has read during a pause makes nothing recent.
func TestNothingIsRecentAfterAPause(t *testing.T) {
	for name, next := range map[string]uint64{
		"the same stream": 1, "another": 2, "another in its slot": 1 + MaxStreams,
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t, 10)
			r, b, c := open(t, func(o *Options) {
				policies(willneed.Policy{})(o)
				o.Recent = 0
			})
			r.Emit(need(2, pages(f, 8, 1)))
			r.Emit(need(1, pages(f, 0, 1), pages(f, 2, 1)))
			c.advance(5 * time.Minute)
			r.Emit(need(next, pages(f, 0, 1), pages(f, 2, 1)))
			if n := one(t, r); b.Total() != 5 || n.Suppressed != 0 {
				t.Errorf("%d requests, %d suppressed, want 5 and none", b.Total(), n.Suppressed)
			}
		})
	}
}

// What a backend dropped may be asked for again at once.
func TestDroppedIsNotRecent(t *testing.T) {
	f := file(t, 10)
	for _, tc := range []struct {
		name            string
		accepted, again int
	}{
		{"nothing dropped", 2, 0},
		{"one dropped", 1, 2},
		{"both dropped", 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, b, _ := open(t, func(o *Options) {
				policies(willneed.Policy{})(o)
				o.Recent = time.Hour
			})
			b.Answer = func([]backend.Request) backend.Outcome { return backend.Outcome{Accepted: tc.accepted} }
			e := need(1, pages(f, 0, 1), pages(f, 2, 1))
			r.Emit(e)
			b.Answer = nil
			b.Reset()
			r.Emit(e)
			if got := b.Total(); got != tc.again {
				t.Errorf("%d requests, want %d", got, tc.again)
			}
		})
	}
}

// The same for what found no room in the workers' queue.
func TestUnqueuedIsNotRecent(t *testing.T) {
	f := countedFile(t, largeBytes)
	r, _, _ := open(t, func(o *Options) {
		policies(willneed.Policy{})(o)
		o.Recent = time.Hour
	})
	gate := make(chan struct{})
	var busy atomic.Int32
	job := func() { busy.Add(1); <-gate }
	eventually(t, "all workers are busy", func() bool { r.work.try(job); return busy.Load() == maxWorkers })
	for r.work.try(job) {
	}
	r.Emit(large(f))
	if c := one(t, r); c.Dropped != largeRequests(f) {
		t.Errorf("%+v with a full queue", c)
	}
	close(gate)
	eventually(t, "the queue is empty", func() bool { return len(r.work.queue) == 0 })
	r.Emit(large(f))
	eventually(t, "all submitted", func() bool { return one(t, r).Bytes == largeBytes })
}

func TestRecentTellsRangesApart(t *testing.T) {
	r, b, _ := open(t, func(o *Options) {
		policies(willneed.Policy{})(o)
		o.Recent = time.Hour
	})
	f, g := file(t, 10), file(t, 10)
	r.Emit(need(1, pages(f, 0, 1)))
	r.Emit(need(1, pages(f, 1, 1)))
	r.Emit(need(1, pages(f, 0, 2)))
	r.Emit(need(1, pages(g, 0, 1)))
	if b.Total() != 4 {
		t.Errorf("%d requests of 4 different ones", b.Total())
	}
}

// At any time, however odd: what was never asked for is not recent.
func TestRecentIsEmptyAtFirst(t *testing.T) {
	for _, now := range []int64{0, 1, 1 << 20, 1<<52 - 1, 1 << 52, 1<<63 - 1} {
		if newRecent(time.Hour).seen(1, 0, 4096, now) {
			t.Errorf("at %d ns an untouched range is recent", now)
		}
	}
}
