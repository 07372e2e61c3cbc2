// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
	// Metered: Read and CPU are those of the timed part. Otherwise all that Run does
	// counts.
	Metered bool
	Read    int64
	CPU     time.Duration
}

// Meter starts to measure the part of a run that counts; what it returns ends that
// and notes time, bytes read and processor time in a Sample.
func Meter() func(*Sample) {
	read, _ := device.ReadBytes()
	cpu, start := cpuTime(), time.Now()
	return func(s *Sample) {
		s.Took = time.Since(start)
		after, _ := device.ReadBytes()
		s.Metered, s.Read, s.CPU = true, after-read, cpuTime()-cpu
	}
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
	Dir   string // instead of File: all files in it are
	Modes []Mode
	// Prepare, if not nil, brings the evicted file into the state that each run of
	// the repetition starts from.
	Prepare func(ctx context.Context, rep int) error
	// Limit: also measure the device's own time for the baseline's bytes.
	Limit bool
	Reps  int
	// Ceiling, if not nil, does the baseline's work once more, with everything cached:
	// what remains if nothing has to be waited for.
	Ceiling func(ctx context.Context, rep int) (Sample, error)
	// Slow bounds the repetitions of modes, by name, that are too slow for more.
	Slow map[string]int
	// Budget ends the repetitions early; there is always one.
	Budget time.Duration
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
	var limits, ceilings []time.Duration
	started := time.Now()
	reps := 0
	for ; reps < max(1, c.Reps); reps++ {
		if reps > 0 && c.Budget > 0 && time.Since(started) > c.Budget {
			break
		}
		samples := make([]*Sample, len(c.Modes))
		for _, i := range rng.Perm(len(c.Modes)) {
			if most := c.Slow[c.Modes[i].Name]; most > 0 && reps >= most {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := c.evict(); err != nil {
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
			if !s.Metered {
				after, _ := device.ReadBytes()
				s.Read, s.CPU = after-before, cpuTime()-cpu
			}
			t := &tallies[i]
			t.took = append(t.took, s.Took)
			t.read = append(t.read, s.Read)
			t.cpu = append(t.cpu, s.CPU)
			t.sample, samples[i] = s, &s
			if i == 0 && c.Ceiling != nil {
				s, err := c.Ceiling(ctx, reps)
				if err != nil {
					return nil, err
				}
				ceilings = append(ceilings, s.Took)
			}
			if i == 0 && c.Limit {
				took, err := c.limit()
				if err != nil && !errors.Is(err, device.ErrNotSupported) {
					return nil, err
				}
				if err == nil {
					limits = append(limits, took)
				}
			}
		}
		for i, s := range samples {
			if s != nil && (s.Sum != samples[0].Sum || s.Rows != samples[0].Rows) {
				tallies[i].equal = false
			}
		}
	}

	base := MS(Median(tallies[0].took))
	noop, limitMS, ceilingMS := 0.0, MS(Median(limits)), MS(Median(ceilings))
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
			Suite: suite, Case: c.Name, Mode: m.Name, Reps: len(t.took),
			BaselineMS: base, NoopMS: noop, MS: ms,
			Speedup: Ratio(base, ms), SpeedupVsNoop: Ratio(noop, ms),
			LimitMS: limitMS, OfLimit: Ratio(limitMS, ms),
			CeilingMS: ceilingMS, OfCeiling: Ratio(ceilingMS, ms),
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
