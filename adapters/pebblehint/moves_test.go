// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/adapters/pebblehint"
)

// mover is what both iterators have, but for Clone.
type mover interface {
	SeekGE(key []byte) bool
	SeekGEWithLimit(key, limit []byte) pebble.IterValidityState
	SeekPrefixGE(key []byte) bool
	SeekLT(key []byte) bool
	SeekLTWithLimit(key, limit []byte) pebble.IterValidityState
	First() bool
	Last() bool
	Next() bool
	NextWithLimit(limit []byte) pebble.IterValidityState
	NextPrefix() bool
	Prev() bool
	PrevWithLimit(limit []byte) pebble.IterValidityState
	SetBounds(lower, upper []byte)
	SetOptions(o *pebble.IterOptions)
	RangeKeyChanged() bool
	HasPointAndRange() (hasPoint, hasRange bool)
	RangeBounds() (start, end []byte)
	Key() []byte
	ValueAndErr() ([]byte, error)
	RangeKeys() []pebble.RangeKeyData
	Valid() bool
	Error() error
	Close() error
}

var (
	_ mover = (*pebble.Iterator)(nil)
	_ mover = (*pebblehint.Iterator)(nil)
)

// state is all that a caller can see.
func state(it mover) string {
	if !it.Valid() {
		return fmt.Sprintf("invalid, %v", it.Error())
	}
	v, err := it.ValueAndErr()
	point, rng := it.HasPointAndRange()
	s := fmt.Sprintf("%q = %q, %v; point %v, range %v, changed %v, %v", it.Key(), v, err, point, rng, it.RangeKeyChanged(), it.Error())
	if rng {
		from, to := it.RangeBounds()
		s += fmt.Sprintf("; [%q, %q)", from, to)
		for _, k := range it.RangeKeys() {
			s += fmt.Sprintf(" %q=%q", k.Suffix, k.Value)
		}
	}
	return s
}

// attempt moves an iterator, and says what came of it.
func attempt(it mover, move func(mover) any) (outcome string, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			outcome, panicked = fmt.Sprintf("panic: %v", p), true
		}
	}()
	result := move(it)
	return addresses.ReplaceAllString(fmt.Sprintf("%v: %s", result, state(it)), "0x"), false
}

// addresses may be in an error's text.
var addresses = regexp.MustCompile("0x[0-9a-f]+")

// pair is two iterators that are moved in the same way.
type pair struct {
	bare   *pebble.Iterator
	hinted *pebblehint.Iterator
	done   bool // both have panicked
	onward bool // the last move was forward, to a key: NextPrefix is not defined else
}

// newPair opens both.
func newPair(t tester, h *pebblehint.Hints, r pebble.Reader, o *pebble.IterOptions, so pebblehint.ScanOptions) *pair {
	t.Helper()
	bare, err := r.NewIter(o)
	hinted, err2 := h.NewIter(r, o, so)
	same(t, "NewIter", err, err2)
	if err != nil {
		return nil
	}
	return &pair{bare: bare, hinted: hinted}
}

// move moves both and compares.
func (p *pair) move(t tester, name string, move func(mover) any) (outcome string) {
	t.Helper()
	if p.done {
		return ""
	}
	want, panicked := attempt(p.bare, move)
	got, _ := attempt(p.hinted, move)
	if got != want {
		t.Fatalf("%s:\nbare   %s\nhinted %s", name, want, got)
	}
	p.done = panicked
	return want
}

// scan moves both to the end, from where they are.
func (p *pair) scan(t tester, name string, move func(mover) any) (rows int) {
	t.Helper()
	for p.bare.Valid() {
		p.move(t, name, move)
		rows++
	}
	return rows
}

func (p *pair) clone(t tester, o pebble.CloneOptions) *pair {
	t.Helper()
	bare, err := p.bare.Clone(o)
	hinted, err2 := p.hinted.Clone(o)
	same(t, "Clone", err, err2)
	if err != nil {
		return nil
	}
	return &pair{bare: bare, hinted: hinted}
}

func (p *pair) close(t tester) {
	t.Helper()
	a, b := p.bare.Close(), p.hinted.Close()
	if !p.done {
		same(t, "Close", a, b)
	}
}

func same(t tester, what string, bare, hinted error) {
	t.Helper()
	if fmt.Sprint(bare) != fmt.Sprint(hinted) {
		t.Fatalf("%s: bare %v, hinted %v", what, bare, hinted)
	}
}

func first(it mover) any { return it.First() }
func last(it mover) any  { return it.Last() }
func next(it mover) any  { return it.Next() }
func prev(it mover) any  { return it.Prev() }

func seekGE(k []byte) func(mover) any { return func(it mover) any { return it.SeekGE(k) } }
func seekLT(k []byte) func(mover) any { return func(it mover) any { return it.SeekLT(k) } }

var moveNames = []string{
	"First", "Last", "Next", "Prev", "Next", "Prev", "SeekGE", "SeekLT", "SeekGE", "SeekLT", "SeekPrefixGE",
	"SeekGEWithLimit", "SeekLTWithLimit", "NextWithLimit", "PrevWithLimit", "NextPrefix", "SetBounds", "SetOptions",
}

// random draws a move and makes it, perhaps often.
func (p *pair) random(t *rapid.T, w *world) {
	name := rapid.SampledFrom(moveNames).Draw(t, "move")
	if name == "SeekPrefixGE" && !w.o.DisableAutomaticCompactions {
		// Two bare iterators, moved alike, differ here too: once in some hundred runs, while
		// tables are being compacted.
		name = "SeekGE"
	}
	times := 1
	var move func(mover) any
	switch name {
	case "First":
		move = first
	case "Last":
		move = last
	case "Next":
		move = next
	case "Prev":
		move = prev
	case "NextPrefix":
		move = func(it mover) any { return it.NextPrefix() }
	case "SeekGE":
		move = seekGE(w.key(t))
	case "SeekLT":
		move = seekLT(w.key(t))
	case "SeekPrefixGE":
		k := w.key(t)
		move = func(it mover) any { return it.SeekPrefixGE(k) }
	case "SeekGEWithLimit":
		k, limit := w.key(t), w.key(t)
		move = func(it mover) any { return it.SeekGEWithLimit(k, limit) }
	case "SeekLTWithLimit":
		k, limit := w.key(t), w.key(t)
		move = func(it mover) any { return it.SeekLTWithLimit(k, limit) }
	case "NextWithLimit":
		limit := w.key(t)
		move = func(it mover) any { return it.NextWithLimit(limit) }
	case "PrevWithLimit":
		limit := w.key(t)
		move = func(it mover) any { return it.PrevWithLimit(limit) }
	case "SetBounds":
		lower, upper := w.bounds(t)
		move = func(it mover) any { it.SetBounds(lower, upper); return nil }
	case "SetOptions":
		o := w.iterOptions(t)
		move = func(it mover) any { it.SetOptions(o); return nil }
	}
	switch name {
	case "Next", "Prev", "NextWithLimit", "PrevWithLimit", "NextPrefix":
		times = rapid.SampledFrom([]int{1, 1, 2, 9, 30, 300}).Draw(t, "times")
	}
	for i := range times {
		if name == "NextPrefix" && !(p.onward && p.bare.Valid()) {
			return
		}
		p.onward = slices.Contains([]string{"First", "SeekGE", "Next", "NextPrefix"}, name)
		p.move(t, fmt.Sprintf("%s (%d of %d)", name, i+1, times), move)
	}
}
