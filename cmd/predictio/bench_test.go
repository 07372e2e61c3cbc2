// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/predictio/predictio/testbeds/bench"
)

func TestBenchRuntime(t *testing.T) {
	out := succeed(t, "bench", "runtime", "--quick", "--json", "--reps", "1").stdout
	// The names in docs/benchmarks.md.
	names := []string{"allocs_per_event", "case", "events_per_s", "mode", "ns_per_event", "reps", "suite"}
	var cases []string
	for line := range strings.Lines(out) {
		var fields map[string]any
		var r bench.Result
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		decode(t, result{stdout: line}, &r)
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, names) {
			t.Errorf("names %v, want %v", got, names)
		}
		if r.Suite != "runtime" || r.Mode != bench.Predictio || r.Reps != 1 || r.NsPerEvent <= 0 || r.EventsPerS <= 0 {
			t.Errorf("%s", line)
		}
		cases = append(cases, r.Case)
	}
	if want := []string{"emit-no-request", "emit-request", "emit-8-policies", "emit-parallel"}; !slices.Equal(cases, want) {
		t.Errorf("cases %v, want %v", cases, want)
	}
}

func TestBenchOneCaseAsText(t *testing.T) {
	out := succeed(t, "bench", "runtime", "--quick", "--reps", "1", "--case", "no-request").stdout
	if !strings.HasPrefix(out, "emit-no-request ") || !strings.Contains(out, "ns an event") || strings.Count(out, "\n") != 1 {
		t.Errorf("%q", out)
	}
}
