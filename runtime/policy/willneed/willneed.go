// SPDX-License-Identifier: Apache-2.0

// Package willneed is the policy that believes its caller: it fetches the
// extents of WillNeed events as they come.
package willneed

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// Policy fetches what it is told. Its zero value is ready.
type Policy struct{}

// Name returns "willneed".
func (Policy) Name() string { return "willneed" }

// Kinds returns WillNeed.
func (Policy) Kinds() []hints.Kind { return []hints.Kind{hints.KindWillNeed} }

// NewStream returns a stream; it keeps no state.
func (Policy) NewStream() policy.Stream { return stream{} }

type stream struct{}

func (stream) Handle(e hints.Event, b *policy.Batch) hints.Advice {
	w, ok := e.(*hints.WillNeed)
	if !ok || b.Limits.Pressure {
		return hints.Advice{}
	}
	for _, x := range w.Extents {
		b.Add(x)
	}
	return hints.Advice{}
}

func (stream) Settle(*policy.Outcome) hints.Advice { return hints.Advice{} }
func (stream) End() int                            { return 0 }
