// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// Depth is the queue depth of ReadDirect.
	Depth = 64
	// MaxDirect bounds one direct read, in bytes.
	MaxDirect = 512 << 10
)

// pread is IOCB_CMD_PREAD.
const pread = 0

// iocb and ioEvent are struct iocb and struct io_event of linux/aio_abi.h.
type iocb struct {
	data   uint64
	_      [2]uint32 // key, flags
	opcode uint16
	_      int16 // priority
	fd     uint32
	buf    uint64
	nbytes uint64
	offset int64
	_      [2]uint64
}

type ioEvent struct {
	data, obj uint64
	res, res2 int64
}

// ReadDirect reads ranges of the files at paths, past the page cache and Depth at a
// time, and returns how long that took: the least that a reader of these ranges can
// need. Each range is at most MaxDirect long.
func ReadDirect(paths []string, ranges []FileRange) (time.Duration, error) {
	fds := make([]int, len(paths))
	for i, path := range paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, fmt.Errorf("%w: open %s for direct reads: %w", ErrNotSupported, path, err)
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	memory, err := unix.Mmap(-1, 0, Depth*MaxDirect, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return 0, os.NewSyscallError("mmap", err)
	}
	defer unix.Munmap(memory)
	var ctx uintptr
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, Depth, uintptr(unsafe.Pointer(&ctx)), 0); e != 0 {
		return 0, fmt.Errorf("%w: io_setup: %w", ErrNotSupported, e)
	}
	defer unix.Syscall(unix.SYS_IO_DESTROY, ctx, 0, 0)

	var (
		cbs    [Depth]iocb
		free   []int
		events [Depth]ioEvent
		batch  [Depth]*iocb
		next   int
		flying int
	)
	for i := range Depth {
		free = append(free, i)
	}
	start := time.Now()
	for next < len(ranges) || flying > 0 {
		n := 0
		for next < len(ranges) && len(free) > 0 {
			slot := free[len(free)-1]
			free = free[:len(free)-1]
			r := ranges[next]
			if r.Len > MaxDirect {
				return 0, fmt.Errorf("device: direct read of %d bytes", r.Len)
			}
			next++
			cbs[slot] = iocb{
				data: uint64(slot), opcode: pread, fd: uint32(fds[r.File]), offset: r.Off, nbytes: uint64(r.Len),
				buf: uint64(uintptr(unsafe.Pointer(&memory[slot*MaxDirect]))),
			}
			batch[n] = &cbs[slot]
			n++
		}
		for done := 0; done < n; {
			k, _, e := unix.Syscall(unix.SYS_IO_SUBMIT, ctx, uintptr(n-done), uintptr(unsafe.Pointer(&batch[done])))
			if e != 0 {
				return 0, os.NewSyscallError("io_submit", e)
			}
			done += int(k)
		}
		flying += n
		k, _, e := unix.Syscall6(unix.SYS_IO_GETEVENTS, ctx, 1, Depth, uintptr(unsafe.Pointer(&events[0])), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return 0, os.NewSyscallError("io_getevents", e)
		}
		for _, ev := range events[:k] {
			if ev.res < 0 {
				return 0, os.NewSyscallError("direct read", unix.Errno(-ev.res))
			}
			free = append(free, int(ev.data))
		}
		flying -= int(k)
	}
	took := time.Since(start)
	runtime.KeepAlive(&cbs)
	return took, nil
}
