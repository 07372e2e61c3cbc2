// SPDX-License-Identifier: Apache-2.0

//go:build linux && !android && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package bbolthint

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/hints"
)

// native: cursors may step over the mapping themselves.
const native = true

// maxMapSize is bbolt's bound of a mapping.
const maxMapSize = 0xFFFFFFFFFFFF

// mapping is bbolt's view of its file: indexing it past its bound panics as
// bbolt's own does.
type mapping = [maxMapSize]byte

// mappingAt turns the address that bbolt tells into a pointer. The mapping is not
// Go's memory and doesn't move while a transaction is open.
func mappingAt(info *bolt.Info) *mapping {
	return *(**mapping)(unsafe.Pointer(&info.Data))
}

// at returns the page with the given id.
func at(m *mapping, id, pageSize uint64) *page {
	return (*page)(unsafe.Pointer(&m[id*pageSize]))
}

// knownFormat looks at both meta pages: one may be torn by a crash.
func knownFormat(info *bolt.Info) bool {
	m := mappingAt(info)
	for id := range uint64(2) {
		meta := (*meta)(unsafe.Add(unsafe.Pointer(at(m, id, uint64(info.PageSize))), headerSize))
		if meta.magic == magic && meta.version == version && int(meta.pageSize) == info.PageSize {
			return true
		}
	}
	return false
}

// mapsFile reports whether the mapping at addr is of the given file, by its inode
// in /proc/self/maps. The device there can differ from stat's (btrfs, overlayfs),
// but two files of one name with one inode number are the same.
func mapsFile(addr uintptr, file *hints.File) (bool, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, ino := file.Identity()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		// from-to perms offset dev inode path
		field := strings.Fields(sc.Text())
		if len(field) < 5 {
			continue
		}
		from, to, _ := strings.Cut(field[0], "-")
		lo, err1 := strconv.ParseUint(from, 16, 64)
		hi, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || uint64(addr) < lo || uint64(addr) >= hi {
			continue
		}
		mapped, err := strconv.ParseUint(field[4], 10, 64)
		return err == nil && mapped == ino, nil
	}
	return false, nil
}

// base is the mapping's address.
func (c *Cursor) base() uintptr { return uintptr(unsafe.Pointer(c.data)) }
