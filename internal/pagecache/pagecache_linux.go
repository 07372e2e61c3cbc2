// SPDX-License-Identifier: Apache-2.0

package pagecache

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// System are the kernel's own calls.
var System = Calls{
	WillNeed: func(fd int, off, n int64) error {
		return unix.Fadvise(fd, off, n, unix.FADV_WILLNEED)
	},
	DontNeed: func(fd int, off, n int64) error {
		return unix.Fadvise(fd, off, n, unix.FADV_DONTNEED)
	},
	Cached: cached,
	NoWait: noWait,
}

// Missing reports whether an errno says that the kernel has no such call.
func Missing(err error) bool { return errors.Is(err, unix.ENOSYS) || errors.Is(err, ErrNotSupported) }

// Unsupported reports whether an errno says that the call can't work here,
// rather than that it failed this time: it is missing, a container refuses it, or
// the caller may not ask this file (cachestat wants its owner or a writer).
func Unsupported(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, ErrNotSupported)
}

func readOnlyFS(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EBADF) || errors.Is(err, unix.EINVAL)
}

func cached(fd int, off, n int64) (int64, error) {
	if n == 0 {
		return 0, nil // cachestat takes 0 for "to the end"
	}
	var stat unix.Cachestat_t
	r := unix.CachestatRange{Off: uint64(off), Len: uint64(n)}
	if err := unix.Cachestat(uint(fd), &r, &stat, 0); err != nil {
		return 0, err
	}
	return int64(stat.Cache), nil
}

// ignored takes what noWait reads. Nobody looks at it, but one for all would be a data
// race.
var ignored = sync.Pool{New: func() any { return &[][]byte{make([]byte, 1)} }}

// noWait tells data from pages that are still being read, which cachestat counts as
// cached. It needs no privilege and, unlike mincore, tells the truth to who can't
// write the file. The kernel starts to read a page that it doesn't find.
func noWait(fd int, off int64) (bool, error) {
	b := ignored.Get().(*[][]byte)
	n, err := unix.Preadv2(fd, *b, off, unix.RWF_NOWAIT)
	ignored.Put(b)
	switch err {
	case nil:
		return n == 1, nil // 0: past the end
	case unix.EAGAIN:
		return false, nil
	}
	return false, err
}

// vectors hold the one buffer of a ReadNoWait, so that it takes no memory.
var vectors = sync.Pool{New: func() any { return &[][]byte{nil} }}

// ReadNoWait reads into p if all of it can be had without waiting for storage, and
// reports whether that was so. It starts reading what isn't there.
func ReadNoWait(fd int, p []byte, off int64) (bool, error) {
	v := vectors.Get().(*[][]byte)
	(*v)[0] = p
	n, err := unix.Preadv2(fd, *v, off, unix.RWF_NOWAIT)
	(*v)[0] = nil
	vectors.Put(v)
	if err == unix.EAGAIN || err == unix.EINTR {
		return false, nil
	}
	return err == nil && n == len(p), err
}
