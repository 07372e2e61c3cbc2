// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// walkSteps walks so many leaves from the first.
func walkSteps(r *Runtime, t *testwalk.Tree, stream uint64, steps int) *testwalk.Walk {
	w := &testwalk.Walk{Tree: t, Stream: stream}
	w.Seek(0, hints.Forward, hints.FromSeek)
	for range steps {
		w.Step(r)
	}
	return w
}

// tree is a tree in a file of its own.
func tree(t testing.TB, leaves int) *testwalk.Tree {
	tr := &testwalk.Tree{Leaves: leaves, Fanout: 100}
	tr.File = file(t, tr.Pages())
	return tr
}

func TestStreamTakesThePlaceOfAnother(t *testing.T) {
	tr := tree(t, 1000)
	r, b, c := open(t, policies(treechildren.New()))
	b.Answer = cold
	w := walkSteps(r, tr, 1, 3)
	before := one(t, r)
	held := r.Stats().InFlight
	if held == 0 || before.Wasted != 0 {
		t.Fatalf("%d in flight, %+v", held, before)
	}

	// While it is at work it keeps its place.
	a := r.Emit(&hints.TreeChildEnter{Stream: 1 + MaxStreams})
	if s := r.Stats(); s.InFlight != held || s.Contended != 1 || a.Skip == 0 {
		t.Errorf("%d in flight, %d contended, advice %+v", s.InFlight, s.Contended, a)
	}
	c.advance(2 * time.Duration(staleAfter))

	r.Emit(&hints.TreeChildEnter{Stream: 1 + MaxStreams}) // its place is the same
	s := r.Stats()
	if got := one(t, r).Wasted; got != uint64(held) || s.InFlight != 0 || s.InFlightBytes != 0 {
		t.Errorf("%d wasted, %d in flight after losing its place, want %d and 0", got, s.InFlight, held)
	}

	w.Seek(500, hints.Forward, hints.FromSeek)
	w.Step(r) // and back: it starts anew
	if got := one(t, r); got.Wasted != uint64(held) || r.Stats().InFlight == 0 {
		t.Errorf("%+v after coming back", got)
	}
}

func TestStreamEnd(t *testing.T) {
	tr := tree(t, 1000)
	r, b, _ := open(t, policies(treechildren.New()))
	b.Answer = cold
	w := walkSteps(r, tr, 1, 20)
	held := r.Stats().InFlight

	r.Emit(&hints.StreamEnd{Stream: 1 + MaxStreams}) // somebody who has no place here
	r.Emit(&hints.StreamEnd{Stream: 77})
	if got := r.Stats().InFlight; got != held {
		t.Errorf("a stranger's end: %d in flight, want %d", got, held)
	}
	w.Finish(r)
	c := one(t, r)
	if s := r.Stats(); s.InFlight != 0 || s.InFlightBytes != 0 || c.Wasted != uint64(held) || c.Useful == 0 {
		t.Errorf("%d in flight, %+v after the end", s.InFlight, c)
	}
	w.Finish(r)
	if again := one(t, r); again != c {
		t.Errorf("a second end: %+v, want %+v", again, c)
	}
}

// Emit never waits for a stream that is busy elsewhere.
func TestEmitNeverBlocks(t *testing.T) {
	r, _, _ := open(t, policies(willneed.Policy{}))
	r.Emit(need(1))
	s := r.slots[1].Load()
	s.mu.Lock() // as an Emit on another goroutine would
	f := file(t, 1)
	for _, e := range []hints.Event{need(1, pages(f, 0, 1)), need(1 + MaxStreams), &hints.StreamEnd{Stream: 1}} {
		r.Emit(e)
	}
	r.Emit(need(2))
	s.mu.Unlock()
	if got := r.Stats().Contended; got != 3 {
		t.Errorf("%d events contended, want 3", got)
	}
	if got := one(t, r).Events; got != 2 {
		t.Errorf("%d events handled, want those of the free streams", got)
	}
}

// A stream that emits from within its own Emit is busy, not stuck.
func TestEmitWithinEmit(t *testing.T) {
	var r *Runtime
	p := &scripted{handle: func(hints.Event, *policy.Batch) hints.Advice {
		return r.Emit(need(1))
	}}
	r, _, _ = open(t, policies(p))
	if a := r.Emit(need(1)); a.Skip != contendedSkip {
		t.Errorf("advice %+v", a)
	}
	if got := r.Stats().Contended; got != 1 {
		t.Errorf("%d contended, want 1", got)
	}
}

// badChildren can't be read.
type badChildren struct{}

func (badChildren) Child(int) (hints.Extent, bool) { panic("torn page") }

func TestPanickingChildrenLeaveTheStreamUsable(t *testing.T) {
	tr := tree(t, 1000)
	r, b, _ := open(t, policies(treechildren.New()))
	b.Answer = cold
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the emitter was not told")
			}
		}()
		r.Emit(&hints.TreeChildEnter{
			Stream: 1, Start: true, Crossed: 1, Fanout: 100, Dir: hints.Forward,
			Entered: tr.Head(0), Children: badChildren{},
		})
	}()
	walkSteps(r, tr, 1, 10)
	if c := one(t, r); c.Accepted == 0 || c.Useful == 0 || r.Stats().Contended != 0 {
		t.Errorf("%+v, contended %d after a panic", c, r.Stats().Contended)
	}
}

// tornChildren can be read up to a point.
type tornChildren struct{ hints.ChildList }

func (c tornChildren) Child(i int) (hints.Extent, bool) {
	if i == len(c.ChildList) {
		panic("torn page")
	}
	return c.ChildList.Child(i)
}

// Of an event that ends in a panic nothing is left for the next one of its slot: what
// it had asked for is not submitted, nor taken for submitted.
func TestPanicLeavesNothingBehind(t *testing.T) {
	f, torn := file(t, 100), file(t, 10)
	for name, next := range map[string]uint64{"the same stream": 1, "another in its slot": 1 + MaxStreams} {
		t.Run(name, func(t *testing.T) {
			r, b, _ := open(t, policies(treechildren.New()))
			b.Answer = cold
			e := hints.TreeChildEnter{
				Stream: 1, Start: true, Crossed: 1, Dir: hints.Forward, Entered: pages(torn, 0, 1),
				Children: tornChildren{hints.ChildList{pages(torn, 2, 1), pages(torn, 4, 1)}},
			}
			func() {
				defer func() { recover() }()
				r.Emit(&e)
				t.Error("no panic")
			}()
			var list hints.ChildList
			for i := range 20 {
				list = append(list, pages(f, 2+2*i, 1))
			}
			e.Stream, e.Start, e.Entered, e.Children = next, false, pages(f, 0, 1), list
			r.Emit(&e)
			got := b.Ranges()
			if len(got) == 0 || r.Stats().InFlight != len(got) {
				t.Fatalf("%d requests, %d in flight", len(got), r.Stats().InFlight)
			}
			for i, q := range got {
				if q.FileID != f.ID() || q.Off != list[i].Off {
					t.Errorf("request %d is %+v, want the next event's, %+v", i, q, list[i])
				}
			}
		})
	}
}

// Many goroutines, some in one stream; run with -race.
func TestConcurrentEmit(t *testing.T) {
	tr := tree(t, 5000)
	r, b, _ := open(t, func(o *Options) {
		policies(treechildren.New(), willneed.Policy{})(o)
		o.Recent = 0
		o.Clock = nil
	})
	b.Answer = cold
	const goroutines, steps = 8, 300
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			w := testwalk.Walk{Tree: tr, Stream: uint64(1 + g/2)} // pairs share a stream
			w.Seek(g*500, hints.Forward, hints.FromSeek)
			for range steps {
				switch rnd.IntN(20) {
				case 0:
					w.Seek(rnd.IntN(tr.Leaves), hints.Backward, hints.FromSeek)
				case 1:
					w.Finish(r)
				case 2:
					r.Emit(need(uint64(rnd.IntN(3*MaxStreams)), pages(tr.File, rnd.IntN(1000), 1)))
				case 3:
					addsUp(t, "total", r.Stats().Total())
				default:
					w.Step(r)
				}
			}
			w.Finish(r)
		})
	}
	wg.Wait()
	for id := range uint64(goroutines) {
		r.Emit(&hints.StreamEnd{Stream: id})
	}
	s := r.Stats()
	for name, c := range s.Policies {
		addsUp(t, name, c)
	}
	if s.InFlight != 0 || s.InFlightBytes != 0 {
		t.Errorf("%d requests, %d bytes in flight after all streams have ended", s.InFlight, s.InFlightBytes)
	}
}

func TestConcurrentClose(t *testing.T) {
	tr := tree(t, 5000)
	for range 20 {
		r, b, _ := open(t, policies(treechildren.New(), willneed.Policy{}))
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 20 {
					walkSteps(r, tr, uint64(g*100+i), 20)
					r.Emit(need(uint64(g), pages(tr.File, 0, 4096))) // by a worker
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		submitted := b.Total()
		if a := r.Emit(need(1, pages(tr.File, 0, 1))); a.Skip != hints.Silent || b.Total() != submitted {
			t.Errorf("after Close: advice %+v, %d requests", a, b.Total()-submitted)
		}
		s := r.Stats()
		for name, c := range s.Policies {
			addsUp(t, name, c)
		}
		if s.InFlight != 0 || s.InFlightBytes != 0 {
			t.Errorf("%d requests in flight after Close", s.InFlight)
		}
	}
}
