// SPDX-License-Identifier: Apache-2.0

// Package pebblesuite measures pebblehint and pebblev1hint against Pebble with its
// own readahead, over tables in one level and in many.
package pebblesuite

import (
	"context"

	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

const suiteName = "pebble"

// sizes are how much there is and how much of it is read.
type sizes struct {
	rows     int // of a database
	scans    int // short ones in a run
	gets     int // in a run of ycsb-c
	warm     int // rows of a warm pass
	sittings int // of a warm case: times that both databases are opened anew
	rounds   int // pairs of measurements in a sitting
}

func sizesOf(o bench.Options) sizes {
	if o.Quick {
		return sizes{rows: 60_000, scans: 100, gets: 2000, warm: 10_000, sittings: 2, rounds: 5}
	}
	return sizes{rows: 1_000_000, scans: 700, gets: 10_000, warm: 100_000, sittings: 4, rounds: 11}
}

// suite is one run.
type suite struct {
	*bench.Suite
	sizes
}

func newSuite(o bench.Options) *suite { return &suite{bench.NewSuite(suiteName, o), sizesOf(o)} }

// Run makes the databases and runs the cases.
func Run(ctx context.Context, o bench.Options) error {
	s := newSuite(o)
	defer s.Remove()
	for _, c := range s.cases() {
		err := s.Do(c.name(), func() (string, error) { return s.database(ctx, c.db.spec) },
			func(path string) ([]bench.Result, error) { return c.run(ctx, s, c, path) })
		if err != nil {
			return err
		}
	}
	return nil
}

// database returns the path of a spec's database, made if it isn't there.
func (s *suite) database(ctx context.Context, spec pebbledb.Spec) (string, error) {
	return s.Database(spec.Name(), spec.Rows, func(path string, progress func(int)) error {
		return pebbledb.Generate(ctx, path, spec, progress)
	})
}
