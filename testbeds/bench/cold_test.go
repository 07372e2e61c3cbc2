// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
)

// cache plays the page cache until the test ends: evicted is called for each
// eviction, after which so many pages are left.
func cache(t *testing.T, evicted func(), left int64, err error) {
	was := pagecache.System
	t.Cleanup(func() { pagecache.System = was })
	pagecache.System.DontNeed = func(int, int64, int64) error { evicted(); return nil }
	pagecache.System.Cached = func(int, int64, int64) (int64, error) { return left, err }
}

// tiny is a file of a few pages.
func tiny(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, make([]byte, 16*pagecache.PageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// events are what happens in a case, in order.
type events []string

func (l *events) add(s string) { *l = append(*l, s) }

// fake is a mode that gives a sample for each repetition, the last for all others.
func (l *events) fake(name string, samples ...Sample) Mode {
	return Mode{name, func(_ context.Context, rep int) (Sample, error) {
		l.add(name)
		return samples[min(rep, len(samples)-1)], nil
	}}
}

// runCase runs a case from a file that is cold whenever it was evicted.
func runCase(t *testing.T, l *events, c Case) ([]Result, error) {
	t.Helper()
	cache(t, func() { l.add("evict") }, 0, nil)
	c.File = tiny(t)
	c.Name = "case"
	return RunCase(t.Context(), "suite", c, rand.New(rand.NewPCG(1, 1)))
}

func took(ms ...int) (out []Sample) {
	for _, n := range ms {
		out = append(out, Sample{Took: time.Duration(n) * time.Millisecond, Rows: 10, Sum: 1})
	}
	return out
}

func TestModesAreInterleaved(t *testing.T) {
	const reps = 20
	var l events
	_, err := runCase(t, &l, Case{
		Reps: reps, Prepare: func(context.Context, int) error { l.add("prepare"); return nil },
		Modes: []Mode{l.fake(Baseline, took(1)...), l.fake(Noop, took(1)...), l.fake(Predictio, took(1)...)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	for i := 0; i < len(l); i += 3 {
		if l[i] != "evict" || l[i+1] != "prepare" {
			t.Fatalf("run %d: %v", len(runs), l[i:i+3])
		}
		runs = append(runs, l[i+2])
	}
	orders := make(map[string]bool)
	for rep := range slices.Chunk(runs, 3) {
		orders[strings.Join(rep, " ")] = true
		sorted := slices.Sorted(slices.Values(rep))
		if !slices.Equal(sorted, []string{Baseline, Noop, Predictio}) {
			t.Errorf("a repetition of %v", rep)
		}
	}
	if len(runs) != 3*reps || len(orders) < 2 {
		t.Errorf("%d runs in the orders %v", len(runs), orders)
	}
}

func TestFiguresAreMedians(t *testing.T) {
	var l events
	last := took(1, 2, 3)
	last[2].Hints, last[2].Requests, last[2].HasHints = 5, 6, true
	got, err := runCase(t, &l, Case{Reps: 3, Modes: []Mode{
		l.fake(Baseline, took(500, 10, 20)...), l.fake(Noop, took(40, 30, 1)...), l.fake(Predictio, last...),
	}})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []Result{
		{Mode: Noop, MS: 30, Speedup: 0.667, SpeedupVsNoop: 1, RowsPerSecond: 333.333},
		{Mode: Predictio, MS: 2, Speedup: 10, SpeedupVsNoop: 15, RowsPerSecond: 5000},
	} {
		r := got[i]
		if r.Suite != "suite" || r.Case != "case" || r.Reps != 3 || r.BaselineMS != 20 || r.NoopMS != 30 || r.Rows != 10 || !*r.Equal {
			t.Errorf("%+v", r)
		}
		if r.Mode != want.Mode || r.MS != want.MS || r.Speedup != want.Speedup || r.SpeedupVsNoop != want.SpeedupVsNoop || r.RowsPerSecond != want.RowsPerSecond {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if got[0].Hints != nil || *got[1].Hints != 5 || *got[1].Requests != 6 {
		t.Errorf("hints %v, %v", got[0].Hints, got[1].Hints)
	}
}

func TestDifferentResultsAreNotEqual(t *testing.T) {
	same := Sample{Rows: 10, Sum: 1}
	for name, tc := range map[string]struct {
		samples []Sample
		equal   bool
	}{
		"the same":            {[]Sample{same, same, same}, true},
		"another sum":         {[]Sample{{Rows: 10, Sum: 2}}, false},
		"fewer rows":          {[]Sample{{Rows: 9, Sum: 1}}, false},
		"once, and not again": {[]Sample{same, {Rows: 10, Sum: 2}, same}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var l events
			got, err := runCase(t, &l, Case{Reps: 3, Modes: []Mode{
				l.fake(Baseline, same), l.fake(Predictio, tc.samples...), l.fake("other", same),
			}})
			if err != nil || *got[0].Equal != tc.equal || !*got[1].Equal {
				t.Fatalf("equal: %v, the other's: %v, %v", *got[0].Equal, *got[1].Equal, err)
			}
			if differ := strings.Contains(got[0].String(), "RESULTS DIFFER"); differ == tc.equal {
				t.Errorf("%s", got[0])
			}
		})
	}
}

func TestBudgetEndsRepetitions(t *testing.T) {
	for name, tc := range map[string]struct {
		budget time.Duration
		reps   int
		want   int
	}{
		"spent by the first": {1, 100, 1},
		"not spent":          {time.Hour, 5, 5},
		"none":               {0, 5, 5},
		"no repetitions":     {0, 0, 1},
	} {
		var l events
		got, err := runCase(t, &l, Case{
			Reps: tc.reps, Budget: tc.budget, Modes: []Mode{l.fake(Baseline, took(1)...), l.fake(Predictio, took(1)...)},
		})
		if err != nil || got[0].Reps != tc.want || len(l) != 4*tc.want {
			t.Errorf("%s: %+v, %v, want %d repetitions", name, got, err, tc.want)
		}
	}
}

func TestCancelledCase(t *testing.T) {
	cache(t, func() {}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	mode := Mode{Baseline, func(context.Context, int) (Sample, error) {
		if runs++; runs == 2 {
			cancel()
		}
		return Sample{}, nil
	}}
	_, err := RunCase(ctx, "suite", Case{File: tiny(t), Modes: []Mode{mode, mode}, Reps: 5}, rand.New(rand.NewPCG(1, 1)))
	if !errors.Is(err, context.Canceled) || runs != 2 {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// A case fails with whatever fails in it, and has no figures then.
func TestFailingCase(t *testing.T) {
	failure := errors.New("failure")
	fails := func(context.Context, int) error { return failure }
	for name, c := range map[string]Case{
		"prepare": {Prepare: fails},
		"run": {Modes: []Mode{{Predictio, func(ctx context.Context, rep int) (Sample, error) {
			return Sample{}, fails(ctx, rep)
		}}}},
	} {
		var l events
		c.Modes = append(c.Modes, l.fake(Noop, took(1)...))
		if got, err := runCase(t, &l, c); !errors.Is(err, failure) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A run that can't be made cold is an error, not a figure.
func TestEvict(t *testing.T) {
	path := tiny(t)
	for name, tc := range map[string]struct {
		left      int64
		err       error
		want      error
		evictions int
	}{
		"cold":             {0, nil, nil, 1},
		"stays":            {1, nil, ErrNotCold, 3},
		"nobody can say":   {0, pagecache.ErrNotSupported, pagecache.ErrNotSupported, 1},
		"something broken": {0, os.ErrInvalid, os.ErrInvalid, 1},
	} {
		t.Run(name, func(t *testing.T) {
			evictions := 0
			cache(t, func() { evictions++ }, tc.left, tc.err)
			if err := Evict(path); !errors.Is(err, tc.want) || evictions != tc.evictions {
				t.Errorf("%v after %d evictions, want %v after %d", err, evictions, tc.want, tc.evictions)
			}
		})
	}
	if err := Evict(path + "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The real page cache, where it is one that can be asked and emptied.
func TestEvictForReal(t *testing.T) {
	path := tiny(t)
	err := Evict(path)
	if required := strings.Contains(os.Getenv("PREDICTIO_REQUIRE"), "pagecache"); !required &&
		(errors.Is(err, pagecache.ErrNotSupported) || errors.Is(err, ErrNotCold)) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := pagecache.Resident(int(f.Fd()), 16*pagecache.PageSize); n != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", n, err)
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		list []int64
		want int64
	}{{nil, 0}, {[]int64{7}, 7}, {[]int64{9, 1}, 5}, {[]int64{9, 1, 2}, 2}, {[]int64{1, 100, 2, 4}, 3}} {
		if got := Median(tc.list); got != tc.want {
			t.Errorf("of %v: %d, want %d", tc.list, got, tc.want)
		}
	}
}
