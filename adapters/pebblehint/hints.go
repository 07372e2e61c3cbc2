// SPDX-License-Identifier: Apache-2.0

package pebblehint

import (
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/internal/lsm"
	"github.com/predictio/predictio/hints"
)

// ErrBound is returned by Bind for Hints that are bound already, or closed.
var ErrBound = errors.New("pebblehint: bound to a database already, or closed")

// Hints gives hints for one database. Its methods are safe for concurrent use, as far
// as the readers that they are given are. It does not own the *pebble.DB.
//
// Until Bind and after Close, it passes everything through.
type Hints struct {
	sink  hints.Sink
	fs    *hintFS
	store atomic.Pointer[lsm.Store]
	state atomic.Int32

	comparer *pebble.Comparer
	filters  map[string]pebble.FilterPolicy
}

const (
	attached = iota
	bound
	closed
)

// Attach prepares options for hinting into sink; nil discards hints. Call it before
// pebble.Open, once for each database: it wraps o.FS, to count reads, and adds to
// o.EventListener, to learn of new tables.
func Attach(o *pebble.Options, sink hints.Sink) *Hints {
	if sink == nil {
		sink = hints.Discard
	}
	h := &Hints{sink: sink}
	h.fs = wrapOptions(o, h)
	changed := func() {
		if s := h.store.Load(); s != nil {
			s.Changed()
		}
	}
	listen(o, pebble.EventListener{
		FlushEnd:      func(pebble.FlushInfo) { changed() },
		CompactionEnd: func(pebble.CompactionInfo) { changed() },
		TableIngested: func(pebble.TableIngestInfo) { changed() },
		TableDeleted: func(i pebble.TableDeleteInfo) {
			if s := h.store.Load(); s != nil {
				s.Deleted(uint64(i.FileNum))
			}
		},
	})
	h.comparer = comparerOf(o)
	h.filters = filtersOf(o)
	return h
}

// listen adds a listener to the options' own. Pebble logs background errors where
// nobody listens to them, and should go on to.
func listen(o *pebble.Options, l pebble.EventListener) {
	if o.EventListener != nil {
		own := *o.EventListener
		logger := o.Logger
		if logger == nil {
			logger = pebble.DefaultLogger
		}
		own.EnsureDefaults(logger)
		l = pebble.TeeEventListener(own, l)
	}
	o.EventListener = &l
}

// Bind starts the hints, for the database that was opened in dir with the options
// given to Attach. An error leaves everything passing through: ErrBound, or that of
// db.SSTables.
func (h *Hints) Bind(db *pebble.DB, dir string) error {
	if !h.state.CompareAndSwap(attached, bound) {
		return ErrBound
	}
	s, err := lsm.New(lsm.Options{
		Sink:       h.sink,
		Compare:    h.comparer.Compare,
		Open:       func(file uint64) (lsm.File, error) { return h.fs.openTable(dir, file) },
		Tables:     func() ([][]lsm.TableInfo, error) { return tables(db) },
		Decompress: decompress,
		MayContain: h.mayContain,
		Reads:      &h.fs.reads,
	})
	if err != nil {
		return err
	}
	h.store.Store(s)
	if h.state.Load() == closed {
		h.store.Store(nil)
		s.Close()
	}
	return nil
}

// Close ends the hints. Iterators that are still in use go on without. Close it before
// or after the database; calling it again does nothing and returns nil.
func (h *Hints) Close() error {
	h.state.Store(closed)
	if s := h.store.Swap(nil); s != nil {
		s.Close()
	}
	return nil
}
