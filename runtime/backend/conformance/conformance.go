// SPDX-License-Identifier: Apache-2.0

// Package conformance is the suite that every backend passes: the contract of
// package backend as tests.
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t *testing.T) backend.Backend { return mine.New() })
//	}
package conformance

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/policy"
)

// Run runs the suite. open returns a fresh backend each time; the suite closes
// it. A backend that only ever refuses passes too: what it must do besides is
// for its own tests.
func Run(t *testing.T, open func(t *testing.T) backend.Backend) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			b := open(t)
			defer func() {
				if err := b.Close(); err != nil {
					t.Errorf("the last Close: %v", err)
				}
			}()
			c.run(t, b)
		})
	}
}

const pages = 64 // of a usual test file

var cases = []struct {
	name string
	run  func(t *testing.T, b backend.Backend)
}{
	{"name", testName},
	{"submit nothing", testNothing},
	{"submit", testSubmit},
	{"submit many at once", testMany},
	{"the slice stays the caller's", testSlice},
	{"file shrinks", testShrinks},
	{"file is unlinked", testUnlinked},
	{"file is empty", testEmpty},
	{"file grows", testGrows},
	{"past the end", testPastEnd},
	{"odd length at the end", testOddEnd},
	{"file closed after submit", testReleased},
	{"concurrent submits", testConcurrent},
	{"close twice", testCloseTwice},
	{"close with work in flight", testCloseInFlight},
	{"close under submits", testCloseUnderSubmits},
	{"submit after close", testAfterClose},
	{"residency", testResidency},
}

// File registers a new file of n bytes, closed when the test ends.
func File(t testing.TB, n int64) (f *hints.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, bytes.Repeat([]byte{0xa5}, int(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := hints.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f, path
}

// Pages are requests for the first n pages of a file, one each.
func Pages(f *hints.File, n int) []backend.Request {
	reqs := make([]backend.Request, n)
	for i := range reqs {
		reqs[i] = backend.Request{File: f, Off: int64(i) * policy.PageSize, Len: policy.PageSize}
	}
	return reqs
}

// Submit submits and checks that the outcome is a possible one.
func Submit(t testing.TB, b backend.Backend, reqs []backend.Request) backend.Outcome {
	t.Helper()
	out := b.Submit(reqs)
	switch {
	case out.Accepted < 0 || out.Accepted > len(reqs):
		t.Errorf("%d of %d requests accepted", out.Accepted, len(reqs))
	case out.Failed < 0 || out.Failed > out.Accepted:
		t.Errorf("%d requests failed of %d accepted", out.Failed, out.Accepted)
	case out.Resident != backend.Unknown && (out.Resident < 0 || out.Resident > out.Accepted):
		t.Errorf("%d requests were resident of %d accepted", out.Resident, out.Accepted)
	case out.End < 0:
		t.Errorf("the clock says %d", out.End)
	}
	return out
}

func testName(t *testing.T, b backend.Backend) {
	if first, again := b.Name(), b.Name(); first == "" || again != first {
		t.Errorf("name %q, then %q", first, again)
	}
}

func testNothing(t *testing.T, b backend.Backend) {
	for _, reqs := range [][]backend.Request{nil, {}} {
		if out := Submit(t, b, reqs); out.Resident > 0 {
			t.Errorf("of no request, %d were resident", out.Resident)
		}
	}
}

func testSubmit(t *testing.T, b backend.Backend) {
	f, _ := File(t, pages*policy.PageSize)
	for range 3 { // cold or warm, once and again
		Submit(t, b, Pages(f, pages))
		Submit(t, b, Pages(f, 1))
	}
}

func testMany(t *testing.T, b backend.Backend) {
	f, _ := File(t, pages*policy.PageSize)
	var reqs []backend.Request
	for len(reqs) < 4096 {
		reqs = append(reqs, Pages(f, pages)...)
	}
	Submit(t, b, reqs)
}

func testSlice(t *testing.T, b backend.Backend) {
	f, _ := File(t, pages*policy.PageSize)
	reqs := Pages(f, pages)
	for range 10 {
		Submit(t, b, reqs)
		clear(reqs) // whoever still looks at it meets no file
		copy(reqs, Pages(f, pages))
	}
}

func testShrinks(t *testing.T, b backend.Backend) {
	f, path := File(t, pages*policy.PageSize)
	for size := int64(pages * policy.PageSize); size > 0; size /= 3 {
		Submit(t, b, Pages(f, pages))
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		Submit(t, b, Pages(f, pages))
	}
}

func testUnlinked(t *testing.T, b backend.Backend) {
	f, path := File(t, pages*policy.PageSize)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	Submit(t, b, Pages(f, pages))
}

func testEmpty(t *testing.T, b backend.Backend) {
	f, _ := File(t, 0)
	Submit(t, b, Pages(f, pages))
}

func testGrows(t *testing.T, b backend.Backend) {
	f, path := File(t, policy.PageSize)
	Submit(t, b, Pages(f, pages))
	if err := os.Truncate(path, pages*policy.PageSize); err != nil {
		t.Fatal(err)
	}
	Submit(t, b, Pages(f, pages))
}

func testPastEnd(t *testing.T, b backend.Backend) {
	f, _ := File(t, 3*policy.PageSize)
	last := int64(math.MaxInt64) &^ (policy.PageSize - 1)
	Submit(t, b, []backend.Request{
		{File: f, Off: 2 * policy.PageSize, Len: 8 * policy.PageSize}, // across it
		{File: f, Off: 3 * policy.PageSize, Len: policy.PageSize},     // just behind
		{File: f, Off: 1 << 40, Len: policy.PageSize},                 // far
		{File: f, Off: last - policy.PageSize, Len: policy.PageSize},  // as far as there is
	})
}

func testOddEnd(t *testing.T, b backend.Backend) {
	for _, tail := range []int64{1, 511, policy.PageSize - 1} {
		f, _ := File(t, policy.PageSize+tail)
		Submit(t, b, []backend.Request{
			{File: f, Off: 0, Len: policy.PageSize},
			{File: f, Off: policy.PageSize, Len: tail},
		})
	}
}

// The caller's reference ends with Submit, and so may the descriptor.
func testReleased(t *testing.T, b backend.Backend) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, make([]byte, pages*policy.PageSize), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := hints.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		Submit(t, b, Pages(f, pages))
		f.Release()
	}
}

func testConcurrent(t *testing.T, b backend.Backend) {
	shared, _ := File(t, pages*policy.PageSize)
	var wg sync.WaitGroup
	for range 8 {
		own, _ := File(t, pages*policy.PageSize)
		wg.Go(func() {
			for range 50 {
				Submit(t, b, Pages(shared, pages))
				Submit(t, b, Pages(own, 7))
			}
		})
	}
	wg.Wait()
}

func testCloseTwice(t *testing.T, b backend.Backend) {
	for range 3 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testCloseInFlight(t *testing.T, b backend.Backend) {
	f, _ := File(t, 1024*policy.PageSize)
	Submit(t, b, Pages(f, 1024))
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func testCloseUnderSubmits(t *testing.T, b backend.Backend) {
	f, _ := File(t, pages*policy.PageSize)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				Submit(t, b, Pages(f, pages))
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func testAfterClose(t *testing.T, b backend.Backend) {
	f, _ := File(t, pages*policy.PageSize)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if out := Submit(t, b, Pages(f, pages)); out.Accepted != 0 {
		t.Errorf("%d requests accepted after Close", out.Accepted)
	}
	if p, ok := b.(backend.Prober); ok {
		p.Resident(f, 0, policy.PageSize)
		p.Arrived(f, 0)
	}
}

func testResidency(t *testing.T, b backend.Backend) {
	p, ok := b.(backend.Prober)
	if !ok {
		t.Skip("this backend can't tell what is resident")
	}
	f, path := File(t, pages*policy.PageSize)
	Submit(t, b, Pages(f, pages))
	for _, n := range []int64{1, pages, 2 * pages} {
		got, known := p.Resident(f, 0, n*policy.PageSize)
		if got < 0 || got > n || !known && got != 0 {
			t.Errorf("%d of %d pages are resident, known %v", got, n, known)
		}
	}
	if arrived, known := p.Arrived(f, 0); arrived && !known {
		t.Error("arrived, but not known")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := p.Resident(f, 0, pages*policy.PageSize); got != 0 {
		t.Errorf("%d pages of an empty file are resident", got)
	}
}
