// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"testing"
	"time"

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
