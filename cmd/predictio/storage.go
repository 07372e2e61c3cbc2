// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
)

// residency is how much of a file is in the page cache, and who said so. To who
// may not write the file the system need not tell, or it calls everything cached:
// then nothing is known.
type residency struct {
	bytes int64
	by    string // "cachestat", "mincore", or "" if nobody tells
}

func residentOf(path string) residency {
	f, err := os.Open(path)
	if err != nil {
		return residency{}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return residency{}
	}
	if n, err := pagecache.Resident(int(f.Fd()), st.Size()); err == nil {
		return residency{min(n, st.Size()), "cachestat"}
	}
	// Kernels before 6.5: mincore tells the truth to who may write the file, and
	// device.Resident asks only if so.
	if pages, err := device.Resident(path); err == nil {
		return residency{min(device.Bytes(pages), st.Size()), "mincore"}
	}
	return residency{}
}

// known is the bytes, or nil.
func (r residency) known() *int64 {
	if r.by == "" {
		return nil
	}
	return &r.bytes
}

const (
	// evictTries: pages that are being read can't be dropped at once.
	evictTries = 5
	evictPause = 50 * time.Millisecond
)

// makeCold drops a file, that no process may have mapped, from the page cache and
// verifies that it is gone. It returns who has verified that, "" if the system
// does not tell.
func makeCold(path string) (by string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	var left residency
	for range evictTries {
		if err := pagecache.Evict(f); err != nil {
			return "", fmt.Errorf("%s: evict: %w", path, err)
		}
		if left = residentOf(path); left.by == "" || float64(left.bytes) <= bench.MaxWarm*float64(st.Size()) {
			return left.by, nil
		}
		time.Sleep(evictPause)
	}
	return left.by, notHeref("%s: %s of %s stay in the page cache: somebody else has the file open, or its file system does not drop it",
		path, bytesText(left.bytes), bytesText(st.Size()))
}

// countRead calls fn and returns what it had read from storage, nil if unknown.
func countRead(fn func() error) (*int64, error) {
	before, ok := device.ReadBytes()
	err := fn()
	after, ok2 := device.ReadBytes()
	if !ok || !ok2 {
		return nil, err
	}
	n := after - before
	return &n, err
}
