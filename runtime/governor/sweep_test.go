// SPDX-License-Identifier: Apache-2.0

package governor

import (
	"testing"

	"github.com/predictio/predictio/hints"
)

func TestDecide(t *testing.T) {
	const size = 1 << 30
	at := func(o hints.Origin, share float64) Progress {
		return Progress{Origin: o, Visited: int64(share * size), TreeBytes: size, FileBytes: size, MayRead: size}
	}
	less := func(share float64) float64 { return share * 0.99 }
	more := func(share float64) float64 { return share * 1.01 }
	for _, tc := range []struct {
		name string
		p    Progress
		want Sweep
	}{
		{"certain, at once", at(hints.Certain, 0), FullSweep},
		{"read before, too early", at(hints.Again, less(againAt)), NoSweep},
		{"read before", at(hints.Again, more(againAt)), FullSweep},
		{"from an end, too early", at(hints.FromEnd, less(fromEndAt)), NoSweep},
		{"from an end", at(hints.FromEnd, more(fromEndAt)), PacedSweep},
		{"from the middle, too early", at(hints.FromSeek, less(seekAt)), NoSweep},
		{"from the middle", at(hints.FromSeek, more(seekAt)), PacedSweep},
		{"all visited", at(hints.FromSeek, 1), PacedSweep},

		{"a small tree", Progress{hints.Certain, 0, size * 49 / 100, size, size}, NoSweep},
		{"half the file is enough", Progress{hints.Certain, 0, size / 2, size, size}, FullSweep},
		{"a tree of unknown size", Progress{hints.Certain, size, 0, size, size}, NoSweep},
		{"a file that just fits", Progress{hints.Certain, 0, size, size, size}, FullSweep},
		{"a file too large for memory", Progress{hints.Certain, 0, size, size, size - 1}, NoSweep},
		{"sweeps forbidden", Progress{hints.Certain, 0, size, size, 0}, NoSweep},
		{"an empty file", Progress{hints.Certain, 0, 0, 0, size}, NoSweep},
		{"nothing known", Progress{}, NoSweep},
		{"nonsense", Progress{hints.Origin(99), size, size, size, size}, NoSweep},
	} {
		if got := tc.p.Decide(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
