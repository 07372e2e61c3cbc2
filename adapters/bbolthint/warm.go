// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/pagecache"
)

var (
	// ErrNotBbolt is returned for a file in which neither meta page is bbolt's, or
	// both are of a format version that this package doesn't know.
	ErrNotBbolt = errors.New("bbolthint: not a bbolt database")
	// ErrOverBudget is returned by Warm for a file larger than the budget. Its
	// text says both sizes.
	ErrOverBudget = errors.New("bbolthint: the file is larger than the budget")
)

// warmShare is the part of the available memory that Warm fills at most where the
// caller names no budget: what is left is for the program that will read the file.
const warmShare = 0.5

// Warm reads a bbolt file into the page cache, in large reads, skipping what is
// there. It is for what walks a database without a cursor of ours: Open with
// NoFreelistSync, Check, Compact, Stats. It takes no lock, and so works before
// Open and beside it.
//
// A file larger than budget bytes is not read at all: its first pages would be
// pushed out by its last. A budget of 0 is half of the memory that is available
// to this process. progress, if not nil, is called with the bytes done so far and
// in all, never twice at a time.
//
// The errors are ErrOverBudget; ErrNotBbolt; hints.ErrNotRegular for a folder or
// a device; ErrNotSupported for a budget of 0 where the system doesn't tell how
// much memory there is; ctx's error if that ends first; and those of opening and
// reading the file.
func Warm(ctx context.Context, path string, budget int64, progress func(done, total int64)) error {
	// A pipe must be refused before it is opened, which would wait for a writer.
	if st, err := os.Stat(path); err != nil {
		return fmt.Errorf("bbolthint: %w", err)
	} else if !st.Mode().IsRegular() {
		return fmt.Errorf("bbolthint: warm %s: %w", path, hints.ErrNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("bbolthint: %w", err)
	}
	defer f.Close()
	if _, err := FilePageSize(f); err != nil {
		return fmt.Errorf("%w: %s", err, path)
	}
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("bbolthint: %w", err)
	}
	size := st.Size()
	if budget == 0 {
		if budget, err = ownBudget(); err != nil {
			return err
		}
	}
	if size > budget {
		return fmt.Errorf("%w: %s has %d bytes, the budget is %d", ErrOverBudget, path, size, budget)
	}
	var each func(done int64)
	if progress != nil {
		each = func(done int64) { progress(done, size) }
	}
	return pagecache.Warm(ctx, f, size, each)
}

func ownBudget() (int64, error) {
	s, err := memory.Read()
	if err != nil {
		return 0, fmt.Errorf("%w: name a budget, since available memory is not known: %w", ErrNotSupported, err)
	}
	return int64(warmShare * float64(s.Available)), nil
}

const (
	minPageSize = 1 << 10 // bytes; bbolt's own bounds of its search for the second meta page
	maxPageSize = 1 << 24
)

// FilePageSize returns the page size in bytes of a bbolt database, as its meta
// pages say. Any other file gives ErrNotBbolt, a truncated or damaged database
// mostly does not: only one valid meta page is looked for. Its other errors are
// those of r.
func FilePageSize(r io.ReaderAt) (int, error) {
	size, err := metaPageSize(r, 0)
	if size > 0 || err != nil {
		return size, err
	}
	// The first meta page may be torn. The second lies one page in, and how large
	// a page is, is not known yet.
	for off := int64(minPageSize); off <= maxPageSize; off *= 2 {
		size, err := metaPageSize(r, off)
		if err != nil {
			return 0, err
		}
		if int64(size) == off {
			return size, nil
		}
	}
	return 0, ErrNotBbolt
}

// metaPageSize returns the page size that the meta page at off tells, 0 if there
// is none.
func metaPageSize(r io.ReaderAt, off int64) (int, error) {
	var b [headerSize + 12]byte
	if _, err := r.ReadAt(b[:], off); errors.Is(err, io.EOF) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("bbolthint: %w", err)
	}
	field := func(i int) uint32 { return binary.NativeEndian.Uint32(b[headerSize+4*i:]) }
	size := field(2)
	if field(0) != magic || field(1) != version ||
		size < minPageSize || size > maxPageSize || size&(size-1) != 0 {
		return 0, nil
	}
	return int(size), nil
}
