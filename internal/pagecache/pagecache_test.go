// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pagecache

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// supported skips the test if err says that the system can't do what it needs,
// unless the environment says that it must: PREDICTIO_REQUIRE=pagecache,...
func supported(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrNotSupported) && !strings.Contains(os.Getenv("PREDICTIO_REQUIRE"), "pagecache"):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// tempFile returns a file of n bytes.
func tempFile(t *testing.T, n int) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte{1}, n), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// resident is how many bytes of f are cached.
func resident(t *testing.T, f *os.File) int64 {
	t.Helper()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	n, err := Resident(int(f.Fd()), fi.Size())
	supported(t, err)
	return n
}

// evict drops f from the cache, or skips where nothing can be dropped: on tmpfs.
func evict(t *testing.T, f *os.File) {
	t.Helper()
	supported(t, Evict(f))
	deadline := time.Now().Add(10 * time.Second)
	for resident(t, f) > 0 {
		if time.Now().After(deadline) {
			t.Skip("this file system keeps its pages")
		}
		time.Sleep(time.Millisecond)
		supported(t, Evict(f))
	}
}

func TestEvictAndWarm(t *testing.T) {
	size := 3*warmChunk + 4097
	f := tempFile(t, size)
	all := (int64(size) + PageSize - 1) &^ (PageSize - 1)
	if got := resident(t, f); got != all {
		t.Errorf("%d bytes resident of a file just written, want %d", got, all)
	}
	evict(t, f)
	if err := Warm(t.Context(), f, int64(size), nil); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, f); got != all {
		t.Errorf("%d bytes resident after Warm, want %d", got, all)
	}
}

func TestWarmAPart(t *testing.T) {
	f := tempFile(t, 4*warmChunk)
	evict(t, f)
	if err := Warm(t.Context(), f, warmChunk, nil); err != nil {
		t.Fatal(err)
	}
	// The kernel's own readahead may read on a little.
	if got := resident(t, f); got < warmChunk || got > 3*warmChunk {
		t.Errorf("%d bytes resident after warming %d", got, warmChunk)
	}
}

func TestEvictReadOnly(t *testing.T) {
	f, err := os.Open(tempFile(t, 1<<16).Name())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	supported(t, Evict(f))
}

func TestResidentOfNothing(t *testing.T) {
	f := tempFile(t, 0)
	if got := resident(t, f); got != 0 {
		t.Errorf("%d bytes of an empty file are resident", got)
	}
}

func TestWarmProgress(t *testing.T) {
	for _, size := range []int64{0, 1, warmChunk - 1, warmChunk, warmChunk + 1, 9*warmChunk + 5} {
		f := tempFile(t, int(size))
		var last int64
		calls := 0
		err := Warm(t.Context(), f, size, func(done int64) {
			if done <= last || done > size {
				t.Errorf("size %d: progress went from %d to %d", size, last, done)
			}
			last = done
			calls++
		})
		if err != nil || last != size || calls != int((size+warmChunk-1)/warmChunk) {
			t.Errorf("size %d: %v, ended at %d after %d calls", size, err, last, calls)
		}
	}
}

func TestWarmCancelled(t *testing.T) {
	f := tempFile(t, 32*warmChunk)
	ctx, cancel := context.WithCancel(t.Context())
	var last int64
	err := Warm(ctx, f, 32*warmChunk, func(done int64) {
		last = done
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	// Each worker may have been in the middle of a chunk.
	if last > 2*warmWorkers*warmChunk {
		t.Errorf("%d bytes were read after the cancellation", last)
	}

	calls := 0
	if err := Warm(ctx, f, warmChunk, func(int64) { calls++ }); !errors.Is(err, context.Canceled) || calls > 0 {
		t.Errorf("with an ended context: %v after %d calls", err, calls)
	}
}

func TestWarmShrinkingFile(t *testing.T) {
	f := tempFile(t, 16*warmChunk)
	shrunk := false
	err := Warm(t.Context(), f, 16*warmChunk, func(int64) {
		if !shrunk {
			shrunk = true
			if err := f.Truncate(warmChunk / 2); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Errorf("a file that shrank: %v", err)
	}
}

func TestWarmUnreadable(t *testing.T) {
	f := tempFile(t, 1)
	f.Close()
	if err := Warm(t.Context(), f, 1, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		err                  error
		missing, unsupported bool
	}{
		{unix.ENOSYS, true, true},
		{ErrNotSupported, true, true},
		{unix.EPERM, false, true},
		{unix.EOPNOTSUPP, false, true},
		{unix.EINVAL, false, false},
		{unix.EAGAIN, false, false},
		{unix.EINTR, false, false},
		{unix.ENOSPC, false, false},
		{unix.EIO, false, false},
	} {
		if got := Missing(tc.err); got != tc.missing {
			t.Errorf("Missing(%v) = %v", tc.err, got)
		}
		if got := Unsupported(tc.err); got != tc.unsupported {
			t.Errorf("Unsupported(%v) = %v", tc.err, got)
		}
		wrapped := wrap("call", tc.err)
		if got := errors.Is(wrapped, ErrNotSupported); got != tc.unsupported {
			t.Errorf("errors.Is(%v, ErrNotSupported) = %v", wrapped, got)
		}
		if !errors.Is(wrapped, tc.err) {
			t.Errorf("%v has lost its errno", wrapped)
		}
	}
	if wrap("call", nil) != nil {
		t.Error("no error became one")
	}
}
