// SPDX-License-Identifier: Apache-2.0

package hints_test

import (
	"math"
	"testing"

	"github.com/predictio/predictio/hints"
)

func TestExtentEmpty(t *testing.T) {
	f := new(hints.File)
	for _, tc := range []struct {
		name string
		x    hints.Extent
		want bool
	}{
		{"zero", hints.Extent{}, true},
		{"no file", hints.Extent{Off: 0, Len: 1}, true},
		{"no length", hints.Extent{File: f}, true},
		{"negative length", hints.Extent{File: f, Len: -1}, true},
		{"smallest length", hints.Extent{File: f, Len: math.MinInt64}, true},
		{"negative offset", hints.Extent{File: f, Off: -1, Len: 2}, true},
		{"smallest offset", hints.Extent{File: f, Off: math.MinInt64, Len: 1}, true},
		{"one byte", hints.Extent{File: f, Len: 1}, false},
		{"largest length", hints.Extent{File: f, Len: math.MaxInt64}, false},
		{"largest offset", hints.Extent{File: f, Off: math.MaxInt64, Len: 1}, true},
		{"last byte there can be", hints.Extent{File: f, Off: math.MaxInt64 - 1, Len: 1}, false},
		{"end overflows by one", hints.Extent{File: f, Off: 1, Len: math.MaxInt64}, true},
		{"both largest", hints.Extent{File: f, Off: math.MaxInt64, Len: math.MaxInt64}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.x.Empty(); got != tc.want {
				t.Errorf("Empty() = %v, want %v", got, tc.want)
			}
			if !tc.want && tc.x.End() <= tc.x.Off {
				t.Errorf("End() = %d, not past offset %d", tc.x.End(), tc.x.Off)
			}
		})
	}
}

func TestChildList(t *testing.T) {
	f := new(hints.File)
	list := hints.ChildList{{File: f, Off: 4096, Len: 4096}, {File: f, Off: 0, Len: 4096}}
	for i, want := range list {
		if x, ok := list.Child(i); !ok || x != want {
			t.Errorf("Child(%d) = %v, %v, want %v", i, x, ok, want)
		}
	}
	for _, i := range []int{-1, len(list), math.MaxInt, math.MinInt} {
		if x, ok := list.Child(i); ok || x != (hints.Extent{}) {
			t.Errorf("Child(%d) = %v, %v, want none", i, x, ok)
		}
	}
	if _, ok := hints.ChildList(nil).Child(0); ok {
		t.Error("a nil list has a child")
	}
}

func TestEventsNameTheirKindAndStream(t *testing.T) {
	const id = 7
	events := []hints.Event{
		&hints.TreeChildEnter{Stream: id}, &hints.StreamEnd{Stream: id},
		&hints.TensorLayout{Stream: id}, &hints.LayerStart{Stream: id},
		&hints.FileAccess{Stream: id}, &hints.KeyScan{Stream: id}, &hints.ProcessExec{Stream: id},
		&hints.ProcessExit{Stream: id}, &hints.ReadaheadWindow{Stream: id},
		&hints.WillNeed{Stream: id},
	}
	seen := make(map[hints.Kind]bool)
	for _, e := range events {
		if k := e.Kind(); k >= hints.NumKinds || seen[k] {
			t.Errorf("%T: kind %d is out of range or another's", e, k)
		}
		seen[e.Kind()] = true
		if e.StreamID() != id {
			t.Errorf("%T: stream %d, want %d", e, e.StreamID(), id)
		}
	}
	if len(seen) != int(hints.NumKinds) {
		t.Errorf("%d kinds have events, want all %d", len(seen), hints.NumKinds)
	}
}

func TestNewStreamIsUnique(t *testing.T) {
	a, b := hints.NewStream(), hints.NewStream()
	if a == 0 || b == 0 || a == b {
		t.Errorf("NewStream gave %d and %d", a, b)
	}
}

func TestDiscardAsksForNoMore(t *testing.T) {
	if a := hints.Discard.Emit(&hints.WillNeed{}); a.Skip != hints.Silent {
		t.Errorf("advice %+v, want silence", a)
	}
}
