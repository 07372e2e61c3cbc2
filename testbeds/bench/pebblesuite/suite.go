// SPDX-License-Identifier: Apache-2.0

// Package pebblesuite measures pebblehint and pebblev1hint against Pebble with its
// own readahead, over tables in one level and in many.
package pebblesuite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

const suiteName = "pebble"

// Options configure a run; the zero value is the full one in the temp folder.
type Options struct {
	Dir   string
	Quick bool     // some 250 MB, some 2 minutes
	Reps  int      // 0: the suite's own
	Only  string   // run cases whose name contains this
	Modes []string // besides the baseline; empty: all
	Seed  uint64   // of the order of modes
	Keep  bool     // leave the databases for the next run
	// Emit takes each result as it comes; Progress says what is being done.
	Emit     func(bench.Result) error
	Progress func(string)
}

// sizes are how much there is and how much of it is read.
type sizes struct {
	rows     int // of a database
	scans    int // short ones in a run
	gets     int // in a run of ycsb-c
	warm     int // rows of a warm pass
	sittings int // of a warm case: times that both databases are opened anew
	rounds   int // pairs of measurements in a sitting
}

func (o Options) sizes() sizes {
	if o.Quick {
		return sizes{rows: 60_000, scans: 100, gets: 2000, warm: 10_000, sittings: 2, rounds: 5}
	}
	return sizes{rows: 1_000_000, scans: 700, gets: 10_000, warm: 100_000, sittings: 4, rounds: 11}
}

// suite is one run.
type suite struct {
	Options
	sizes
	made map[string]bool // paths of databases
	rng  *rand.Rand
}

// Run makes the databases and runs the cases.
func Run(ctx context.Context, o Options) error {
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	s := &suite{Options: o, sizes: o.sizes(), made: map[string]bool{}, rng: rand.New(rand.NewPCG(o.Seed, 1))}
	defer s.cleanup()
	for _, c := range s.cases() {
		if !strings.Contains(c.name(), o.Only) {
			continue
		}
		path, err := s.database(ctx, c.db.spec)
		if err != nil {
			return err
		}
		o.Progress(c.name())
		results, err := c.run(ctx, s, c, path)
		if errors.Is(err, device.ErrNotSupported) {
			results, err = []bench.Result{{Suite: suiteName, Case: c.name(), Mode: bench.Predictio, Skipped: err.Error()}}, nil
		}
		if err != nil {
			return err
		}
		for _, r := range results {
			if err := o.Emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// database returns the path of a spec's database, made if it isn't there.
func (s *suite) database(ctx context.Context, spec pebbledb.Spec) (string, error) {
	path := filepath.Join(s.Dir, spec.Name())
	if s.made[path] {
		return path, nil
	}
	if _, err := os.Stat(path); err != nil {
		last := time.Now()
		err := pebbledb.Generate(ctx, path, spec, func(done int) {
			if time.Since(last) > time.Second {
				last = time.Now()
				s.Progress(fmt.Sprintf("making %s: %d%%", spec.Name(), 100*done/spec.Rows))
			}
		})
		if err != nil {
			return "", err
		}
	}
	s.made[path] = true
	return path, nil
}

func (s *suite) cleanup() {
	if s.Keep {
		return
	}
	for path := range s.made {
		os.RemoveAll(path)
	}
}
