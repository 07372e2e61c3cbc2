// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/sstindex"
)

// tableFile is a table's file and what is known of its index. What can't be opened or
// read is remembered as failed, and not tried again, unless there were too many files.
type tableFile struct {
	store *Store
	num   uint64
	views int // that it is in; under store.mu

	index  atomic.Pointer[tableIndex]
	failed atomic.Bool
	// touched: the engine has opened it, or was told to be about to.
	touched atomic.Bool
	// Of the extent that was last hinted: what the engine's own readahead asks for in
	// there is on its way.
	aheadFrom, aheadTo atomic.Int64

	mu     sync.RWMutex // held for reading while reader is read
	reader File
	file   *hints.File
	size   int64
}

// tableIndex is a parsed top index block, and the lower ones that were read.
type tableIndex struct {
	*sstindex.Index
	parts  []atomic.Pointer[sstindex.Block]
	filter atomic.Pointer[[]byte]
}

// acquire returns the registered file with a reference, and opens it if that was not
// yet done; fresh: it was not. It returns nil for a file that can't be had.
func (t *tableFile) acquire() (file *hints.File, fresh bool) {
	if t.failed.Load() {
		return nil, false
	}
	t.mu.RLock()
	if t.file != nil && t.file.Retain() {
		defer t.mu.RUnlock()
		return t.file, false
	}
	t.mu.RUnlock()

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		t.file.Retain() // it holds one of its own
		return t.file, false
	}
	if t.failed.Load() {
		return nil, false
	}
	if err := t.open(); err != nil {
		t.fail(err)
		return nil, false
	}
	t.file.Retain()
	return t.file, true
}

// opened reports whether acquire has nothing to open.
func (t *tableFile) opened() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.file != nil || t.failed.Load()
}

// open opens and registers the file. The caller holds t.mu.
func (t *tableFile) open() error {
	s := t.store
	reader, err := s.o.Open(t.num)
	if err != nil {
		return err
	}
	file, err := hints.RegisterFD(reader.Fd()) // refuses what is in memory, or far away
	if err != nil {
		reader.Close()
		return err
	}
	t.reader, t.file, t.size = reader, file, file.Size()

	s.mu.Lock()
	gone := t.views == 0 || s.closed
	var oldest *tableFile
	if !gone {
		if s.opened = append(s.opened, t); len(s.opened) > s.maxOpen {
			oldest = s.opened[0]
			s.opened = slices.Delete(s.opened, 0, 1)
		}
	}
	s.mu.Unlock()
	if gone { // its last view was dropped meanwhile
		t.shut()
		return os.ErrClosed
	}
	if oldest != nil {
		go oldest.close() // not here: two that open would wait for each other
	}
	return nil
}

// fail takes note of what can't be opened or read.
func (t *tableFile) fail(err error) {
	if !passing(err) {
		t.failed.Store(true)
	}
}

// touch takes note that somebody has opened the file, and reports whether nobody had.
func (t *tableFile) touch() bool {
	if t.touched.Swap(true) {
		return false
	}
	t.store.untouched.Add(-1)
	return true
}

// passing reports whether an error says nothing of the file itself.
func passing(err error) bool {
	return errors.Is(err, hints.ErrTooManyFiles) || errors.Is(err, os.ErrClosed) ||
		errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// close gives the file up; it may be opened again.
func (t *tableFile) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut()
}

func (t *tableFile) shut() {
	if t.file == nil {
		return
	}
	t.reader.Close()
	t.file.Release()
	t.reader, t.file = nil, nil
	t.index.Store(nil)
}

// ReadAt reads the file.
func (t *tableFile) ReadAt(p []byte, off int64) (int, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.reader == nil {
		return 0, os.ErrClosed // by a Store with too many of them
	}
	return t.reader.ReadAt(p, off)
}

// load returns the index, nil if it can't be read. It waits for storage as the engine
// would.
func (t *tableFile) load() *tableIndex {
	if x := t.index.Load(); x != nil || t.failed.Load() {
		return x
	}
	var x *sstindex.Index
	err := t.again(func() (err error) {
		t.mu.RLock()
		size := t.size
		t.mu.RUnlock()
		x, err = sstindex.Open(t, size, t.store.o.Decompress)
		return err
	})
	if err != nil {
		t.fail(err)
		return nil
	}
	own := &tableIndex{Index: x, parts: make([]atomic.Pointer[sstindex.Block], x.Partitions())}
	if !t.index.CompareAndSwap(nil, own) {
		return t.index.Load()
	}
	return own
}

// again calls read once more if the file was closed meanwhile, because there were too
// many open.
func (t *tableFile) again(read func() error) error {
	err := read()
	if !errors.Is(err, os.ErrClosed) {
		return err
	}
	file, _ := t.acquire()
	if file == nil {
		return err
	}
	defer file.Release()
	return read()
}

// tail is the extent that opening the table reads, and of what else finding a key in it
// reads as much as may be had for so many bytes.
func (t *tableFile) tail(file *hints.File, most int64) hints.Extent {
	const part = 128 // blocks of 4 KiB have entries of some 25 bytes, compressed
	size := file.Size()
	least := sstindex.TailSize(size)
	n := min(size, max(least, min(least+size/part, most)))
	return hints.Extent{File: file, Off: size - n, Len: n}
}

// cached returns an index block if it is in memory.
func (x *tableIndex) cached(part int) *sstindex.Block { return x.parts[part].Load() }

// block returns a lower index block, nil if it can't be read.
func (t *tableFile) block(x *tableIndex, part int) *sstindex.Block {
	if b := x.cached(part); b != nil {
		return b
	}
	var b *sstindex.Block
	err := t.again(func() (err error) {
		b, err = x.Load(t, part)
		return err
	})
	if err != nil {
		t.fail(err)
		return nil
	}
	if p := &x.parts[part]; p.CompareAndSwap(nil, b) && x.TwoLevel() {
		t.store.blocks.add(b.Memory(), func() { p.CompareAndSwap(b, nil) })
	}
	return b
}

// passes reports whether a table's filter lets a key through; those without one, and
// those whose filter can't be read, let all through.
func (t *tableFile) passes(x *tableIndex, key []byte) bool {
	ask := t.store.o.MayContain
	name, h, ok := x.Filter()
	if ask == nil || !ok {
		return true
	}
	f := x.filter.Load()
	if f == nil {
		data, err := x.ReadBlock(t, h)
		if err != nil {
			return true
		}
		f = &data
		if x.filter.CompareAndSwap(nil, f) {
			t.store.blocks.add(len(data), func() { x.filter.CompareAndSwap(f, nil) })
		}
	}
	return ask(name, *f, key)
}

// Opened says that the engine has opened a file.
func (s *Store) Opened(file uint64) {
	s.mu.Lock()
	t := s.files[file]
	s.mu.Unlock()
	if t != nil {
		t.touch()
	}
}

// hinted takes note of a stretch that was asked for.
func (t *tableFile) hinted(from, to int64) {
	t.aheadFrom.Store(from)
	t.aheadTo.Store(to)
}

// Covers reports whether what lies at off in a file is in the stretch that a scan has
// last asked for there, so that the engine need not.
func (s *Store) Covers(file uint64, off int64) bool {
	s.mu.Lock()
	t := s.files[file]
	s.mu.Unlock()
	return t != nil && s.scanning.Load() > 0 && t.aheadFrom.Load() <= off && off < t.aheadTo.Load()
}
