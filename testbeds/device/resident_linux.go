// SPDX-License-Identifier: Apache-2.0

package device

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Resident lists the pages of a file that are in the page cache. The caller must
// be able to write the file: to others the kernel calls everything resident.
func Resident(path string) ([]Range, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return nil, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	defer unix.Munmap(m)
	page := int64(os.Getpagesize())
	vec := make([]byte, (st.Size()+page-1)/page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		return nil, os.NewSyscallError("mincore", errno)
	}
	var out []Range
	for i, v := range vec {
		if v&1 != 0 {
			out = append(out, Range{int64(i) * page, page})
		}
	}
	return out, nil
}
