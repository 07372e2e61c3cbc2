// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
)

// One case of each version and kind that is over soon: all modes give the same rows,
// and nothing is left behind.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, only := range []string{"many-levels/short-bounded", "one-level/first-get", "one-level/ycsb-e", "one-level/multiget-100", "one-level/short-warm"} {
		modes := map[string]int{}
		err := Run(t.Context(), bench.Options{
			Dir: dir, Quick: true, Reps: 1, Only: only, Keep: only != "one-level/short-warm",
			Emit: func(r bench.Result) error {
				modes[r.Mode]++
				if r.Skipped == "" && (r.Equal == nil || !*r.Equal || r.Rows == 0) {
					t.Errorf("%+v", r)
				}
				return nil
			},
		})
		required := strings.Contains(os.Getenv("PREDICTIO_REQUIRE"), "pagecache")
		if !required && (errors.Is(err, pagecache.ErrNotSupported) || errors.Is(err, bench.ErrNotCold) || errors.Is(err, device.ErrNotSupported)) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if only == "one-level/ycsb-e" {
			want = 0 // v2's alone
		}
		if modes[bench.Predictio] < 1+want {
			t.Errorf("%s: %v", only, modes)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*one-level*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The names are a contract, each case has one.
func TestNames(t *testing.T) {
	s := &suite{sizes: sizesOf(bench.Options{})}
	names := map[string]bool{}
	for _, c := range s.cases() {
		if names[c.name()] {
			t.Errorf("%s twice", c.name())
		}
		names[c.name()] = true
	}
	for _, d := range []string{"many-levels", "one-level"} {
		for _, c := range []string{
			"seq-full", "ycsb-e", "short-unbounded", "short-bounded", "short-reverse", "scan-1024", "scan-8192", "scan-65536",
			"reverse-8192", "reverse-full", "ycsb-c", "first-scan", "first-get", "multiget-100", "multiget-10000", "next-warm", "short-warm",
		} {
			if !names[d+"/"+c] {
				t.Errorf("no %s/%s", d, c)
			}
		}
	}
	for _, name := range []string{
		"uncompressed/seq-full", "zstd/scan-65536", "v1/many-levels/short-reverse", "v1/one-level/next-warm",
	} {
		if !names[name] {
			t.Errorf("no %s", name)
		}
	}
}

// Inserts are gone when the database is closed.
func TestInsertsVanish(t *testing.T) {
	s := newSuite(bench.Options{Dir: t.TempDir(), Quick: true})
	var c benchCase
	for _, other := range s.cases() {
		if other.name() == "one-level/ycsb-e" {
			c = other
		}
	}
	path, err := s.database(t.Context(), c.db.spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.once(t.Context(), c, bench.Baseline, path, 0, true); err != nil {
		t.Fatal(err)
	}
	c.write = false
	c.work = func(v *view) error {
		v.spec.Rows *= 2 // as many as there are
		return full(v)
	}
	sample, err := s.once(t.Context(), c, bench.Baseline, path, 0, true)
	if err != nil || sample.Rows != int64(c.db.spec.Rows) {
		t.Errorf("%d rows, %v", sample.Rows, err)
	}
}
