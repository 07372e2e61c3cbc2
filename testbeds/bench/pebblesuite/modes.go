// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"context"
	"errors"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/readahead"
	"github.com/predictio/predictio/testbeds/bench"
)

// The modes besides those of every suite. Baseline is Pebble with its own readahead;
// noop is ours with neither, so that it is the hooks' cost over none.
const (
	none          = "none"           // no readahead at all
	predictioRows = "predictio-rows" // told how many rows will be read
	fileSystem    = "fs"             // the file system alone, and Pebble's readahead
	migrated      = "migrated"       // Pebble's readahead as our policy, in place of its own
	migratedLarge = "migrated-large" // the same in large requests
	goroutines    = "goroutines"     // Pebble, from 16 goroutines
)

// coldCache is the block cache of a cold run, in bytes: small against a database.
const coldCache = 32 << 20

// hooksOf says what a mode puts into Pebble, and with which policies and backend.
func hooksOf(mode string) (native bool, h hooks, o predictio.Options) {
	switch mode {
	case none:
		return false, bare, o
	case bench.Noop:
		o.Backend = &noop.Backend{}
		return false, attached, o
	case bench.Predictio, predictioRows:
		return true, attached, o
	case fileSystem:
		o.Policies = []policy.Policy{readahead.Files()}
		return true, fileOnly, o
	case migrated:
		o.Policies = []policy.Policy{readahead.Native()}
		return false, fileOnly, o
	case migratedLarge:
		o.Policies = []policy.Policy{readahead.Coalesced()}
		return false, fileOnly, o
	}
	return true, bare, o
}

// mode builds a bench.Mode for a case.
func (s *suite) mode(c benchCase, name, path string) bench.Mode {
	return bench.Mode{Name: name, Run: func(ctx context.Context, rep int) (bench.Sample, error) {
		return s.once(ctx, c, name, path, rep, true)
	}}
}

// once opens the database in a mode, does the case's work and measures that. cold: what
// the preparations have read is evicted again.
func (s *suite) once(ctx context.Context, c benchCase, mode, path string, rep int, cold bool) (sample bench.Sample, err error) {
	native, hooks, options := hooksOf(mode)
	o := setup{spec: c.db.spec, cache: coldCache, native: native, write: c.write, hooks: hooks}
	var rt *predictio.Runtime
	if hooks != bare {
		if rt, err = predictio.Open(options); err != nil {
			return sample, err
		}
		defer func() { err = errors.Join(err, rt.Close()) }()
		o.sink = rt
	}
	st, err := o.open(path)
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	v := &view{
		store: st, ctx: ctx, spec: c.db.spec, rep: rep, within: c.db.spec.Rows,
		tell: mode == predictioRows, threads: mode == goroutines,
	}
	if c.running {
		if err := touch(st); err != nil {
			return sample, err
		}
		if cold {
			if err := bench.EvictDir(path); err != nil {
				return sample, err
			}
		}
	}
	var before predictio.Counters
	if rt != nil {
		before = rt.Stats().Total()
	}
	measured := bench.Meter()
	err = c.work(v)
	measured(&sample)
	sample.Rows, sample.Sum = v.rows, v.sum
	if rt != nil {
		total := rt.Stats().Total()
		sample.Hints, sample.Requests, sample.HasHints = total.Events-before.Events, total.Accepted-before.Accepted, true
	}
	return sample, err
}

// touch makes a store read from each of its tables, so that they are open as those of
// a running server are, and what a mode keeps of them is in memory.
func touch(s store) error {
	keys, err := s.firstKeys()
	if err != nil {
		return err
	}
	return s.multiGet(keys, func(_, _ []byte) {})
}
