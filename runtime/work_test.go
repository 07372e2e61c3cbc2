// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// gated lets one Submit through for each value that the test sends, and all of
// them once the gate is closed.
type gated struct {
	record.Backend
	gate    chan struct{}
	waiting atomic.Int32
}

func newGated() *gated { return &gated{gate: make(chan struct{})} }

func (g *gated) Submit(reqs []backend.Request) backend.Outcome {
	g.waiting.Add(1)
	<-g.gate
	g.waiting.Add(-1)
	return g.Backend.Submit(reqs)
}

// pass lets one Submit through and waits until the next one comes.
func (g *gated) pass(t testing.TB) {
	t.Helper()
	g.gate <- struct{}{}
	eventually(t, "another submit", func() bool { return g.waiting.Load() > 0 })
}

// largeBytes goes to the workers; it is several requests, and where the device reads no
// more than 4 MiB at once, more than a worker submits without looking up.
const largeBytes = maxInlineBytes + maxInFlightPiece*4<<20

func large(f *hints.File) *hints.WillNeed {
	return need(1, hints.Extent{File: f, Len: largeBytes})
}

// largeRequests is how many requests one large event comes to.
func largeRequests(f *hints.File) uint64 {
	piece := f.Device().MaxRequest &^ (policy.PageSize - 1)
	if piece <= 0 {
		piece = defaultRequest
	}
	return uint64((largeBytes + piece - 1) / piece)
}

// countedFile is a file on which nobody may hold a reference when the runtimes
// that are opened after it are closed.
func countedFile(t *testing.T, bytes int64) (f *hints.File) {
	t.Cleanup(func() {
		if f.Retain() {
			t.Error("somebody still holds a reference")
		}
	})
	return testwalk.File(t, bytes)
}

func TestLargeRequestsGoToWorkers(t *testing.T) {
	f := countedFile(t, largeBytes)
	g := newGated()
	r, _, _ := open(t, func(o *Options) { policies(willneed.Policy{})(o); o.Backend = g })
	r.Emit(large(f)) // would hang here if the emitter submitted
	close(g.gate)
	eventually(t, "all submitted", func() bool { return one(t, r).Bytes == largeBytes })
	var off int64
	for _, q := range g.Ranges() {
		if q.Off != off {
			t.Fatalf("a request at %d, want %d: out of order", q.Off, off)
		}
		if most := f.Device().MaxRequest; most > 0 && q.Len > most || most == 0 && q.Len > defaultRequest {
			t.Fatalf("a request of %d bytes, the device reads %d at once", q.Len, most)
		}
		off += q.Len
	}
	if off != largeBytes || uint64(g.Total()) != largeRequests(f) || g.Total() < 2 {
		t.Errorf("%d bytes submitted in %d requests, want %d in %d", off, g.Total(), int64(largeBytes), largeRequests(f))
	}
}

func TestFullQueueDrops(t *testing.T) {
	f := countedFile(t, largeBytes)
	g := newGated()
	r, _, _ := open(t, func(o *Options) { policies(willneed.Policy{})(o); o.Backend = g })
	const events = maxQueue + maxWorkers + 10
	for range events {
		r.Emit(large(f))
	}
	dropped := one(t, r).Dropped
	if dropped == 0 {
		t.Error("nothing was dropped by a full queue")
	}
	close(g.gate)
	eventually(t, "the rest is submitted", func() bool { return one(t, r).Offered == events*largeRequests(f) })
	if c := one(t, r); c.Dropped != dropped || c.Accepted != uint64(g.Total()) || c.Accepted < maxQueue*largeRequests(f) {
		t.Errorf("%+v after %d were dropped and %d submitted", c, dropped, g.Total())
	}
}

// What a worker could not hand over was dropped, and the accounts say so: the requests that
// the backend did not take, and those that were left when the runtime closed.
func TestWorkersAccount(t *testing.T) {
	f := countedFile(t, largeBytes)
	r, b, _ := open(t, policies(willneed.Policy{}))
	var submits atomic.Int32
	b.Answer = func(reqs []backend.Request) backend.Outcome {
		if submits.Add(1) == 1 {
			<-r.work.stop // the rest is left
		}
		n := (len(reqs) + 1) / 2
		return backend.Outcome{Accepted: n, Failed: n}
	}
	r.Emit(large(f))
	eventually(t, "the worker has begun", func() bool { return submits.Load() > 0 })
	r.Close() // waits for the worker
	all := largeRequests(f)
	taken := (min(maxInFlightPiece, all) + 1) / 2
	c := one(t, r)
	if all < 2 || submits.Load() != 1 {
		t.Errorf("%d requests were submitted in %d pieces", all, submits.Load())
	}
	if c.Offered != all || c.Accepted != taken || c.Dropped != all-taken || uint64(b.Total()) != taken {
		t.Errorf("%+v, %d by the backend, want %d accepted of %d", c, b.Total(), taken, all)
	}
	var bytes int64
	for _, q := range b.Ranges() {
		bytes += q.Len
	}
	if c.Bytes != uint64(bytes) {
		t.Errorf("%d bytes by the accounts, %d by the backend", c.Bytes, bytes)
	}
	if c.Failed != taken {
		t.Errorf("%d refused requests were counted, want %d", c.Failed, taken)
	}
}

// Jobs that wait when the runtime closes give back what they hold.
func TestCloseWithFullQueue(t *testing.T) {
	f := countedFile(t, largeBytes)
	g := newGated()
	r, _, _ := open(t, func(o *Options) { policies(willneed.Policy{})(o); o.Backend = g })
	for range maxQueue {
		r.Emit(large(f))
	}
	done := make(chan error)
	go func() { done <- r.Close() }()
	close(g.gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	c := one(t, r)
	if c.Accepted != uint64(g.Total()) || c.Offered != maxQueue*largeRequests(f) {
		t.Errorf("%+v, want the backend's %d accepted of %d", c, g.Total(), maxQueue*largeRequests(f))
	}
}

// sweeper is a policy that asks for a sweep of f with its first event, and to end
// it with an event without extents.
func sweeper(f *hints.File, settled func(*policy.Outcome)) *scripted {
	return &scripted{
		handle: func(e hints.Event, b *policy.Batch) hints.Advice {
			if len(e.(*hints.WillNeed).Extents) == 0 {
				b.StopSweep = true
			} else {
				b.Sweep = policy.Sweep{File: f, Len: f.Size()}
			}
			return hints.Advice{}
		},
		settle: func(o *policy.Outcome) hints.Advice {
			if settled != nil {
				settled(o)
			}
			return hints.Advice{}
		},
	}
}

const sweepBytes = 4 * sweepCheck

// sweeping starts a sweep over a gated backend and waits for its first submit.
func sweeping(t *testing.T, set func(*Options)) (*Runtime, *gated, *fakeClock, *hints.File) {
	t.Helper()
	f := countedFile(t, sweepBytes)
	g := newGated()
	r, _, c := open(t, func(o *Options) {
		policies(sweeper(f, nil))(o)
		o.Backend = g
		if set != nil {
			set(o)
		}
	})
	r.Emit(need(1, pages(f, 0, 1)))
	eventually(t, "the first submit", func() bool { return g.waiting.Load() > 0 })
	return r, g, c, f
}

// swept is how far a sweep came, in bytes, once it has ended; the whole way was
// in order.
func swept(t *testing.T, r *Runtime, g *gated) (off int64) {
	t.Helper()
	if s := r.slots[1].Load(); s != nil {
		s.mu.Lock()
		running := s.sweep
		s.mu.Unlock()
		eventually(t, "the sweep ends", func() bool { return !running.running() })
	}
	for _, q := range g.Ranges() {
		if q.Off != off {
			t.Fatalf("a request at %d, want %d: out of order", q.Off, off)
		}
		off += q.Len
	}
	return off
}

func TestSweepReadsTheWholeFileInOrder(t *testing.T) {
	r, g, _, f := sweeping(t, nil)
	close(g.gate)
	if got := swept(t, r, g); got != f.Size() {
		t.Errorf("%d bytes swept, want %d", got, f.Size())
	}
	c := r.Stats().Sweep
	addsUp(t, "sweep", c)
	if c.Bytes != uint64(f.Size()) || c.Offered != uint64(g.Total()) {
		t.Errorf("%+v of %d bytes in %d requests", c, f.Size(), g.Total())
	}
	if total := r.Stats().Total(); total.Bytes != c.Bytes {
		t.Errorf("the total of %+v leaves the sweep out", total)
	}
}

func TestSweepAccountsForWhatWasTaken(t *testing.T) {
	r, g, _, f := sweeping(t, nil)
	g.Answer = func([]backend.Request) backend.Outcome { return backend.Outcome{} }
	close(g.gate)
	swept(t, r, g)
	c := r.Stats().Sweep
	addsUp(t, "sweep", c)
	if c.Bytes != 0 || c.Accepted != 0 || c.Offered == 0 {
		t.Errorf("%+v of a sweep of %d bytes that the backend refused", c, f.Size())
	}
}

func TestSweepEndsEarly(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(r *Runtime, c *fakeClock)
	}{
		{"the policy ends it", func(r *Runtime, _ *fakeClock) { r.Emit(need(1)) }},
		{"the stream ends", func(r *Runtime, _ *fakeClock) { r.Emit(&hints.StreamEnd{Stream: 1}) }},
		{"the stream loses its place", func(r *Runtime, _ *fakeClock) { r.Emit(need(1 + MaxStreams)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, g, c, f := sweeping(t, nil)
			r.slots[1].Load().mu.Lock()
			s := r.slots[1].Load().sweep
			r.slots[1].Load().mu.Unlock()
			g.pass(t)
			g.pass(t)
			tc.end(r, c)
			close(g.gate)
			eventually(t, "the sweep ends", func() bool { return !s.running() })
			if got, most := swept(t, r, g), int64(3*sweepPiece); got > most {
				t.Errorf("%d bytes of %d swept, want at most %d", got, f.Size(), most)
			}
		})
	}
}

// A sweep goes no further than its stream has justified, waits there for more, and
// ends if the stream stands still.
func TestSweepWaitsForItsStream(t *testing.T) {
	f := countedFile(t, sweepBytes)
	to := int64(2 * sweepPiece)
	p := &scripted{handle: func(_ hints.Event, b *policy.Batch) hints.Advice {
		b.Sweep, b.SweepTo = policy.Sweep{File: f, Len: f.Size()}, to
		return hints.Advice{}
	}}
	r, b, c := open(t, policies(p))
	bytes := func() (n int64) {
		for _, q := range b.Ranges() {
			n += q.Len
		}
		return n
	}
	for range 2 {
		r.Emit(need(1))
		eventually(t, "the sweep is where it may go", func() bool { return bytes() == to })
		to += sweepPiece
	}
	s := r.slots[1].Load().sweep
	if !s.running() {
		t.Error("it did not wait")
	}
	c.advance(2 * time.Duration(sweepIdle))
	eventually(t, "the sweep ends", func() bool { return !s.running() })
	if got := bytes(); got != to-sweepPiece {
		t.Errorf("%d bytes swept, want %d", got, to-sweepPiece)
	}
}

func TestSweepGoesOnWhileTheStreamMoves(t *testing.T) {
	r, g, c, f := sweeping(t, nil)
	for range 5 {
		c.advance(900 * time.Millisecond)
		r.Emit(need(1, pages(f, 0, 1)))
		g.pass(t)
	}
	close(g.gate)
	if got := swept(t, r, g); got != f.Size() {
		t.Errorf("%d bytes swept, want %d", got, f.Size())
	}
}

func TestSweepEndsWithClose(t *testing.T) {
	r, g, _, f := sweeping(t, nil)
	g.pass(t)
	done := make(chan error)
	go func() { done <- r.Close() }()
	eventually(t, "closed", r.closed.Load)
	close(g.gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := swept(t, r, g); got == f.Size() {
		t.Error("the sweep went on to the end")
	}
}

func TestSweepWatchesWhatItHasRead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cached func(_ *hints.File, off, n int64) (int64, bool)
		all    bool
	}{
		{"all kept", func(_ *hints.File, _, n int64) (int64, bool) { return n / policy.PageSize, true }, true},
		{"most kept", func(_ *hints.File, _, n int64) (int64, bool) { return n / policy.PageSize * 95 / 100, true }, true},
		{"too much lost", func(_ *hints.File, _, n int64) (int64, bool) { return n / policy.PageSize * 85 / 100, true }, false},
		{"nothing kept", func(*hints.File, int64, int64) (int64, bool) { return 0, true }, false},
		{"nobody knows", func(*hints.File, int64, int64) (int64, bool) { return 0, false }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, g, _, f := sweeping(t, nil)
			g.Cached = tc.cached
			close(g.gate)
			want := int64(sweepCheck)
			if tc.all {
				want = f.Size()
			}
			if got := swept(t, r, g); got != want {
				t.Errorf("%d bytes swept, want %d", got, want)
			}
		})
	}
}

func TestSweepEndsWhenMemoryIsShort(t *testing.T) {
	var short atomic.Bool
	r, g, _, _ := sweeping(t, func(o *Options) {
		o.Memory = func() (memory.State, error) {
			if short.Load() {
				return memory.State{Limit: 1 << 40}, nil
			}
			return plenty()
		}
	})
	short.Store(true)
	close(g.gate)
	if got := swept(t, r, g); got != sweepCheck {
		t.Errorf("%d bytes swept, want %d: to the next check", got, sweepCheck)
	}
}

func TestOneSweepAStream(t *testing.T) {
	var sweepingSeen []bool
	f := countedFile(t, sweepBytes)
	g := newGated()
	r, _, _ := open(t, func(o *Options) {
		policies(sweeper(f, func(o *policy.Outcome) { sweepingSeen = append(sweepingSeen, o.Sweeping) }))(o)
		o.Backend = g
	})
	for range 3 {
		r.Emit(need(1, pages(f, 0, 1)))
	}
	close(g.gate)
	if got := swept(t, r, g); got != f.Size() {
		t.Errorf("%d bytes swept, want %d", got, f.Size())
	}
	r.Emit(need(1, pages(f, 0, 1)))
	want := []bool{true, true, true, false}
	for i := range want {
		if sweepingSeen[i] != want[i] {
			t.Errorf("event %d: sweeping %v, want %v", i, sweepingSeen[i], want[i])
		}
	}
}

// Where a worker gets to run while the program waits, less than elsewhere is enough for it
// to be a worker's.
func TestOverlapGoesToWorkers(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		for _, bytes := range []int64{maxOverlapBytes, maxOverlapBytes + policy.PageSize} {
			f := countedFile(t, bytes)
			g := newGated()
			r, _, _ := open(t, func(o *Options) {
				o.Backend = g
				o.Policies = []policy.Policy{&scripted{
					kinds: []hints.Kind{hints.KindWillNeed},
					handle: func(e hints.Event, b *policy.Batch) hints.Advice {
						b.Add(e.(*hints.WillNeed).Extents[0])
						b.Overlap = overlap
						return hints.Advice{}
					},
				}}
			})
			emitted := make(chan struct{})
			go func() {
				defer close(emitted)
				r.Emit(need(1, hints.Extent{File: f, Len: bytes}))
			}()
			if overlap && bytes > maxOverlapBytes {
				<-emitted // though the backend takes nothing yet
				close(g.gate)
			} else {
				eventually(t, "the emitter submits", func() bool { return g.waiting.Load() > 0 })
				select {
				case <-emitted:
					t.Errorf("overlap %v, %d bytes: left to a worker", overlap, bytes)
				default:
				}
				close(g.gate)
				<-emitted
			}
			eventually(t, "all submitted", func() bool { return one(t, r).Bytes == uint64(bytes) })
			r.Close()
		}
	}
}
