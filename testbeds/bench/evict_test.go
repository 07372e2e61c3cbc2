// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
)

// folder is a directory with files of so many pages, and one with a file in it.
func folder(t *testing.T, pages ...int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d"}
	for i, n := range pages {
		if err := os.WriteFile(filepath.Join(dir, names[i]), make([]byte, n*pagecache.PageSize), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "inner", "e"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Of a directory, all files together may have so much left as a file may.
func TestEvictDir(t *testing.T) {
	dir := folder(t, 2000, 1, 0)
	for name, tc := range map[string]struct {
		left      int64 // pages of each file
		want      error
		evictions int
	}{
		"cold":                  {0, nil, 3},
		"a page here and there": {1, ErrNotCold, 9},
	} {
		t.Run(name, func(t *testing.T) {
			evictions := 0
			cache(t, func() { evictions++ }, tc.left, nil)
			if err := EvictDir(dir); !errors.Is(err, tc.want) || evictions != tc.evictions {
				t.Errorf("%v after %d evictions, want %v after %d", err, evictions, tc.want, tc.evictions)
			}
		})
	}
	// One page of 2001 is less than MaxWarm of all, and more than that of its file.
	evictions := 0
	cache(t, func() { evictions++ }, 0, nil)
	pagecache.System.Cached = func(_ int, _, n int64) (int64, error) {
		if n == pagecache.PageSize {
			return 1, nil
		}
		return 0, nil
	}
	if err := EvictDir(dir); err != nil || evictions != 3 {
		t.Errorf("%v after %d evictions", err, evictions)
	}
	if err := EvictDir(dir + "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestDirectoryCase(t *testing.T) {
	var l events
	cache(t, func() { l.add("evict") }, 0, nil)
	_, err := RunCase(t.Context(), "suite", Case{
		Dir: folder(t, 3, 4), Modes: []Mode{l.fake(Baseline, took(1)...)},
	}, rand.New(rand.NewPCG(1, 1)))
	if want := []string{"evict", "evict", Baseline}; err != nil || len(l) != 3 || l[2] != want[2] {
		t.Errorf("%v, %v", l, err)
	}
}

// A slow mode runs less often; its figures are of what it ran, and so is equal.
func TestSlowModes(t *testing.T) {
	var l events
	other := Sample{Took: time.Second, Rows: 10, Sum: 2}
	got, err := runCase(t, &l, Case{
		Reps: 4, Slow: map[string]int{"slow": 1, "slower": 2},
		Modes: []Mode{
			l.fake(Baseline, took(1, 2, 3, 4)...), l.fake("slow", append(took(9), other)...),
			l.fake("slower", append(took(8), other)...), l.fake(Predictio, took(1)...),
		},
	})
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	for i, want := range []struct {
		reps  int
		equal bool
	}{{1, true}, {2, false}, {4, true}} {
		if got[i].Reps != want.reps || *got[i].Equal != want.equal {
			t.Errorf("%s: %d repetitions, equal %v", got[i].Mode, got[i].Reps, *got[i].Equal)
		}
	}
	if got[0].MS != 9 {
		t.Errorf("%v ms", got[0].MS)
	}
}

// What is not metered counts with all that Run does.
func TestMeter(t *testing.T) {
	mode := func(name string, s Sample) Mode {
		return Mode{name, func(context.Context, int) (Sample, error) { return s, nil }}
	}
	var l events
	got, err := runCase(t, &l, Case{Modes: []Mode{
		mode(Baseline, Sample{Metered: true, Read: 100, CPU: time.Second}),
		mode(Predictio, Sample{Metered: true, Read: 7, CPU: 3 * time.Millisecond}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if r.BaselineRead != 100 || r.ReadBytes != 7 || r.BaselineCPUMS != 1000 || r.CPUMS != 3 {
		t.Errorf("%+v", r)
	}
	var s Sample
	stop := Meter()
	time.Sleep(time.Millisecond)
	if stop(&s); !s.Metered || s.Took < time.Millisecond || s.Read < 0 || s.CPU < 0 {
		t.Errorf("%+v", s)
	}
}
