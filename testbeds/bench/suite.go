// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/predictio/predictio/testbeds/device"
)

// Options configure a run of a suite; the zero value is the full one in the temp folder.
type Options struct {
	Dir   string
	Quick bool     // some 300 MB, some 2 minutes
	Reps  int      // 0: the suite's own
	Only  string   // run cases whose name contains this
	Modes []string // besides the baseline; empty: all
	Seed  uint64   // of the order of modes
	Keep  bool     // leave the databases for the next run
	// Emit takes each result as it comes; Progress says what is being done.
	Emit     func(Result) error
	Progress func(string)
}

// Suite is a run of one: its options, its databases, and its chance. Use NewSuite.
type Suite struct {
	Options
	Rng  *rand.Rand
	name string
	made map[string]bool // paths of databases
}

// NewSuite begins a run of the suite of that name.
func NewSuite(name string, o Options) *Suite {
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &Suite{Options: o, Rng: rand.New(rand.NewPCG(o.Seed, 1)), name: name, made: map[string]bool{}}
}

// Do runs a case, if it is one of those wanted, on the database that open returns, and
// emits its results. What this system does not support is skipped, and said so.
func (s *Suite) Do(name string, open func() (path string, err error), run func(path string) ([]Result, error)) error {
	if !strings.Contains(name, s.Only) {
		return nil
	}
	path, err := open()
	if err != nil {
		return err
	}
	s.Progress(name)
	results, err := run(path)
	if errors.Is(err, device.ErrNotSupported) {
		results, err = []Result{{Suite: s.name, Case: name, Mode: Predictio, Skipped: err.Error()}}, nil
	}
	if err != nil {
		return err
	}
	for _, r := range results {
		if err := s.Emit(r); err != nil {
			return err
		}
	}
	return nil
}

// Database returns the path of the database of that name. If it isn't there, generate
// makes it, and says how many of its records are done.
func (s *Suite) Database(name string, records int, generate func(path string, progress func(done int)) error) (string, error) {
	path := filepath.Join(s.Dir, name)
	if s.made[path] {
		return path, nil
	}
	if _, err := os.Stat(path); err != nil {
		last := time.Now()
		err := generate(path, func(done int) {
			if time.Since(last) > time.Second {
				last = time.Now()
				s.Progress(fmt.Sprintf("making %s: %d%%", name, 100*done/records))
			}
		})
		if err != nil {
			return "", err
		}
	}
	s.made[path] = true
	return path, nil
}

// Remove removes the databases of the run, unless they are to be kept.
func (s *Suite) Remove() {
	if s.Keep {
		return
	}
	for path := range s.made {
		os.RemoveAll(path)
	}
}
