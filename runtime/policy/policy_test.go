// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

func TestBatchIsBounded(t *testing.T) {
	f := testwalk.File(t, 4096)
	x := hints.Extent{File: f, Len: 4096}
	var b policy.Batch
	for i := range policy.MaxExtents {
		if !b.Add(x) {
			t.Fatalf("extent %d was refused", i)
		}
	}
	if b.Add(x) || len(b.Extents) != policy.MaxExtents {
		t.Errorf("%d extents, at most %d may be", len(b.Extents), policy.MaxExtents)
	}
}

func TestBatchRefusesWhatIsEmpty(t *testing.T) {
	f := testwalk.File(t, 4096)
	var b policy.Batch
	for _, x := range []hints.Extent{{}, {Len: 1}, {File: f}, {File: f, Off: -1, Len: 1}, {File: f, Off: 1, Len: 1<<63 - 1}} {
		if b.Add(x) || b.Wants() {
			t.Errorf("%+v was taken", x)
		}
	}
}

func TestWants(t *testing.T) {
	f := testwalk.File(t, 4096)
	x := hints.Extent{File: f, Len: 4096}
	for name, b := range map[string]policy.Batch{
		"extents":    {Extents: []hints.Extent{x}},
		"sweep":      {Sweep: policy.Sweep{File: f}},
		"stop-sweep": {StopSweep: true},
		"control":    {Control: x},
		"late":       {Late: x},
	} {
		if !b.Wants() {
			t.Errorf("%s is nothing to ask for", name)
		}
	}
	if b := (policy.Batch{Useful: 1, Wasted: 1, HeldRequests: 1, HeldBytes: 1}); b.Wants() {
		t.Error("news alone ask for something")
	}
}
