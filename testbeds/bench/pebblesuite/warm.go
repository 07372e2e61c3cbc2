// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

const (
	// largeCache holds all that a warm case reads, smallCache next to nothing of it:
	// the latter is Pebble's default.
	largeCache = 1 << 30
	smallCache = 8 << 20
	// warmPasses come before the measurements: they fill the caches, and the hints
	// fall silent.
	warmPasses = 3
)

// warmCases measure rows of which nothing has to be read from storage, in long scans
// and in short ones.
func (s *suite) warmCases(d database) []benchCase {
	long := func(v *view) error { return v.glance(nil, s.warm) }
	shorts := func(v *view) error {
		rng := v.random()
		for range s.warm / maxShort { // half the rows of long: iterators cost more than rows
			from, n := rng.IntN(v.within-maxShort), 1+rng.IntN(maxShort)
			if err := v.glance(pebbledb.Key(from), n); err != nil {
				return err
			}
		}
		return nil
	}
	return []benchCase{
		{title: "next-warm", db: d, work: long, run: runWarm},
		{title: "short-warm", db: d, work: shorts, run: runWarm},
	}
}

// glance reads n rows from a key on, nil being the first, with as little work as possible
// besides.
func (v *view) glance(from []byte, n int) error {
	rows, sum, err := v.store.count(from, n)
	v.rows += rows
	v.sum += sum
	return err
}

// runWarm measures a case with everything in the block cache, and with everything in
// the page cache alone. The worse of the two is the case's result.
func runWarm(ctx context.Context, s *suite, c benchCase, path string) ([]bench.Result, error) {
	if len(s.Modes) > 0 && !slices.Contains(s.Modes, bench.Predictio) {
		return nil, nil
	}
	twin, err := link(path)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(twin)
	var out []bench.Result
	for _, where := range []struct {
		name  string
		cache int64
	}{{"blockcache", largeCache}, {"pagecache", smallCache}} {
		r, err := s.warmIn(ctx, c, [2]string{path, twin}, where.cache)
		if err != nil {
			return nil, err
		}
		r.Case += "-" + where.name
		out = append(out, r)
	}
	worse := out[0]
	if out[1].Overhead > worse.Overhead {
		worse = out[1]
	}
	worse.Case = c.name()
	return append([]bench.Result{worse}, out...), nil
}

// warmIn compares a bare and a hinted database, pass by pass. They are two directories
// with the same files, for a database can be open once only, and the hooks of one that
// is hinted stay in it.
func (s *suite) warmIn(ctx context.Context, c benchCase, dirs [2]string, cache int64) (bench.Result, error) {
	r := bench.Result{Suite: suiteName, Case: c.name(), Mode: bench.Predictio, Reps: s.sittings * s.rounds}
	m := &pairs{equal: true}
	for sitting := range s.sittings {
		// Where in memory a database lies must not decide: which directory it is, and which
		// of the two is opened and read first.
		if sitting%2 == 1 {
			dirs[0], dirs[1] = dirs[1], dirs[0]
		}
		if err := s.sit(ctx, c, dirs, cache, sitting/2%2 == 1, m); err != nil {
			return r, err
		}
	}
	r.Rows, r.Equal = m.rows, &m.equal
	r.Overhead = bench.Ratio(bench.Median(m.ratios), 1)
	r.NsPerRow = bench.Ratio(float64(bench.Median(m.hinted)), float64(m.rows))
	r.BareNsPerRow = bench.Ratio(float64(bench.Median(m.bare)), float64(m.rows))
	allocs := bench.Ratio(max(0, bench.Median(m.allocs)), float64(m.rows))
	r.AllocsPerRow = &allocs
	return r, nil
}

// pairs are measurements of a bare and a hinted pass, made one after the other.
type pairs struct {
	bare, hinted []time.Duration
	ratios       []float64
	allocs       []float64 // that the hinted pass had more
	rows         int64
	equal        bool
}

// sit opens both databases and measures rounds of passes.
func (s *suite) sit(ctx context.Context, c benchCase, dirs [2]string, cache int64, hintedFirst bool, m *pairs) (err error) {
	rt, err := predictio.Open(predictio.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	var views [2]func() *view
	setups := [2]setup{{hooks: bare}, {hooks: attached, sink: rt}}
	order := [2]int{0, 1}
	if hintedFirst {
		order = [2]int{1, 0}
	}
	for _, i := range order {
		o := setups[i]
		o.spec, o.cache, o.native = c.db.spec, cache, true
		st, err := o.open(dirs[i])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, st.close()) }()
		views[i] = func() *view {
			return &view{store: st, ctx: ctx, spec: c.db.spec, within: min(s.warm, c.db.spec.Rows)}
		}
	}
	once := func(which int) (time.Duration, float64, tally, error) {
		v := views[which]()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		err := c.work(v)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		return took, float64(after.Mallocs - before.Mallocs), v.tally, err
	}
	for range warmPasses {
		for _, which := range order {
			if _, _, _, err := once(which); err != nil {
				return err
			}
		}
	}
	for round := range s.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		var took [2]time.Duration
		var allocs [2]float64
		var tallies [2]tally
		for i := range 2 {
			which := (i + round) % 2
			if took[which], allocs[which], tallies[which], err = once(which); err != nil {
				return err
			}
		}
		m.equal = m.equal && tallies[0] == tallies[1]
		m.rows = tallies[0].rows
		m.bare, m.hinted = append(m.bare, took[0]), append(m.hinted, took[1])
		m.ratios = append(m.ratios, float64(took[1])/float64(took[0]))
		m.allocs = append(m.allocs, allocs[1]-allocs[0])
	}
	return nil
}

// link makes a second directory with a database's files: the tables themselves, which
// are in the page cache once then, and copies of the others.
func link(dir string) (twin string, err error) {
	twin = dir + ".twin"
	if err := os.RemoveAll(twin); err != nil {
		return "", err
	}
	if err := os.Mkdir(twin, 0o755); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(twin)
		}
	}()
	paths, err := bench.Files(dir)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		name := filepath.Base(path)
		to := filepath.Join(twin, name)
		switch {
		case name == "LOCK":
		case strings.HasSuffix(name, ".sst"):
			if err = os.Link(path, to); err != nil {
				err = fmt.Errorf("%w: %w", device.ErrNotSupported, err)
			}
		default:
			err = copyFile(path, to)
		}
		if err != nil {
			return "", err
		}
	}
	return twin, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
