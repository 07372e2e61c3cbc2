// SPDX-License-Identifier: Apache-2.0

package neighbor_test

import (
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/neighbor"
)

func TestNeighbors(t *testing.T) {
	f := testwalk.File(t, 1<<20)
	const kib = 1 << 10
	for _, tc := range []struct {
		name     string
		bytes    int64
		off      int64
		dir      hints.Direction
		pressure bool
		from, to int64 // what is fetched; equal: nothing
	}{
		{"by default", 0, 8 * kib, hints.Forward, false, 12 * kib, 76 * kib},
		{"negative is the default", -1, 8 * kib, hints.Forward, false, 12 * kib, 76 * kib},
		{"as told", 8 * kib, 8 * kib, hints.Forward, false, 12 * kib, 20 * kib},
		{"backward", 8 * kib, 20 * kib, hints.Backward, false, 12 * kib, 20 * kib},
		{"backward, near the start", 8 * kib, 4 * kib, hints.Backward, false, 0, 4 * kib},
		{"backward, at the start", 8 * kib, 0, hints.Backward, false, 0, 0},
		{"under pressure", 8 * kib, 8 * kib, hints.Forward, true, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := neighbor.Policy{Bytes: tc.bytes}.NewStream()
			b := policy.Batch{Limits: policy.Limits{Pressure: tc.pressure}}
			a := s.Handle(&hints.TreeChildEnter{
				Dir: tc.dir, Entered: hints.Extent{File: f, Off: tc.off, Len: 4 * kib},
			}, &b)
			if a != (hints.Advice{}) {
				t.Errorf("advice %+v: it wants every event", a)
			}
			switch {
			case tc.from == tc.to && len(b.Extents) == 0:
			case len(b.Extents) == 1 && b.Extents[0] == hints.Extent{File: f, Off: tc.from, Len: tc.to - tc.from}:
			default:
				t.Errorf("%+v, want %d to %d", b.Extents, tc.from, tc.to)
			}
			if s.Settle(&policy.Outcome{}) != (hints.Advice{}) || s.End() != 0 {
				t.Error("it keeps nothing and advises nothing")
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	var b policy.Batch
	s := neighbor.Policy{}.NewStream()
	s.Handle(&hints.WillNeed{}, &b)
	s.Handle(&hints.TreeChildEnter{}, &b)
	if len(b.Extents) != 0 {
		t.Errorf("%+v of events that name no page", b.Extents)
	}
	if k := (neighbor.Policy{}).Kinds(); len(k) != 1 || k[0] != hints.KindTreeChildEnter {
		t.Errorf("kinds %v", k)
	}
}
