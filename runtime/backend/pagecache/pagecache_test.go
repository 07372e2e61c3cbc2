// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pagecache_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/predictio/predictio/hints"
	syscalls "github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/conformance"
	"github.com/predictio/predictio/runtime/backend/pagecache"
	"github.com/predictio/predictio/runtime/policy"
)

var errnos = []error{
	unix.ENOSYS, unix.EPERM, unix.EAGAIN, unix.EINTR, unix.ENOSPC, unix.EIO, unix.EINVAL, unix.EOPNOTSUPP,
	syscalls.ErrNotSupported,
}

// failing answers every call with err, at once and without the system.
func failing(err error) *syscalls.Calls {
	return &syscalls.Calls{
		WillNeed: func(int, int64, int64) error { return err },
		DontNeed: func(int, int64, int64) error { return err },
		Cached:   func(int, int64, int64) (int64, error) { return 0, err },
		NoWait:   func(int, int64) (bool, error) { return false, err },
	}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) backend.Backend { return pagecache.New(pagecache.Options{}) })
}

func TestConformanceWithErrors(t *testing.T) {
	for _, err := range errnos {
		t.Run(err.Error(), func(t *testing.T) {
			conformance.Run(t, func(*testing.T) backend.Backend {
				return pagecache.New(pagecache.Options{Calls: failing(err)})
			})
		})
	}
}

func TestPagesBecomeResident(t *testing.T) {
	const pages = 256
	f, path := conformance.File(t, pages*policy.PageSize)
	evict(t, path)
	b := pagecache.New(pagecache.Options{})
	defer b.Close()
	n, known := b.Resident(f, 0, f.Size())
	if !known || n > 0 {
		skip(t, "can't be evicted, or the system does not say what is resident")
	}

	// Every other page, so that the kernel's own readahead is not what brings them.
	var reqs []backend.Request
	for off := int64(0); off < f.Size(); off += 2 * policy.PageSize {
		reqs = append(reqs, backend.Request{File: f, Off: off, Len: policy.PageSize})
	}
	out := conformance.Submit(t, b, reqs)
	if out.Accepted != len(reqs) || out.Failed != 0 {
		t.Fatalf("%+v of %d requests", out, len(reqs))
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, r := range reqs {
		for {
			if ok, known := b.Arrived(f, r.Off); ok || !known {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("page %d has not arrived", r.Off/policy.PageSize)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if n, _ := b.Resident(f, 0, f.Size()); n < int64(len(reqs)) {
		t.Errorf("%d pages are resident of %d requested", n, len(reqs))
	}
}

func evict(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscalls.Evict(f); errors.Is(err, syscalls.ErrNotSupported) {
		skip(t, err.Error())
	} else if err != nil {
		t.Fatal(err)
	}
}

// skip skips, unless the environment says that the page cache must be there.
func skip(t *testing.T, why string) {
	t.Helper()
	if strings.Contains(os.Getenv("PREDICTIO_REQUIRE"), "pagecache") {
		t.Fatal(why)
	}
	t.Skip(why)
}

// fakeClock moves on by step at every system call.
type fakeClock struct{ now, step int64 }

func (c *fakeClock) read() int64 { return c.now }

func (c *fakeClock) calls(err error) *syscalls.Calls {
	calls := failing(err)
	calls.WillNeed = func(int, int64, int64) error {
		c.now += c.step
		return err
	}
	return calls
}

func TestDurationTellsResidency(t *testing.T) {
	f, _ := conformance.File(t, 1<<16)
	const n = 8
	for _, tc := range []struct {
		name     string
		step     int64 // ns a call
		err      error
		resident int
		failed   int
	}{
		{"in no time", 0, nil, n, 0},
		{"fast", 700, nil, n, 0},
		{"just fast enough", 999, nil, n, 0},
		{"just too slow", 1000, nil, 0, 0},
		{"slow", 20_000, nil, 0, 0},
		{"fast refusals say nothing", 100, unix.EINVAL, backend.Unknown, n},
		{"slow refusals say nothing", 20_000, unix.EAGAIN, backend.Unknown, n},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &fakeClock{now: 5, step: tc.step}
			b := pagecache.New(pagecache.Options{Calls: c.calls(tc.err), Clock: c.read})
			want := backend.Outcome{Accepted: n, Failed: tc.failed, Resident: tc.resident, End: 5 + n*tc.step}
			if got := b.Submit(conformance.Pages(f, n)); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// What the kernel lacks is asked once; what it refuses this time, or for this
// file, is asked again.
func TestRefusals(t *testing.T) {
	f, _ := conformance.File(t, 1<<16)
	for _, err := range errnos {
		t.Run(err.Error(), func(t *testing.T) {
			var willNeed, cached, noWait int
			calls := &syscalls.Calls{
				WillNeed: func(int, int64, int64) error { willNeed++; return err },
				Cached:   func(int, int64, int64) (int64, error) { cached++; return 0, err },
				NoWait:   func(int, int64) (bool, error) { noWait++; return false, err },
			}
			b := pagecache.New(pagecache.Options{Calls: calls})
			const times = 3
			for range times {
				out := conformance.Submit(t, b, conformance.Pages(f, 1))
				if missing := syscalls.Missing(err); missing == (out.Accepted > 0) {
					t.Errorf("%d requests accepted", out.Accepted)
				}
				if n, known := b.Resident(f, 0, 2*policy.PageSize); known || n != 0 {
					t.Errorf("Resident = %d, %v although the system refused to say", n, known)
				}
				if ok, known := b.Arrived(f, 0); known || ok {
					t.Errorf("Arrived = %v, %v although the system refused to say", ok, known)
				}
			}
			want := times
			if syscalls.Missing(err) {
				want = 1
			}
			if willNeed != want || cached != want || noWait != want {
				t.Errorf("%d, %d and %d calls in %d rounds, want %d each", willNeed, cached, noWait, times, want)
			}
		})
	}
}

// A call that goes missing in the middle of a batch leaves the rest unaccepted.
func TestRefusedInMidBatch(t *testing.T) {
	f, _ := conformance.File(t, 1<<16)
	left := 3
	calls := failing(nil)
	calls.WillNeed = func(int, int64, int64) error {
		if left--; left < 0 {
			return unix.ENOSYS
		}
		return nil
	}
	b := pagecache.New(pagecache.Options{Calls: calls})
	if out := conformance.Submit(t, b, conformance.Pages(f, 8)); out.Accepted != 3 || out.Failed != 0 {
		t.Errorf("%+v, want the three that went well", out)
	}
}

// Where cachestat is missing or refused, one page is asked for with a read that
// may not wait.
func TestResident(t *testing.T) {
	f, _ := conformance.File(t, 1<<16)
	for _, err := range []error{unix.ENOSYS, unix.EPERM} {
		calls := failing(err)
		// A read that may not wait starts to read: it would be no observation.
		calls.NoWait = func(int, int64) (bool, error) { t.Error("NoWait was called"); return true, nil }
		b := pagecache.New(pagecache.Options{Calls: calls})
		if _, known := b.Resident(f, 0, policy.PageSize); known {
			t.Errorf("%v: something is known", err)
		}
	}
	var cached hints.Extent
	calls := failing(nil)
	calls.Cached = func(_ int, off, n int64) (int64, error) {
		cached = hints.Extent{File: f, Off: off, Len: n}
		return 2, nil
	}
	b := pagecache.New(pagecache.Options{Calls: calls})
	if n, known := b.Resident(f, 4096, 8192); n != 2 || !known || cached.Off != 4096 || cached.Len != 8192 {
		t.Errorf("Resident = %d, %v of %+v", n, known, cached)
	}
}
