// SPDX-License-Identifier: Apache-2.0

// Package lsm says what a scan of a log-structured merge tree will read next. It
// is what the Pebble adapters share, and knows only keys, bytes and extents:
//
//	Store   what the engine has open: its tables, its sink of hints
//	view    the tables of one version of the tree, sorted into runs
//	cursor  a place in one run: the block that comes next in key order
//	merge   the cursors of all runs: what a scan reads, in the order of need
//	Scan    an iterator's shadow: turns its movements into hints
//
// A run is a list of tables whose keys do not overlap: a level, or as many tables
// of level 0 as can be put one after the other. A scan must look into every run at
// once, and the engine reads them one by one; that is what there is to be gained.
//
// Nothing here changes what the engine does. A table that can't be read, whose index
// is damaged, or that has gone away gives no hints.
package lsm

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/sstindex"
)

const (
	// MaxRuns bounds the runs of a view; tables of further ones give no hints.
	MaxRuns = 256
	// MaxOpenTables bounds the tables that a Store holds open, each with two descriptors
	// and its top index block, and no more of them than one in descriptorShare of those
	// that the process may have.
	MaxOpenTables, descriptorShare = 1000, 8
	// MaxIndexBytes bounds the index blocks that a Store keeps, without the top ones.
	MaxIndexBytes = 32 << 20
)

// File is an open table. Fd is all ones where there is no descriptor.
type File interface {
	io.ReaderAt
	io.Closer
	Fd() uintptr
}

// TableInfo is what the engine says of a table.
type TableInfo struct {
	File              uint64 // number of the file that holds it
	Smallest, Largest []byte // user keys, both part of the table
}

// Options of a Store. All but MayContain are needed.
type Options struct {
	Sink hints.Sink
	// Compare orders user keys.
	Compare func(a, b []byte) int
	// Open opens a table's file; it is called when a table is first needed.
	Open func(file uint64) (File, error)
	// Tables lists the tables of each level; those of level 0 may overlap. Tables that
	// don't lie in a local file are left out.
	Tables func() ([][]TableInfo, error)
	// Decompress a block of a table.
	Decompress sstindex.Decompress
	// MayContain asks a table filter of the named policy; nil: all may.
	MayContain func(policy string, filter, key []byte) bool
	// Reads counts what the engine reads; nil: nobody counts.
	Reads *Reads
}

// Reads counts the engine's reads of table files.
type Reads struct {
	All    atomic.Uint64
	Waited atomic.Uint64 // of these, for storage
}

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	o  Options
	id uint64

	view    atomic.Pointer[view]
	changed atomic.Bool // the list of tables, since it was read
	// changedAt is when that was last said, ns since epoch.
	changedAt atomic.Int64
	unsettled atomic.Bool  // it was read too soon after that
	scanning  atomic.Int32 // Scans in use
	untouched atomic.Int64 // files that nobody has opened yet

	mu      sync.Mutex
	files   map[uint64]*tableFile // those of all views in use
	opened  []*tableFile          // oldest first
	reading chan struct{}         // closed when the list of tables is read; nil: it isn't
	blocks  blockCache
	closed  bool
	maxOpen int

	fetches  fetches
	hushedAt atomic.Uint64 // count of waits plus one; 0: never
	rowBytes atomic.Int64  // what a row takes of the tables, smoothed; 0: not known
	scans    sync.Pool
}

// New returns a Store and reads the list of tables; its error is that of
// Options.Tables.
func New(o Options) (*Store, error) {
	if o.Reads == nil {
		o.Reads = new(Reads)
	}
	s := &Store{o: o, id: hints.NewStream(), files: make(map[uint64]*tableFile), maxOpen: MaxOpenTables}
	if n := maxDescriptors(); n > 0 {
		s.maxOpen = max(1, min(s.maxOpen, n/descriptorShare/2))
	}
	s.scans.New = func() any { return new(Scan) }
	if err := s.reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close gives up all files. Scans that are in use go on without hints. Calling it
// again does nothing.
func (s *Store) Close() {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if !was {
		s.setView(nil)
	}
}
