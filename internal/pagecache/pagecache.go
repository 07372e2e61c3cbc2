// SPDX-License-Identifier: Apache-2.0

// Package pagecache asks the operating system's page cache: start reading,
// what is resident, forget. It is the one seam to those system calls, so that
// tests can put any error there.
package pagecache

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// ErrNotSupported is matched by every error that says that this system, kernel
// or container can't do what was asked.
var ErrNotSupported = errors.New("pagecache: not supported")

// PageSize is the system's page size in bytes.
var PageSize = int64(os.Getpagesize())

// Calls are the system calls. The zero value is not usable; System is the real
// one. A call returns the bare errno.
type Calls struct {
	// WillNeed starts reading a range and does not wait for it.
	WillNeed func(fd int, off, n int64) error
	// DontNeed drops a range's clean, unmapped pages.
	DontNeed func(fd int, off, n int64) error
	// Cached returns how many pages of a range are resident.
	Cached func(fd int, off, n int64) (pages int64, err error)
	// NoWait reports whether the byte at off can be read without waiting.
	NoWait func(fd int, off int64) (bool, error)
}

const (
	// warmChunk is one read of Warm, in bytes: large enough for a device's best
	// bandwidth, small enough for a progress bar.
	warmChunk = 1 << 20
	// warmWorkers read side by side: one alone leaves the device idle while it
	// copies.
	warmWorkers = 4
)

// Resident returns how many bytes of the first size bytes of a file are in the
// page cache, in whole pages. Its error matches ErrNotSupported where the system
// does not say.
func Resident(fd int, size int64) (int64, error) {
	pages, err := System.Cached(fd, 0, size)
	if err != nil {
		return 0, wrap("cachestat", err)
	}
	return pages * PageSize, nil
}

// Evict drops a file from the page cache. It writes the file out first: dirty
// pages can't be dropped. Pages that a process has mapped stay.
func Evict(f *os.File) error {
	if err := f.Sync(); err != nil && !readOnlyFS(err) {
		return err
	}
	return wrap("fadvise", System.DontNeed(int(f.Fd()), 0, 0))
}

// Warm reads the first n bytes of f into the page cache, skipping what is
// there, and waits for it. It calls progress, if not nil, with the bytes done so
// far, from several goroutines but never two at a time. It returns ctx's error if
// that ends first. A file that shrinks meanwhile is warmed as far as it goes.
func Warm(ctx context.Context, f *os.File, n int64, progress func(done int64)) error {
	var (
		next     atomic.Int64
		mu       sync.Mutex
		done     int64
		firstErr error
		wg       sync.WaitGroup
	)
	report := func(bytes int64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			return
		}
		if done += bytes; progress != nil {
			progress(done)
		}
	}
	for range warmWorkers {
		wg.Go(func() {
			buf := make([]byte, warmChunk)
			for {
				off := next.Add(warmChunk) - warmChunk
				if off >= n {
					return
				}
				if ctx.Err() != nil {
					report(0, ctx.Err())
					return
				}
				want := min(int64(warmChunk), n-off)
				if err := warmRange(f, buf[:want], off); err != nil {
					report(0, err)
					return
				}
				report(want, nil)
			}
		})
	}
	wg.Wait()
	return firstErr
}

func warmRange(f *os.File, buf []byte, off int64) error {
	n := int64(len(buf))
	if pages, err := System.Cached(int(f.Fd()), off, n); err == nil && pages == (n+PageSize-1)/PageSize {
		return nil
	}
	if _, err := f.ReadAt(buf, off); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

type callError struct {
	call string
	err  error
}

func (e *callError) Error() string { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }
func (e *callError) Is(target error) bool {
	return target == ErrNotSupported && Unsupported(e.err)
}

func wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	return &callError{call, err}
}
