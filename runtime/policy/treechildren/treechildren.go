// SPDX-License-Identifier: Apache-2.0

// Package treechildren fetches the upcoming children of an ordered tree walk:
// the paper's policy for B-tree range scans, with a governed window.
//
// A child is fetched in up to two stages. Its head comes first; once the head
// has arrived, it tells where the rest lies (overflow pages), and the rest
// follows:
//
//	entered                 staged              ahead
//	   |--- rest requested ---|-- head requested --|   not yet asked for
//	   0                                                      children ->
//
// INVARIANT: 0 <= staged <= ahead <= governor.MaxWindow.
package treechildren

import (
	"sync/atomic"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/governor"
	"github.com/predictio/predictio/runtime/policy"
)

// Name is the policy's name.
const Name = "treechildren"

// Policy makes one stream a walk. Use New.
type Policy struct {
	window int
	priors [priorSlots]atomic.Uint32
}

// priorSlots bounds what is remembered of files, by id; files that share a slot
// share their experience, which costs a probe at most.
const priorSlots = 256

// New returns the policy with a governed window.
func New() *Policy { return &Policy{} }

// NewFixed returns the paper's plain policy: at every child, the next window
// children. It neither learns nor falls silent; it is here to be measured
// against.
func NewFixed(window int) *Policy { return &Policy{window: max(1, window)} }

// Name returns "treechildren".
func (*Policy) Name() string { return Name }

// Kinds returns TreeChildEnter.
func (*Policy) Kinds() []hints.Kind { return []hints.Kind{hints.KindTreeChildEnter} }

// NewStream returns the state of a walk.
func (p *Policy) NewStream() policy.Stream {
	if p.window > 0 {
		return &fixed{window: p.window}
	}
	return &stream{policy: p, random: firstRandom}
}

// A prior is packed as start<<2 | part<<1 | warm; 0 says nothing.
func (p *Policy) prior(file uint32) governor.Prior {
	v := p.priors[file%priorSlots].Load()
	return governor.Prior{Warm: v&1 != 0, Part: hints.Part(v >> 1 & 1), Start: int(v >> 2)}
}

func (p *Policy) learn(file uint32, g governor.Prior) {
	v := uint32(g.Start)<<2 | uint32(g.Part)<<1
	if g.Warm {
		v |= 1
	}
	if slot := &p.priors[file%priorSlots]; slot.Load() != v {
		slot.Store(v)
	}
}

// fixed is the plain policy's stream: no state but the window.
type fixed struct{ window int }

func (f *fixed) Handle(e hints.Event, b *policy.Batch) hints.Advice {
	t, ok := e.(*hints.TreeChildEnter)
	if !ok || t.Children == nil {
		return hints.Advice{}
	}
	for i := range f.window {
		x, ok := t.Children.Child(i)
		if !ok || !b.Add(x) {
			break
		}
	}
	return hints.Advice{}
}

func (*fixed) Settle(*policy.Outcome) hints.Advice { return hints.Advice{} }
func (*fixed) End() int                            { return 0 }
