// SPDX-License-Identifier: Apache-2.0

// Package bbolthint makes cold scans of a bbolt database fast. bbolt maps its
// file for random access, so every cold page of a scan is one wait for storage;
// yet its branch pages list the leaves that come next. A [Cursor] of this package
// says so to a hints.Sink, usually a predictio.Runtime, which fetches them ahead.
//
//	hinted, err := bbolthint.Attach(db, rt)
//	...
//	err = db.View(func(tx *bolt.Tx) error {
//		c := hinted.Cursor(tx.Bucket(name)) // instead of tx.Bucket(name).Cursor()
//		for k, v := c.First(); k != nil; k, v = c.Next() {
//			...
//		}
//		return nil
//	})
//
// Keys, values, their order, errors and panics are bbolt's own. In read-only
// transactions the Cursor steps over the mapped pages itself, and so costs less
// than bbolt's when all is cached; everywhere else it passes through to bbolt's:
// in writable transactions, in inline buckets, for a file format that it doesn't
// know, and on other systems than 64-bit Linux.
//
// The file format is that of bbolt v1 (format version 2), as defined by
// go.etcd.io/bbolt, internal/common/page.go and meta.go.
package bbolthint

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/hints"
)

var (
	// ErrNotSupported is returned by Attach where cursors can only pass through:
	// other systems than 64-bit Linux.
	ErrNotSupported = errors.New("bbolthint: not supported on this system")
	// ErrUnknownFormat is returned by Attach for a database whose format version
	// this package doesn't know.
	ErrUnknownFormat = errors.New("bbolthint: unknown bbolt format version")
	// ErrFileReplaced is returned by Attach if the file at the database's path is
	// not the one that the database has open: it was renamed or replaced.
	ErrFileReplaced = errors.New("bbolthint: the file at the database's path is not the open one")
)

// maxWhole bounds what a DB remembers of buckets that were read from end to end.
const maxWhole = 64

// DB gives out hinting cursors for one open bbolt database. Its methods are safe
// for concurrent use. It does not own the *bolt.DB.
type DB struct {
	db   *bolt.DB
	sink hints.Sink
	file *hints.File // nil: pass through

	closed atomic.Bool

	mu    sync.Mutex
	whole map[uint64]struct{} // root pages of buckets read from end to end
}

// Attach prepares an open database for hinting into sink; nil discards hints.
//
// The DB it returns is never nil: on an error its cursors are bbolt's own, so a
// program may log the error and go on. The errors are ErrNotSupported,
// ErrUnknownFormat, ErrFileReplaced, bbolt's ErrDatabaseNotOpen for a closed
// database, and those of opening and registering the database's file a second
// time.
func Attach(db *bolt.DB, sink hints.Sink) (*DB, error) {
	if sink == nil {
		sink = hints.Discard
	}
	h := &DB{db: db, sink: sink}
	if !native {
		return h, ErrNotSupported
	}
	// In a transaction, for it keeps the database from being closed.
	return h, db.View(func(*bolt.Tx) error {
		info := db.Info()
		if !knownFormat(info) {
			return ErrUnknownFormat
		}
		file, err := hints.Open(db.Path())
		if err != nil {
			return fmt.Errorf("bbolthint: %w", err)
		}
		same, err := mapsFile(info.Data, file)
		switch {
		case err != nil:
			err = fmt.Errorf("bbolthint: %w", err)
		case !same:
			err = fmt.Errorf("%w: %s", ErrFileReplaced, db.Path())
		default:
			h.file = file
			return nil
		}
		file.Release()
		return err
	})
}

// Close gives up the registered file. Cursors that are still in use go on without
// hints. The *bolt.DB stays open. Calling Close again does nothing.
func (h *DB) Close() error {
	if h.file != nil && !h.closed.Swap(true) {
		h.file.Release()
	}
	return nil
}

// readWhole reports whether the bucket with this root page was read from end to
// end before.
func (h *DB) readWhole(root uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.whole[root]
	return ok
}

// markWhole remembers that it was.
func (h *DB) markWhole(root uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole == nil {
		h.whole = make(map[uint64]struct{})
	}
	if len(h.whole) >= maxWhole {
		for old := range h.whole {
			delete(h.whole, old)
			break
		}
	}
	h.whole[root] = struct{}{}
}
