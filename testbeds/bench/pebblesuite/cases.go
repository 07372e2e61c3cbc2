// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"context"
	"slices"
	"time"

	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

// database is one that cases run on.
type database struct {
	name string
	spec pebbledb.Spec
}

// benchCase is a case of the suite.
type benchCase struct {
	title string // without the database's name
	db    database
	run   func(ctx context.Context, s *suite, c benchCase, path string) ([]bench.Result, error)

	// Of cold cases:
	work  work
	modes []string
	reps  int
	slow  map[string]int // repetitions of modes that take too long for more
	whole bool           // everything is scanned
	// first: it ends so soon that it takes many repetitions to tell.
	first bool
	// running: the tables are open, as those of a running server are.
	running bool
	// write: there are inserts.
	write bool
}

func (c benchCase) name() string { return c.db.name + "/" + c.title }

// What a case of a quick and of a full run may take, more or less; a full run's scans
// of everything may take what they need.
const (
	quickBudget = time.Second
	fullBudget  = 30 * time.Second
)

var (
	usual = []string{bench.Noop, none, bench.Predictio, fileSystem}
	// whole are the modes of a scan of everything, which takes long without readahead.
	whole = append(slices.Clone(usual), migrated, migratedLarge)
	// downward scans have no readahead of Pebble's, so none is the baseline.
	downward = []string{bench.Predictio, fileSystem}
)

// valueSize is that of all rows, in bytes.
const valueSize = 1024

// cases lists the suite.
func (s *suite) cases() (all []benchCase) {
	db := func(name string, old bool, l pebbledb.Layout, c pebbledb.Compression) database {
		return database{name, pebbledb.Spec{V1: old, Layout: l, Compression: c, Rows: s.rows, ValueSize: valueSize, Seed: 1}}
	}
	for _, d := range []database{
		db("many-levels", false, pebbledb.ManyLevels, pebbledb.Snappy),
		db("one-level", false, pebbledb.OneLevel, pebbledb.Snappy),
	} {
		all = append(all, s.most(d)...)
		all = append(all, s.more(d)...)
		all = append(all, s.warmCases(d)...)
	}
	for _, d := range []database{
		db("uncompressed", false, pebbledb.OneLevel, pebbledb.None),
		db("zstd", false, pebbledb.OneLevel, pebbledb.Zstd),
	} {
		all = append(all, s.few(d)...)
	}
	for _, d := range []database{
		db("v1/many-levels", true, pebbledb.ManyLevels, pebbledb.Snappy),
		db("v1/one-level", true, pebbledb.OneLevel, pebbledb.Snappy),
	} {
		all = append(all, s.most(d)...)
		all = append(all, s.warmCases(d)...)
	}
	return all
}

// most are the cases of every database whose layout is of interest. v1's show that it
// is not otherwise there, in fewer modes and repetitions.
func (s *suite) most(d database) []benchCase {
	usual, whole, reps := usual, whole, 5
	if d.spec.V1 {
		usual, whole, reps = usual[1:], whole[1:], 3
	}
	withRows := append(slices.Clone(usual), predictioRows)
	batch := append(slices.Clone(usual), goroutines)
	return []benchCase{
		everything(d, "seq-full", 3, whole, full),
		cold(d, "short-unbounded", reps, withRows, short(s.scans, unbounded)),
		cold(d, "short-bounded", reps, usual, short(s.scans, bounded)),
		cold(d, "short-reverse", reps, usual, short(s.scans, downwards)),
		cold(d, "scan-1024", 15, usual, scan(1024)),
		cold(d, "reverse-8192", 9, usual, reverse(8192)),
		running(cold(d, "ycsb-c", 3, usual, ycsbC(s.gets))),
		first(cold(d, "first-scan", 25, usual, short(1, unbounded))),
		first(cold(d, "first-get", 25, usual, getOne)),
		running(cold(d, "multiget-100", 15, batch, multiGet(100))),
		running(cold(d, "multiget-10000", 5, batch, multiGet(10_000))),
	}
}

// more are the cases of v2 alone.
func (s *suite) more(d database) []benchCase {
	e := cold(d, "ycsb-e", 5, usual, ycsbE(s.scans))
	e.write = true
	return []benchCase{
		e,
		cold(d, "scan-8192", 9, usual, scan(8192)),
		cold(d, "scan-65536", 5, usual, scan(min(65_536, s.rows))),
		everything(d, "reverse-full", 2, downward, reverseFull),
	}
}

// few are the cases that show what compression does.
func (s *suite) few(d database) []benchCase {
	return []benchCase{
		everything(d, "seq-full", 3, []string{none, bench.Predictio, fileSystem}, full),
		cold(d, "scan-65536", 5, usual, scan(min(65_536, s.rows))),
		cold(d, "short-unbounded", 5, usual, short(s.scans, unbounded)),
		cold(d, "reverse-8192", 9, usual, reverse(8192)),
	}
}

// cold is a case from an evicted directory.
func cold(d database, title string, reps int, modes []string, w work) benchCase {
	return benchCase{title: title, db: d, work: w, modes: modes, reps: reps, run: runCold}
}

// everything is a cold case that scans everything.
func everything(d database, title string, reps int, modes []string, w work) benchCase {
	c := cold(d, title, reps, modes, w)
	c.slow, c.whole = map[string]int{bench.Noop: 1, none: 1}, true
	return c
}

func running(c benchCase) benchCase {
	c.running = true
	return c
}

func first(c benchCase) benchCase {
	c.first = true
	return c
}

func runCold(ctx context.Context, s *suite, c benchCase, path string) ([]bench.Result, error) {
	b := bench.Case{Name: c.name(), Dir: path, Reps: c.reps, Slow: c.slow, Limit: true, Modes: []bench.Mode{s.mode(c, bench.Baseline, path)}}
	b.Ceiling = func(ctx context.Context, rep int) (bench.Sample, error) {
		return s.once(ctx, c, bench.Baseline, path, rep, false)
	}
	if s.Reps > 0 {
		b.Reps = s.Reps
	}
	switch {
	case c.first:
	case s.Quick:
		b.Budget = quickBudget
	case !c.whole:
		b.Budget = fullBudget
	}
	for _, m := range c.modes {
		if len(s.Modes) > 0 && !slices.Contains(s.Modes, m) {
			continue
		}
		b.Modes = append(b.Modes, s.mode(c, m, path))
	}
	return bench.RunCase(ctx, suiteName, b, s.Rng)
}
