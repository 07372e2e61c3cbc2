// SPDX-License-Identifier: Apache-2.0

// Package bench is the frame of the benchmark suites: it runs a case's modes in
// turn, in random order and from the same cold state, and prints one JSON object
// a case and mode.
package bench

import (
	"fmt"
	"slices"
	"time"
)

// Result is one line of output. Its JSON names are a contract; what does not
// apply is left out. Times are medians over Reps.
type Result struct {
	Suite          string   `json:"suite"`
	Case           string   `json:"case"`
	Mode           string   `json:"mode"`
	Reps           int      `json:"reps"`
	BaselineMS     float64  `json:"baseline_ms,omitempty"`
	NoopMS         float64  `json:"noop_ms,omitempty"`
	MS             float64  `json:"ms,omitempty"`
	Speedup        float64  `json:"speedup,omitempty"`         // baseline_ms / ms
	SpeedupVsNoop  float64  `json:"speedup_vs_noop,omitempty"` // noop_ms / ms
	LimitMS        float64  `json:"limit_ms,omitempty"`        // the same pages, read directly at depth 64
	OfLimit        float64  `json:"of_limit,omitempty"`        // limit_ms / ms
	CeilingMS      float64  `json:"ceiling_ms,omitempty"`      // the baseline, with everything in the page cache
	OfCeiling      float64  `json:"of_ceiling,omitempty"`      // ceiling_ms / ms
	BaselineRead   int64    `json:"baseline_read_bytes,omitempty"`
	ReadBytes      int64    `json:"read_bytes,omitempty"`
	BaselineCPUMS  float64  `json:"baseline_cpu_ms,omitempty"` // user and system time
	CPUMS          float64  `json:"cpu_ms,omitempty"`
	Equal          *bool    `json:"equal,omitempty"` // same rows, same bytes
	ReadAheadKB    int      `json:"read_ahead_kb,omitempty"`
	Rows           int64    `json:"rows,omitempty"`
	RowsPerSecond  float64  `json:"rows_per_s,omitempty"`
	Hints          *uint64  `json:"hints,omitempty"`    // events emitted
	Requests       *uint64  `json:"requests,omitempty"` // requests submitted
	Overhead       float64  `json:"overhead,omitempty"` // wrapped / bare, cached
	NsPerRow       float64  `json:"ns_per_row,omitempty"`
	BareNsPerRow   float64  `json:"bare_ns_per_row,omitempty"`
	AllocsPerRow   *float64 `json:"allocs_per_row,omitempty"`
	NsPerEvent     float64  `json:"ns_per_event,omitempty"`
	EventsPerS     float64  `json:"events_per_s,omitempty"`
	AllocsPerEvent *float64 `json:"allocs_per_event,omitempty"`
	// Skipped says why a case could not run here; no figure is given then.
	Skipped string `json:"skipped,omitempty"`
}

// Median of a list; 0 if it is empty.
func Median[T int64 | float64 | time.Duration](list []T) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Clone(list)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// MS is a duration in milliseconds, to the microsecond.
func MS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Ratio is a/b to three digits, 0 where b is 0.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return float64(int64(a/b*1000+0.5)) / 1000
}

// String is the line for people.
func (r Result) String() string {
	head := fmt.Sprintf("%-22s %-11s", r.Case, r.Mode)
	switch {
	case r.Skipped != "":
		return head + " skipped: " + r.Skipped
	case r.NsPerEvent > 0:
		return fmt.Sprintf("%s %7.1f ns an event, %.1f M/s, %g allocations", head, r.NsPerEvent, r.EventsPerS/1e6, *r.AllocsPerEvent)
	case r.Overhead > 0:
		return fmt.Sprintf("%s %7.1f ns a row, bare %.1f: %.3f of it, %g allocations%s", head, r.NsPerRow, r.BareNsPerRow, r.Overhead, *r.AllocsPerRow, r.unequal())
	}
	s := fmt.Sprintf("%s %9.1f ms, bare %9.1f: %6.2f times as fast", head, r.MS, r.BaselineMS, r.Speedup)
	if r.OfLimit > 0 {
		s += fmt.Sprintf(", %.2f of the device's limit", r.OfLimit)
	}
	if r.OfCeiling > 0 {
		s += fmt.Sprintf(", %.2f of what a warm cache gives", r.OfCeiling)
	}
	return s + fmt.Sprintf(", CPU %.0f ms, bare %.0f, read %.1f MB, bare %.1f%s",
		r.CPUMS, r.BaselineCPUMS, float64(r.ReadBytes)/1e6, float64(r.BaselineRead)/1e6, r.unequal())
}

func (r Result) unequal() string {
	if r.Equal != nil && !*r.Equal {
		return ", RESULTS DIFFER"
	}
	return ""
}
