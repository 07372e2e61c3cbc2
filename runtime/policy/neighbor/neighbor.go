// SPDX-License-Identifier: Apache-2.0

// Package neighbor is the policy that the paper calls Physical: it fetches what
// lies next to the entered page in the file, as offset-based readahead would. It
// is here to be measured against.
package neighbor

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

// DefaultBytes is fetched after each entered child: 16 pages of 4 KiB.
const DefaultBytes = 64 << 10

// Policy fetches physical neighbours. Its zero value fetches DefaultBytes.
type Policy struct {
	Bytes int64 // after (walking backward: before) each entered child; 0: DefaultBytes
}

// Name returns "neighbor".
func (Policy) Name() string { return "neighbor" }

// Kinds returns TreeChildEnter.
func (Policy) Kinds() []hints.Kind { return []hints.Kind{hints.KindTreeChildEnter} }

// NewStream returns a stream; it keeps no state.
func (p Policy) NewStream() policy.Stream {
	if p.Bytes <= 0 {
		p.Bytes = DefaultBytes
	}
	return stream{p.Bytes}
}

type stream struct{ bytes int64 }

func (s stream) Handle(e hints.Event, b *policy.Batch) hints.Advice {
	t, ok := e.(*hints.TreeChildEnter)
	if !ok || t.Entered.Empty() || b.Limits.Pressure {
		return hints.Advice{}
	}
	x := t.Entered
	if t.Dir == hints.Backward {
		x.Off, x.Len = max(0, x.Off-s.bytes), min(s.bytes, x.Off)
	} else {
		x.Off, x.Len = x.End(), s.bytes
	}
	b.Add(x)
	return hints.Advice{}
}

func (stream) Settle(*policy.Outcome) hints.Advice { return hints.Advice{} }
func (stream) End() int                            { return 0 }
