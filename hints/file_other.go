// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package hints

const openFlags = 0

type fileStat struct {
	dev, ino uint64
	size     int64
	regular  bool
}

func statFD(int) (fileStat, error) { return fileStat{}, ErrNotSupported }
func dupFD(int) (int, error)       { return -1, ErrNotSupported }
func closeFD(int)                  {}
func deviceOf(uint64) Device       { return Device{} }
