// SPDX-License-Identifier: Apache-2.0

package pebblehint

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/predictio/predictio/adapters/internal/lsm"
	"github.com/predictio/predictio/hints"
)

// NewFS wraps a file system, nil being the system's own, so that every read of a table
// is told to sink as a hints.FileAccess: for programs that can't change their call
// sites. It is one of two ways; a database whose options were given to Attach needs no
// NewFS.
//
//	opts.FS = pebblehint.NewFS(opts.FS, rt)
//
// Files are not changed. Where the inner file system is not the system's own, it isn't
// known which reads wait, and all count as if they did; so Pebble's disk health checks,
// which it adds where no FS is set, belong around it: call opts.WithFSDefaults after.
func NewFS(inner vfs.FS, sink hints.Sink) vfs.FS {
	if sink == nil {
		sink = hints.Discard
	}
	return newFS(inner, sink, nil)
}

// hintFS watches the reads of tables.
type hintFS struct {
	vfs.FS
	plain bool       // inner is the system's own
	sink  hints.Sink // nil: reads are only counted
	hints *Hints     // nil: the file system alone
	reads lsm.Reads
}

func newFS(inner vfs.FS, sink hints.Sink, h *Hints) *hintFS {
	if inner == nil {
		inner = vfs.Default
	}
	// By type, for values of unknown types may not be comparable.
	plain := reflect.TypeOf(inner) == reflect.TypeOf(vfs.Default)
	return &hintFS{FS: inner, plain: plain, sink: sink, hints: h}
}

// wrapOptions puts a counting file system into the options.
func wrapOptions(o *pebble.Options, h *Hints) *hintFS {
	none := o.FS == nil
	f := newFS(o.FS, nil, h)
	if o.FS = f; none {
		o.WithFSDefaults() // as pebble.Open does for those who set none
	}
	return f
}

// Open opens a file for reading; tables are watched.
func (f *hintFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	num, ok := tableNumber(f.PathBase(name))
	if !ok || f.sink != nil && slices.Contains(opts, vfs.SequentialReadsOption) {
		return file, nil // whoever asks for sequential readahead gets it from the kernel
	}
	w := &tableFile{File: file, num: num, fs: f}
	if f.hints != nil {
		if s := f.hints.store.Load(); s != nil {
			s.Opened(num)
		}
	}
	w.watch = lsm.NewWatch(&f.reads, file.Fd(), f.plain)
	if f.sink != nil {
		w.watch.Emit(f.sink, file.Fd())
	}
	return w, nil
}

// openTable opens a table for us: unwatched, and read in single blocks.
func (f *hintFS) openTable(dir string, num uint64) (lsm.File, error) {
	return f.FS.Open(f.PathJoin(dir, fmt.Sprintf("%06d.sst", num)), vfs.RandomReadsOption)
}

// tableNumber is the number in a table's file name.
func tableNumber(base string) (uint64, bool) {
	name, ok := strings.CutSuffix(base, ".sst")
	if !ok {
		return 0, false
	}
	num, err := strconv.ParseUint(name, 10, 64)
	return num, err == nil
}

// tableFile is a table opened by Pebble.
type tableFile struct {
	vfs.File
	watch  *lsm.Watch
	num    uint64
	fs     *hintFS
	closed atomic.Bool
}

// ReadAt reads as the inner file does.
func (t *tableFile) ReadAt(p []byte, off int64) (int, error) {
	return t.watch.ReadAt(t.File, p, off)
}

// Prefetch is Pebble's own readahead. It is left out where a scan has asked already, and
// while all that is read is cached.
func (t *tableFile) Prefetch(off, n int64) error {
	if h := t.fs.hints; h != nil {
		if s := h.store.Load(); s != nil && (t.watch.Warm() || s.Covers(t.num, off)) {
			return nil
		}
	}
	return t.File.Prefetch(off, n)
}

// Close closes the inner file.
func (t *tableFile) Close() error {
	if !t.closed.Swap(true) {
		t.watch.Close()
	}
	return t.File.Close()
}
