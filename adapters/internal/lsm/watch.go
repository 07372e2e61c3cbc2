// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/pagecache"
)

// Watch sees what an engine reads of one table file, and tells reads that had to wait
// for storage from those that had not.
type Watch struct {
	reads *Reads
	// fd is the file's own descriptor, where reading it is reading the file; else, of
	// files that are encrypted, say, or in memory, below zero, and every read counts as
	// one that waited.
	fd     atomic.Int64
	access *access       // nil: reads are only counted
	own    atomic.Uint64 // reads of this file
	last   atomic.Uint64 // of these, the last that waited
}

// access is what turns reads into events.
type access struct {
	sink hints.Sink
	file *hints.File
	// quiet: reads that need not wait are of no interest for now.
	quiet  atomic.Bool
	stream uint64
}

// NewWatch returns a Watch that counts in reads. plain: what can be read from
// the descriptor is what the file holds.
func NewWatch(reads *Reads, fd uintptr, plain bool) *Watch {
	w := &Watch{reads: reads}
	w.fd.Store(-1)
	if plain && fd != ^uintptr(0) {
		w.fd.Store(int64(fd))
	}
	return w
}

// Emit has every read told to sink as a FileAccess. A file that can't be registered is
// only counted.
func (w *Watch) Emit(sink hints.Sink, fd uintptr) {
	if fd == ^uintptr(0) {
		return
	}
	if file, err := hints.RegisterFD(fd); err == nil {
		w.access = &access{sink: sink, file: file, stream: hints.NewStream()}
	}
}

const (
	// warmReads is how many reads in a row must not have waited until only one in
	// askEvery is asked whether it has to: asking costs a fifth more than reading.
	warmReads, askEvery = 64, 8
)

// ReadAt is inner's, watched.
func (w *Watch) ReadAt(inner io.ReaderAt, p []byte, off int64) (int, error) {
	w.reads.All.Add(1)
	n := w.own.Add(1)
	fd := w.fd.Load()
	switch {
	case fd < 0 || len(p) == 0:
	case n%askEvery != 0 && w.Warm():
		w.saw(off, len(p), false)
		return inner.ReadAt(p, off)
	default:
		there, err := pagecache.ReadNoWait(int(fd), p, off)
		if there {
			w.saw(off, len(p), false)
			return len(p), nil
		}
		if err != nil && (pagecache.Unsupported(err) || errors.Is(err, syscall.EINVAL)) {
			w.fd.Store(-1) // this file system can't; inner will say what is wrong, if anything is
		}
	}
	w.reads.Waited.Add(1)
	w.last.Store(n)
	w.saw(off, len(p), true)
	return inner.ReadAt(p, off)
}

// Warm reports whether reads of the file have not had to wait for long.
func (w *Watch) Warm() bool { return int64(w.own.Load()-w.last.Load()) > warmReads }

func (w *Watch) saw(off int64, n int, waited bool) {
	if a := w.access; a != nil && (waited || !a.quiet.Load()) {
		a.emit(off, n, waited)
	}
}

// events are used again, for there is one a read.
var events = sync.Pool{New: func() any { return new(hints.FileAccess) }}

func (a *access) emit(off int64, n int, waited bool) {
	e := events.Get().(*hints.FileAccess)
	*e = hints.FileAccess{
		Stream: a.stream, Waited: waited,
		Extent: hints.Extent{File: a.file, Off: off, Len: int64(n)},
	}
	advice := a.sink.Emit(e)
	e.Extent.File = nil
	events.Put(e)
	if quiet := advice.Skip >= hints.Silent; quiet != a.quiet.Load() {
		a.quiet.Store(quiet)
	}
}

// Close is to be called before the file is closed.
func (w *Watch) Close() {
	w.fd.Store(-1)
	if a := w.access; a != nil {
		a.sink.Emit(&hints.StreamEnd{Stream: a.stream})
		a.file.Release()
	}
}
