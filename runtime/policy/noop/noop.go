// SPDX-License-Identifier: Apache-2.0

// Package noop is the policy that predicts nothing: it takes every event and
// asks for no page. It shows what events and dispatch cost.
package noop

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// Policy predicts nothing. Its zero value is ready.
type Policy struct{}

// Name returns "noop".
func (Policy) Name() string { return "noop" }

// Kinds returns every kind.
func (Policy) Kinds() []hints.Kind {
	var all []hints.Kind
	for k := range hints.NumKinds {
		all = append(all, k)
	}
	return all
}

// NewStream returns a stream that asks for nothing.
func (Policy) NewStream() policy.Stream { return stream{} }

type stream struct{}

func (stream) Handle(hints.Event, *policy.Batch) hints.Advice { return hints.Advice{} }
func (stream) Settle(*policy.Outcome) hints.Advice            { return hints.Advice{} }
func (stream) End() int                                       { return 0 }
