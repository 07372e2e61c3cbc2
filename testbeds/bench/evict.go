// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/testbeds/device"
)

// ErrNotCold is returned if a file could not be brought out of the page cache.
var ErrNotCold = errors.New("bench: the file stays in the page cache")

// MaxWarm is the part of a file that may still be cached in a run called cold.
const MaxWarm = 0.001

const (
	evictTries = 3 // pages that are being read can't be dropped at once
	evictPause = 50 * time.Millisecond
)

// Evict drops a file from the page cache and verifies that it is gone.
func Evict(path string) error { return evict(path, []string{path}) }

// EvictDir drops all files of a directory, and verifies that no more of them all is
// left than may be of one.
func EvictDir(dir string) error {
	paths, err := Files(dir)
	if err != nil {
		return err
	}
	return evict(dir, paths)
}

// Files lists the regular files of a directory, not those of directories in it.
func Files(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

func evict(what string, paths []string) error {
	var cached, size int64
	for try := range evictTries {
		if try > 0 {
			time.Sleep(evictPause)
		}
		cached, size = 0, 0
		for _, path := range paths {
			c, n, err := evictOnce(path)
			if len(paths) > 1 && errors.Is(err, fs.ErrNotExist) {
				continue // an engine has cleaned up
			}
			if err != nil {
				return err
			}
			cached, size = cached+c, size+n
		}
		if float64(cached) <= MaxWarm*float64(size) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s, %d of %d bytes", ErrNotCold, what, cached, size)
}

// evictOnce drops a file, and returns how much of it is cached all the same.
func evictOnce(path string) (cached, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if err := pagecache.Evict(f); err != nil {
		return 0, 0, err
	}
	cached, err = pagecache.Resident(int(f.Fd()), st.Size())
	return cached, st.Size(), err
}

func (c *Case) evict() error {
	if c.Dir != "" {
		return EvictDir(c.Dir)
	}
	return Evict(c.File)
}

// runPages is how many pages in a row the baseline's pages lie in, on average, from
// which on the limit reads runs rather than pages.
const runPages = 2

// limit measures the device for what a run of the baseline has left in the cache,
// exactly the pages it had to read, in random order. Scattered pages are read one by
// one, as they have to be by whoever learns of them one by one; where most lie in
// runs, so do the reads.
func (c *Case) limit() (time.Duration, error) {
	paths := []string{c.File}
	if c.Dir != "" {
		var err error
		if paths, err = Files(c.Dir); err != nil {
			return 0, err
		}
	}
	var pages, runs []device.FileRange
	for i, path := range paths {
		resident, err := device.Resident(path)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", device.ErrNotSupported, err)
		}
		for _, r := range resident {
			pages = append(pages, device.FileRange{File: i, Range: r})
		}
		for _, r := range device.Join(resident, device.MaxDirect) {
			runs = append(runs, device.FileRange{File: i, Range: r})
		}
	}
	if runPages*len(runs) <= len(pages) {
		pages = runs
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	if err := c.evict(); err != nil {
		return 0, err
	}
	return device.ReadDirect(paths, pages)
}
