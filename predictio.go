// SPDX-License-Identifier: Apache-2.0

// Package predictio prefetches from storage what a Go program is about to read,
// as the program's engine knows it: the next leaves of a B-tree scan, the tensors
// of a model. It never changes what an engine returns, never makes it wait, is
// bounded in memory and I/O, and falls silent when everything is cached.
//
// A program opens one Runtime and gives it to the adapters of its engines:
//
//	rt, err := predictio.Open(predictio.Options{})
//	...
//	hinted, err := bbolthint.Attach(db, rt)
//	...
//	c := hinted.Cursor(bucket) // instead of bucket.Cursor()
package predictio

import (
	"os"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/pagecache"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/keyscan"
	"github.com/predictio/predictio/runtime/policy/readahead"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// EnvVar is the environment variable that turns every Runtime into a no-op when
// it is set to "off": the switch for operators, without a new build.
const EnvVar = "PREDICTIO"

// Options configure a Runtime; the zero value is the product with its defaults.
type Options struct {
	// Backend executes requests; nil chooses one. The Runtime closes it.
	Backend backend.Backend
	// Policies predict; nil takes all that are ready for use.
	Policies []policy.Policy
	// InFlight and InFlightBytes bound what is requested and not yet read by the
	// program, over all its cursors. 0: the defaults of package runtime.
	InFlight      int
	InFlightBytes int64
}

// Stats is a snapshot of what was predicted and what became of it.
type Stats = runtime.Stats

// Counters are one policy's part of Stats.
type Counters = runtime.Counters

// Runtime is a hints.Sink for adapters. Its methods are safe for concurrent use.
// One is enough for a program: its budgets are shared by all that use it.
type Runtime struct {
	rt *runtime.Runtime // nil: off
}

var _ hints.Sink = (*Runtime)(nil)

// Open returns a running Runtime, or an inert one if the environment says
// PREDICTIO=off. Its errors are those of options that can't work.
func Open(o Options) (*Runtime, error) {
	if os.Getenv(EnvVar) == "off" {
		if o.Backend != nil {
			if err := o.Backend.Close(); err != nil {
				return nil, err
			}
		}
		return &Runtime{}, nil
	}
	if o.Backend == nil {
		o.Backend = pagecache.New(pagecache.Options{})
	}
	if o.Policies == nil {
		o.Policies = []policy.Policy{treechildren.New(), keyscan.New(), readahead.Files(), willneed.Policy{}}
	}
	rt, err := runtime.New(runtime.Options{
		Backend: o.Backend, Policies: o.Policies,
		InFlight: o.InFlight, InFlightBytes: o.InFlightBytes,
	})
	if err != nil {
		return nil, err
	}
	return &Runtime{rt: rt}, nil
}

// Emit takes an event. It never blocks and never fails.
func (r *Runtime) Emit(e hints.Event) hints.Advice {
	if r.rt == nil {
		return hints.Advice{Skip: hints.Silent, Sticky: true}
	}
	return r.rt.Emit(e)
}

// Off reports whether the Runtime is inert.
func (r *Runtime) Off() bool { return r.rt == nil }

// Backend is the name of the backend that was chosen, "off" if none.
func (r *Runtime) Backend() string {
	if r.rt == nil {
		return "off"
	}
	return r.rt.Backend()
}

// Stats returns what has happened so far.
func (r *Runtime) Stats() Stats {
	if r.rt == nil {
		return Stats{Backend: "off"}
	}
	return r.rt.Stats()
}

// Close ends all background work. Adapters that still hold the Runtime go on
// without it.
func (r *Runtime) Close() error {
	if r.rt == nil {
		return nil
	}
	return r.rt.Close()
}
