// SPDX-License-Identifier: Apache-2.0

// Package runtimesuite measures what an event costs its emitter, without any I/O.
package runtimesuite

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/predictio/predictio/hints"
	rt "github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/policy"
	nopolicy "github.com/predictio/predictio/runtime/policy/noop"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
	"github.com/predictio/predictio/testbeds/bench"
)

// Options configure a run.
type Options struct {
	Quick bool
	Reps  int // 0: the suite's own
	Only  string
	Emit  func(bench.Result) error
}

const (
	events      = 2_000_000 // in one measurement
	quickEvents = 200_000
	rounds      = 9 // measurements; the median counts
	policies    = 8 // of emit-8-policies
)

// Run measures the cases.
func Run(ctx context.Context, o Options) error {
	f, err := os.CreateTemp("", "predictio-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil { // sparse: nothing is ever read
		return err
	}
	file, err := hints.Register(f)
	if err != nil {
		return err
	}
	defer file.Release()

	eight := make([]policy.Policy, policies)
	for i := range eight {
		eight[i] = nopolicy.Policy{}
	}
	product := []policy.Policy{treechildren.New(), willneed.Policy{}}
	for _, c := range []struct {
		name     string
		policies []policy.Policy
		source   source
		emitters int
	}{
		{"emit-no-request", []policy.Policy{nopolicy.Policy{}}, children, 1},
		{"emit-request", product, extents, 1},
		{"emit-8-policies", eight, children, 1},
		{"emit-parallel", product, extents, runtime.GOMAXPROCS(0)},
	} {
		if !strings.Contains(c.name, o.Only) {
			continue
		}
		r, err := measure(ctx, o, file, c.policies, c.source, c.emitters)
		if err != nil {
			return err
		}
		r.Case = c.name
		if err := o.Emit(r); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, o Options, file *hints.File, p []policy.Policy, src source, emitters int) (bench.Result, error) {
	n, reps := events, rounds
	if o.Quick {
		n = quickEvents
	}
	if o.Reps > 0 {
		reps = o.Reps
	}
	r, err := rt.New(rt.Options{Backend: &noop.Backend{}, Policies: p})
	if err != nil {
		return bench.Result{}, err
	}
	defer r.Close()
	out := bench.Result{Suite: "runtime", Mode: bench.Predictio, Reps: reps}
	var took []time.Duration
	for range reps {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		took = append(took, emit(r, file, src, n, emitters))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	emit(r, file, src, n, 1)
	runtime.ReadMemStats(&after)
	allocs := bench.Ratio(float64(after.Mallocs-before.Mallocs), float64(n))
	out.AllocsPerEvent = &allocs

	ns := float64(bench.Median(took)) / float64(n)
	out.NsPerEvent = bench.Ratio(ns, 1)
	out.EventsPerS = bench.Ratio(float64(emitters)*1e9, ns)
	return out, nil
}

// source makes an emitter's event, and a function that moves it on to an extent that
// was not named before. Both are memory of their own: emitters share no cache line.
type source func(file *hints.File, off int64) (e hints.Event, next func())

// padding keeps two emitters' extents apart, in elements.
const padding = 64

// stride and reach keep extents apart and inside the file, in bytes.
const (
	stride = 64 << 10
	reach  = 1 << 39
)

// children is a walk over a tree.
func children(file *hints.File, off int64) (hints.Event, func()) {
	list := make(hints.ChildList, 1, padding)
	list[0] = hints.Extent{File: file, Len: policy.PageSize}
	e := &hints.TreeChildEnter{
		Stream: hints.NewStream(), Fanout: 64, Dir: hints.Forward, Crossed: 1,
		Entered: hints.Extent{File: file, Len: policy.PageSize}, Children: list,
	}
	return e, func() {
		off += stride
		list[0].Off = off % reach
	}
}

// extents is a program that says what it will read.
func extents(file *hints.File, off int64) (hints.Event, func()) {
	list := make([]hints.Extent, 1, padding)
	list[0] = hints.Extent{File: file, Len: policy.PageSize}
	return &hints.WillNeed{Stream: hints.NewStream(), Extents: list}, func() {
		off += stride
		list[0].Off = off % reach
	}
}

// emit sends n events from each emitter and returns how long the slowest took.
func emit(sink hints.Sink, file *hints.File, src source, n, emitters int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	for i := range emitters {
		wg.Go(func() {
			e, next := src(file, int64(i)<<36)
			for range n {
				next()
				sink.Emit(e)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
