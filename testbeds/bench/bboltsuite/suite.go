// SPDX-License-Identifier: Apache-2.0

// Package bboltsuite measures bbolthint against bbolt's own cursor.
package bboltsuite

import (
	"context"

	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
)

// sizes are the databases of a run.
type sizes struct {
	small, large, mixed bboltdb.Spec
	tiny                bboltdb.Spec // of the warm cases: rows so short that a step's cost shows
	memory              int64        // bytes of the memlimit cases
}

func sizesOf(o bench.Options) sizes {
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
	*bench.Suite
	sizes
}

// Run makes the databases and runs the cases.
func Run(ctx context.Context, o bench.Options) error {
	s := &suite{bench.NewSuite("bbolt", o), sizesOf(o)}
	defer s.Remove()
	for _, c := range s.cases() {
		err := s.Do(c.name, func() (string, error) {
			return s.Database(c.spec.Name(), c.spec.Records, func(path string, progress func(int)) error {
				return bboltdb.Generate(ctx, path, c.spec, progress)
			})
		}, func(path string) ([]bench.Result, error) { return c.run(ctx, s, c, path) })
		if err != nil {
			return err
		}
	}
	return nil
}
