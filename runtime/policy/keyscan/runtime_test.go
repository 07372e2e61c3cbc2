// SPDX-License-Identifier: Apache-2.0

package keyscan_test

import (
	"testing"
	"time"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/keyscan"
)

// tables are two sorted runs in two files, read in turns: block by block, each with a page of
// nothing behind it so that no two touch.
type tables struct {
	files [2]*hints.File
	total int64 // bytes
	taken int64
}

const block = 32 << 10

func (a *tables) at(taken int64) hints.Extent {
	i := taken / block
	return hints.Extent{File: a.files[i%2], Off: i / 2 * (block + policy.PageSize), Len: block}
}

func (a *tables) Take(dst []hints.Extent, bytes int64) ([]hints.Extent, int64) {
	before, goal := a.taken, a.taken+bytes
	if before == 0 {
		goal += 2 * block
	}
	for a.taken < min(goal, a.total) {
		dst = append(dst, a.at(a.taken))
		a.taken += block
	}
	return dst, a.taken - before
}

func open(t *testing.T, b *record.Backend) *runtime.Runtime {
	t.Helper()
	r, err := runtime.New(runtime.Options{
		Backend: b, Policies: []policy.Policy{keyscan.New()}, Recent: -1,
		Clock:  func() int64 { return int64(time.Hour) },
		Memory: func() (memory.State, error) { return memory.State{Available: 1 << 40, Limit: 1 << 41}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newTables(t *testing.T, total int64) *tables {
	return &tables{files: [2]*hints.File{testwalk.File(t, 1<<30), testwalk.File(t, 1<<30)}, total: total}
}

// A scan's requests arrive, each once and before the scan does, and the statistics add up.
func TestScanThroughTheRuntime(t *testing.T) {
	for name, known := range map[string]bool{"known end": true, "unknown end": false} {
		t.Run(name, func(t *testing.T) {
			b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
				return backend.Outcome{Accepted: len(reqs)}
			}}
			r := open(t, b)
			a := newTables(t, 64<<20)
			e := &hints.KeyScan{Stream: hints.NewStream(), Store: 1, Start: true, KnownEnd: known, Ahead: a}
			events := uint64(0)
			for e.Passed < a.total {
				advice := r.Emit(e)
				events++
				if a.taken <= e.Passed {
					t.Fatalf("at %d of %d nothing is ahead", e.Passed, a.total)
				}
				if s := r.Stats(); s.InFlightBytes != a.taken-e.Passed || s.InFlight == 0 {
					t.Fatalf("%d requests, %d bytes in flight, %d are ahead", s.InFlight, s.InFlightBytes, a.taken-e.Passed)
				}
				e.Start = false
				e.Passed = min(e.Passed+max(block, int64(advice.Skip)), a.taken)
				e.Reads, e.Misses = e.Reads+10, e.Misses+1
			}
			r.Emit(e)
			r.Emit(&hints.StreamEnd{Stream: e.Stream})

			// Large windows go to the workers.
			blocks := uint64(a.total / block)
			var s runtime.Stats
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				s = r.Stats()
				if s.Policies[keyscan.Name].Bytes == uint64(a.total) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("not all arrives: %+v", s)
				}
			}
			c := s.Policies[keyscan.Name]
			if c.Events != events+1 || c.Useful != blocks || c.Wasted != 0 || c.Dropped != 0 || c.Failed != 0 || c.Resident != 0 {
				t.Errorf("%+v of %d events, %d blocks", c, events+1, blocks)
			}
			if c.Accepted != c.Offered || c.Accepted != uint64(b.Total()) {
				t.Errorf("%+v, %d by the backend", c, b.Total())
			}
			if s.InFlight != 0 || s.InFlightBytes != 0 || s.Contended != 0 {
				t.Errorf("in the end %+v", s)
			}
			requested := make(map[hints.Extent]int) // by block; the device may read less at once
			for _, q := range b.Ranges() {
				for i, f := range a.files {
					if q.FileID == f.ID() {
						x := hints.Extent{File: a.files[i], Off: q.Off / (block + policy.PageSize) * (block + policy.PageSize), Len: block}
						requested[x] += int(q.Len)
					}
				}
			}
			for at := int64(0); at < a.total; at += block {
				if got := requested[a.at(at)]; got != block {
					t.Fatalf("of the block at %d, %d bytes of %d were requested", at, got, block)
				}
			}
			if len(requested) != int(blocks) {
				t.Errorf("%d blocks were requested of %d", len(requested), blocks)
			}
		})
	}
}

// Of a scan that is given up, what was ahead was for nothing, and is in flight no more.
func TestScanGivenUp(t *testing.T) {
	b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
		return backend.Outcome{Accepted: len(reqs)}
	}}
	r := open(t, b)
	a := newTables(t, 64<<20)
	e := &hints.KeyScan{Stream: hints.NewStream(), Store: 1, Start: true, Ahead: a}
	for range 5 {
		advice := r.Emit(e)
		e.Start = false
		e.Passed = min(e.Passed+max(block, int64(advice.Skip)), a.taken)
		e.Reads += 10
		e.Misses++
	}
	r.Emit(&hints.StreamEnd{Stream: e.Stream})
	s := r.Stats()
	c := s.Policies[keyscan.Name]
	if blocks := uint64(a.taken / block); c.Useful+c.Wasted != blocks || c.Useful == 0 || c.Wasted == 0 {
		t.Errorf("%+v of %d blocks", c, blocks)
	}
	if s.InFlight != 0 || s.InFlightBytes != 0 {
		t.Errorf("%d requests, %d bytes in flight", s.InFlight, s.InFlightBytes)
	}
}

// A store of which all is cached is left alone, for all of its scans.
func TestCachedStoreIsLeftAlone(t *testing.T) {
	b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
		return backend.Outcome{Accepted: len(reqs), Resident: len(reqs)}
	}}
	r := open(t, b)
	e := &hints.KeyScan{Store: 1, Start: true}
	var advice hints.Advice
	for range 10 {
		a := newTables(t, 1<<20)
		e.Stream, e.Ahead = hints.NewStream(), a
		e.Reads += 10
		b.Reset()
		advice = r.Emit(e)
	}
	if advice != (hints.Advice{Skip: hints.Silent, Sticky: true}) || len(b.Ranges()) > 0 {
		t.Errorf("%+v, %d requests of a cached store", advice, len(b.Ranges()))
	}
	c := r.Stats().Policies[keyscan.Name]
	if c.Events != 10 || c.Accepted == 0 || c.Resident != c.Accepted {
		t.Errorf("%+v", c)
	}
}
