// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/predictio/predictio/testbeds/device"
)

// readDirect is device.ReadDirect for ranges of several files: the same depth, with a
// goroutine for each read in flight.
func readDirect(paths []string, ranges []fileRange) (time.Duration, error) {
	fds := make([]int, len(paths))
	for i, path := range paths {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, fmt.Errorf("%w: open %s for direct reads: %w", device.ErrNotSupported, path, err)
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	memory, err := unix.Mmap(-1, 0, device.Depth*device.MaxDirect, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return 0, os.NewSyscallError("mmap", err)
	}
	defer unix.Munmap(memory)
	var (
		next   atomic.Int64
		failed atomic.Pointer[error]
		wg     sync.WaitGroup
	)
	start := time.Now()
	for slot := range min(device.Depth, len(ranges)) {
		buf := memory[slot*device.MaxDirect:][:device.MaxDirect]
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(ranges) {
					return
				}
				r := ranges[i]
				if _, err := unix.Pread(fds[r.file], buf[:r.Len], r.Off); err != nil {
					err = os.NewSyscallError("direct read", err)
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return took, nil
}
