// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// fileSystem is what lies under a folder.
type fileSystem struct {
	Name     string // "" if not known by name
	InMemory bool   // nothing to fetch from
	Free     int64  // bytes, 0 if not known
}

func fileSystemOf(dir string) fileSystem {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return fileSystem{}
	}
	fs := fileSystem{Free: int64(st.Bavail) * int64(st.Bsize)}
	switch uint32(st.Type) {
	case unix.TMPFS_MAGIC:
		fs.Name, fs.InMemory = "tmpfs", true
	case unix.RAMFS_MAGIC:
		fs.Name, fs.InMemory = "ramfs", true
	case unix.EXT4_SUPER_MAGIC:
		fs.Name = "ext4"
	case unix.XFS_SUPER_MAGIC:
		fs.Name = "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		fs.Name = "btrfs"
	case unix.F2FS_SUPER_MAGIC:
		fs.Name = "f2fs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		fs.Name = "overlayfs"
	case unix.NFS_SUPER_MAGIC:
		fs.Name = "nfs"
	case unix.FUSE_SUPER_MAGIC:
		fs.Name = "fuse"
	}
	return fs
}

// kernelRelease is what uname says.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
