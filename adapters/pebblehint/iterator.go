// SPDX-License-Identifier: Apache-2.0

package pebblehint

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/internal/lsm"
	"github.com/predictio/predictio/hints"
)

// ScanOptions say what the caller knows of a scan; the zero value says nothing. Either
// is a hint, and a scan may go on beyond.
type ScanOptions struct {
	// Rows that will be read from each place that the iterator seeks.
	Rows int
	// Bytes of the tables, compressed as they are, that will be read. Rows win.
	Bytes int64
}

// Iterator is a *pebble.Iterator that gives hints. All its methods do what Pebble's do;
// it belongs to one goroutine at a time, like Pebble's, and must be closed.
type Iterator struct {
	*pebble.Iterator
	hints *Hints
	scan  *lsm.Scan // nil: pass through
	left  int       // steps until scan is told
	so    ScanOptions
}

// NewIter returns an iterator of a DB, Snapshot, indexed Batch or other reader of the
// database that h is bound to. Its errors are r.NewIter's.
func (h *Hints) NewIter(r pebble.Reader, o *pebble.IterOptions, so ScanOptions) (*Iterator, error) {
	inner, err := r.NewIter(o)
	return h.shadow(inner, err, o, so)
}

// shadow makes a hinting iterator of one that was opened with these options.
func (h *Hints) shadow(inner *pebble.Iterator, err error, o *pebble.IterOptions, so ScanOptions) (*Iterator, error) {
	if err != nil {
		return nil, err
	}
	it := &Iterator{Iterator: inner, hints: h, so: so, left: passThrough}
	it.start(o)
	return it, nil
}

// passThrough is a count of steps that is not reached.
const passThrough = int(^uint(0) >> 1)

// helps reports whether hints can help an iterator with these options. With a block
// property filter most blocks may be left out, and we can't know which; range keys lie
// in no data block.
func helps(o *pebble.IterOptions) bool {
	return o == nil || len(o.PointKeyFilters) == 0 && o.KeyTypes != pebble.IterKeyTypeRangesOnly
}

// start begins to shadow the iterator.
func (it *Iterator) start(o *pebble.IterOptions) {
	s := it.hints.store.Load()
	if s == nil || !helps(o) {
		return
	}
	if it.scan = s.NewScan(it.so.Rows, it.so.Bytes); it.scan != nil {
		it.bounds(o)
	}
}

// bounds tells the shadow the iterator's bounds.
func (it *Iterator) bounds(o *pebble.IterOptions) {
	if o == nil {
		it.scan.Bounds(nil, nil)
	} else {
		it.scan.Bounds(o.LowerBound, o.UpperBound)
	}
	it.left = it.scan.Left
}

// stop ends the shadow.
func (it *Iterator) stop() {
	if it.scan != nil {
		it.scan.Close()
		it.scan, it.left = nil, passThrough
	}
}

// seek tells the shadow where the iterator is about to go.
func (it *Iterator) seek(key []byte, dir hints.Direction, limit []byte) {
	if it.scan != nil {
		it.scan.Seek(key, dir, limit)
		it.left = it.scan.Left
	}
}

// step counts a step, and looks when it is time to. It is small, so that it costs no call.
func (it *Iterator) step(dir hints.Direction) {
	if it.left--; it.left < 0 {
		it.look(dir)
	}
}

// look tells the shadow, which there is, where the iterator has come to.
func (it *Iterator) look(dir hints.Direction) {
	var key []byte
	if it.Valid() {
		key = it.Key()
	}
	it.scan.Look(key, dir)
	it.left = it.scan.Left
}

// SeekGE moves to the first key at or behind key.
func (it *Iterator) SeekGE(key []byte) bool {
	it.seek(key, hints.Forward, nil)
	return it.Iterator.SeekGE(key)
}

// SeekGEWithLimit is SeekGE up to a limit.
func (it *Iterator) SeekGEWithLimit(key, limit []byte) pebble.IterValidityState {
	it.seek(key, hints.Forward, limit)
	return it.Iterator.SeekGEWithLimit(key, limit)
}

// SeekPrefixGE moves to the first key at or behind key that has key's prefix. Most
// tables are ruled out by their filters, so that only an iterator that goes on from there
// is a scan.
func (it *Iterator) SeekPrefixGE(key []byte) bool {
	if it.scan != nil {
		it.scan.Idle()
		it.left = it.scan.Left
	}
	return it.Iterator.SeekPrefixGE(key)
}

// SeekLT moves to the last key before key.
func (it *Iterator) SeekLT(key []byte) bool {
	it.seek(key, hints.Backward, nil)
	return it.Iterator.SeekLT(key)
}

// SeekLTWithLimit is SeekLT down to a limit.
func (it *Iterator) SeekLTWithLimit(key, limit []byte) pebble.IterValidityState {
	it.seek(key, hints.Backward, limit)
	return it.Iterator.SeekLTWithLimit(key, limit)
}

// First moves to the first key.
func (it *Iterator) First() bool {
	it.seek(nil, hints.Forward, nil)
	return it.Iterator.First()
}

// Last moves to the last key.
func (it *Iterator) Last() bool {
	it.seek(nil, hints.Backward, nil)
	return it.Iterator.Last()
}

// Next moves to the next key.
func (it *Iterator) Next() bool {
	ok := it.Iterator.Next()
	it.step(hints.Forward)
	return ok
}

// NextWithLimit is Next up to a limit.
func (it *Iterator) NextWithLimit(limit []byte) pebble.IterValidityState {
	state := it.Iterator.NextWithLimit(limit)
	it.step(hints.Forward)
	return state
}

// NextPrefix moves to the next key with another prefix.
func (it *Iterator) NextPrefix() bool {
	ok := it.Iterator.NextPrefix()
	it.step(hints.Forward)
	return ok
}

// Prev moves to the key before.
func (it *Iterator) Prev() bool {
	ok := it.Iterator.Prev()
	it.step(hints.Backward)
	return ok
}

// PrevWithLimit is Prev down to a limit.
func (it *Iterator) PrevWithLimit(limit []byte) pebble.IterValidityState {
	state := it.Iterator.PrevWithLimit(limit)
	it.step(hints.Backward)
	return state
}

// SetBounds changes the bounds.
func (it *Iterator) SetBounds(lower, upper []byte) {
	it.Iterator.SetBounds(lower, upper)
	if it.scan != nil {
		it.scan.Bounds(lower, upper)
		it.left = it.scan.Left
	}
}

// SetOptions changes the options.
func (it *Iterator) SetOptions(o *pebble.IterOptions) {
	it.Iterator.SetOptions(o)
	switch {
	case it.scan == nil: // nor is it known which tables it has
	case !helps(o):
		it.stop()
	default: // the tables stay those of the iterator's creation
		it.bounds(o)
	}
}

// Clone returns an iterator over the same state of the database, unpositioned.
func (it *Iterator) Clone(opts pebble.CloneOptions) (*Iterator, error) {
	return it.CloneWithContext(context.Background(), opts)
}

// CloneWithContext is Clone with a context.
func (it *Iterator) CloneWithContext(ctx context.Context, opts pebble.CloneOptions) (*Iterator, error) {
	inner, err := it.Iterator.CloneWithContext(ctx, opts)
	if err != nil {
		return nil, err
	}
	c := &Iterator{Iterator: inner, hints: it.hints, so: it.so, left: passThrough}
	if o := opts.IterOptions; it.scan != nil && helps(o) {
		c.scan = it.scan.Clone()
		if c.left = c.scan.Left; o != nil {
			c.bounds(o)
		}
	}
	return c, nil
}

// Close closes Pebble's iterator.
func (it *Iterator) Close() error {
	it.stop()
	return it.Iterator.Close()
}
