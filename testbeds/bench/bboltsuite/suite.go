// SPDX-License-Identifier: Apache-2.0

// Package bboltsuite measures bbolthint against bbolt's own cursor.
package bboltsuite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
)

// Options configure a run; the zero value is the full one in the temp folder.
type Options struct {
	Dir   string
	Quick bool     // some 300 MB, some 90 s
	Reps  int      // 0: the suite's own
	Only  string   // run cases whose name contains this
	Modes []string // besides the baseline; empty: all
	Seed  uint64   // of the order of modes
	Keep  bool     // leave the databases for the next run
	// Emit takes each result as it comes; Progress says what is being done.
	Emit     func(bench.Result) error
	Progress func(string)
}

// sizes are the databases of a run.
type sizes struct {
	small, large, mixed bboltdb.Spec
	tiny                bboltdb.Spec // of the warm cases: rows so short that a step's cost shows
	memory              int64        // bytes of the memlimit cases
}

func (o Options) sizes() sizes {
	if o.Quick {
		return sizes{
			small:  bboltdb.Spec{Records: 110_000, MinValue: 1024, MaxValue: 1024, Seed: 1},
			large:  bboltdb.Spec{Records: 5_000, MinValue: 20 << 10, MaxValue: 20 << 10, Seed: 2},
			mixed:  bboltdb.Spec{Records: 10_000, MinValue: 256, MaxValue: 64 << 10, Seed: 3},
			tiny:   bboltdb.Spec{Records: 100_000, MinValue: 100, MaxValue: 100, Seed: 4},
			memory: 64 << 20,
		}
	}
	return sizes{
		small:  bboltdb.Spec{Records: 1_000_000, MinValue: 1024, MaxValue: 1024, Seed: 1},
		large:  bboltdb.Spec{Records: 40_000, MinValue: 20 << 10, MaxValue: 20 << 10, Seed: 2},
		mixed:  bboltdb.Spec{Records: 200_000, MinValue: 256, MaxValue: 64 << 10, Seed: 3},
		tiny:   bboltdb.Spec{Records: 300_000, MinValue: 100, MaxValue: 100, Seed: 4},
		memory: 256 << 20,
	}
}

// suite is one run.
type suite struct {
	Options
	sizes
	paths map[string]string
	rng   *rand.Rand
}

// Run makes the databases and runs the cases.
func Run(ctx context.Context, o Options) error {
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	s := &suite{Options: o, sizes: o.sizes(), paths: map[string]string{}, rng: rand.New(rand.NewPCG(o.Seed, 1))}
	defer s.cleanup()
	for _, c := range s.cases() {
		if !strings.Contains(c.name, o.Only) {
			continue
		}
		path, err := s.database(ctx, c.spec)
		if err != nil {
			return err
		}
		o.Progress(c.name)
		results, err := c.run(ctx, s, c, path)
		if errors.Is(err, device.ErrNotSupported) {
			results, err = []bench.Result{{Suite: "bbolt", Case: c.name, Mode: bench.Predictio, Skipped: err.Error()}}, nil
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
func (s *suite) database(ctx context.Context, spec bboltdb.Spec) (string, error) {
	path := filepath.Join(s.Dir, spec.Name())
	if _, ok := s.paths[path]; ok {
		return path, nil
	}
	if _, err := os.Stat(path); err != nil {
		last := time.Now()
		err := bboltdb.Generate(ctx, path, spec, func(done int) {
			if time.Since(last) > time.Second {
				last = time.Now()
				s.Progress(fmt.Sprintf("making %s: %d%%", spec.Name(), 100*done/spec.Records))
			}
		})
		if err != nil {
			return "", err
		}
	}
	s.paths[path] = path
	return path, nil
}

func (s *suite) cleanup() {
	if s.Keep {
		return
	}
	for path := range s.paths {
		os.Remove(path)
	}
}
