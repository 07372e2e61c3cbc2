// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/testbeds/device"
)

// Names of the modes that every suite has.
const (
	Baseline  = "baseline"  // the engine as it comes
	Noop      = "noop"      // hints and policies, but a backend that does nothing
	Predictio = "predictio" // the product with its defaults
)

// Sample is what one run gave.
type Sample struct {
	Took            time.Duration
	Rows            int64
	Sum             uint64 // of all that was read
	Hints, Requests uint64
	HasHints        bool
}

// Mode is one way to do a case's work.
type Mode struct {
	Name string
	// Run does the work once, from a cold file, and times the part that counts. rep
	// is the same for all modes of a repetition.
	Run func(ctx context.Context, rep int) (Sample, error)
}

// Case is one piece of work in several modes; the first is the baseline.
type Case struct {
	Name  string
	File  string // evicted before each run
	Modes []Mode
	// Prepare, if not nil, brings the evicted file into the state that each run of
	// the repetition starts from.
	Prepare func(ctx context.Context, rep int) error
	// Limit: also measure the device's own time for the baseline's bytes.
	Limit bool
	Reps  int
	// Budget ends the repetitions early; there is always one.
	Budget time.Duration
}

// ErrNotCold is returned if a file could not be brought out of the page cache.
var ErrNotCold = errors.New("bench: the file stays in the page cache")

// MaxWarm is the part of a file that may still be cached in a run called cold.
const MaxWarm = 0.001

// Evict drops a file from the page cache and verifies that it is gone.
func Evict(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var cached int64
	for range 3 { // pages that are being read can't be dropped at once
		if err := pagecache.Evict(f); err != nil {
			return err
		}
		if cached, err = pagecache.Resident(int(f.Fd()), st.Size()); err != nil {
			return err
		}
		if float64(cached) <= MaxWarm*float64(st.Size()) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%w: %s, %d of %d bytes", ErrNotCold, path, cached, st.Size())
}

// RunCase runs a case and returns a line for each mode but the baseline.
func RunCase(ctx context.Context, suite string, c Case, rng *rand.Rand) ([]Result, error) {
	type tally struct {
		took   []time.Duration
		read   []int64
		cpu    []time.Duration
		sample Sample
		equal  bool
	}
	tallies := make([]tally, len(c.Modes))
	for i := range tallies {
		tallies[i].equal = true
	}
	var limits []time.Duration
	started := time.Now()
	reps := 0
	for ; reps < max(1, c.Reps); reps++ {
		if reps > 0 && c.Budget > 0 && time.Since(started) > c.Budget {
			break
		}
		samples := make([]Sample, len(c.Modes))
		for _, i := range rng.Perm(len(c.Modes)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := Evict(c.File); err != nil {
				return nil, err
			}
			if c.Prepare != nil {
				if err := c.Prepare(ctx, reps); err != nil {
					return nil, err
				}
			}
			before, _ := device.ReadBytes()
			cpu := cpuTime()
			s, err := c.Modes[i].Run(ctx, reps)
			if err != nil {
				return nil, fmt.Errorf("%s in mode %s: %w", c.Name, c.Modes[i].Name, err)
			}
			t := &tallies[i]
			t.took = append(t.took, s.Took)
			after, _ := device.ReadBytes()
			t.read = append(t.read, after-before)
			t.cpu = append(t.cpu, cpuTime()-cpu)
			t.sample, samples[i] = s, s
			if i == 0 && c.Limit {
				took, err := limit(c.File)
				if err != nil && !errors.Is(err, device.ErrNotSupported) {
					return nil, err
				}
				if err == nil {
					limits = append(limits, took)
				}
			}
		}
		for i, s := range samples {
			if s.Sum != samples[0].Sum || s.Rows != samples[0].Rows {
				tallies[i].equal = false
			}
		}
	}

	base := MS(Median(tallies[0].took))
	noop, limitMS := 0.0, MS(Median(limits))
	for i, m := range c.Modes {
		if m.Name == Noop {
			noop = MS(Median(tallies[i].took))
		}
	}
	var out []Result
	for i, m := range c.Modes[1:] {
		t := &tallies[i+1]
		ms := MS(Median(t.took))
		r := Result{
			Suite: suite, Case: c.Name, Mode: m.Name, Reps: reps,
			BaselineMS: base, NoopMS: noop, MS: ms,
			Speedup: Ratio(base, ms), SpeedupVsNoop: Ratio(noop, ms),
			LimitMS: limitMS, OfLimit: Ratio(limitMS, ms),
			BaselineRead: Median(tallies[0].read), ReadBytes: Median(t.read),
			BaselineCPUMS: MS(Median(tallies[0].cpu)), CPUMS: MS(Median(t.cpu)),
			Equal: &t.equal, Rows: t.sample.Rows, RowsPerSecond: Ratio(float64(t.sample.Rows)*1000, ms),
		}
		if t.sample.HasHints {
			r.Hints, r.Requests = &t.sample.Hints, &t.sample.Requests
		}
		out = append(out, r)
	}
	return out, nil
}

// runPages is how many pages in a row the baseline's pages lie in, on average, from
// which on the limit reads runs rather than pages.
const runPages = 2

// limit measures the device for what a run of the baseline has left in the cache,
// exactly the pages it had to read, in random order. Scattered pages are read one by
// one, as they have to be by whoever learns of them one by one; where most lie in
// runs, so do the reads.
func limit(path string) (time.Duration, error) {
	pages, err := device.Resident(path)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", device.ErrNotSupported, err)
	}
	if runs := device.Join(pages, device.MaxDirect); runPages*len(runs) <= len(pages) {
		pages = runs
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	if err := Evict(path); err != nil {
		return 0, err
	}
	return device.ReadDirect(path, pages)
}
