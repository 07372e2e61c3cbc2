// SPDX-License-Identifier: Apache-2.0

package willneed_test

import (
	"slices"
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

func TestFetchesWhatItIsTold(t *testing.T) {
	f := testwalk.File(t, 1<<20)
	x, y := hints.Extent{File: f, Off: 8192, Len: 4096}, hints.Extent{File: f, Len: 100}
	for _, tc := range []struct {
		name     string
		event    hints.Event
		pressure bool
		want     []hints.Extent
	}{
		{"in order", &hints.WillNeed{Extents: []hints.Extent{x, y, x}}, false, []hints.Extent{x, y, x}},
		{"without the empty", &hints.WillNeed{Extents: []hints.Extent{{}, x, {File: f}}}, false, []hints.Extent{x}},
		{"nothing", &hints.WillNeed{}, false, nil},
		{"under pressure", &hints.WillNeed{Extents: []hints.Extent{x}}, true, nil},
		{"another event", &hints.StreamEnd{}, false, nil},
	} {
		s := willneed.Policy{}.NewStream()
		b := policy.Batch{Limits: policy.Limits{Pressure: tc.pressure}}
		a := s.Handle(tc.event, &b)
		if !slices.Equal(b.Extents, tc.want) || a != (hints.Advice{}) {
			t.Errorf("%s: %v, advice %+v, want %v", tc.name, b.Extents, a, tc.want)
		}
		if s.Settle(&policy.Outcome{}) != (hints.Advice{}) || s.End() != 0 {
			t.Errorf("%s: it keeps nothing and advises nothing", tc.name)
		}
	}
}
