// SPDX-License-Identifier: Apache-2.0

package noop_test

import (
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/noop"
)

func TestPredictsNothing(t *testing.T) {
	if got := len((noop.Policy{}).Kinds()); got != int(hints.NumKinds) {
		t.Errorf("%d kinds, want all %d", got, hints.NumKinds)
	}
	x := hints.Extent{File: testwalk.File(t, 4096), Len: 4096}
	var b policy.Batch
	s := noop.Policy{}.NewStream()
	for _, e := range []hints.Event{
		&hints.WillNeed{Extents: []hints.Extent{x}},
		&hints.TreeChildEnter{Entered: x, Children: hints.ChildList{x}},
	} {
		if a := s.Handle(e, &b); a != (hints.Advice{}) || b.Wants() {
			t.Errorf("%T: advice %+v, batch %+v", e, a, b)
		}
	}
	if s.Settle(&policy.Outcome{}) != (hints.Advice{}) || s.End() != 0 {
		t.Error("it keeps something")
	}
}
