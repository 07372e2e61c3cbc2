// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NONBLOCK

type fileStat struct {
	dev, ino uint64
	size     int64
	regular  bool
}

func statFD(fd int) (fileStat, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return fileStat{}, os.NewSyscallError("fstat", err)
	}
	return fileStat{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size,
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}, nil
}

func dupFD(fd int) (int, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	return own, os.NewSyscallError("fcntl", err)
}

func closeFD(fd int) { unix.Close(fd) }

func ignoringEINTR(fn func() error) error {
	for {
		if err := fn(); err != unix.EINTR {
			return err
		}
	}
}

// deviceOf reads a device's queue limits from sysfs. A partition has no queue
// of its own: its parent directory is the disk's.
func deviceOf(dev uint64) Device {
	base := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev))
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return Device{}
	}
	if _, err := os.Stat(filepath.Join(real, "queue")); err != nil {
		real = filepath.Dir(real)
	}
	num := func(name string) int64 {
		b, err := os.ReadFile(filepath.Join(real, "queue", name))
		if err != nil {
			return 0
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	d := Device{
		Name:       filepath.Base(real),
		ReadAhead:  num("read_ahead_kb") << 10,
		QueueDepth: int(num("nr_requests")),
		Rotational: num("rotational") == 1,
	}
	if d.ReadAhead == 0 && d.QueueDepth == 0 {
		return Device{}
	}
	d.ReadAheadCtl = filepath.Join(real, "queue", "read_ahead_kb")
	// One readahead call reads at most this much and silently drops the rest
	// (mm/readahead.c: force_page_cache_ra).
	d.MaxRequest = max(num("max_sectors_kb")<<10, d.ReadAhead)
	return d
}
