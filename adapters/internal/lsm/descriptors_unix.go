// SPDX-License-Identifier: Apache-2.0

//go:build unix

package lsm

import (
	"math"
	"syscall"
)

// maxDescriptors is how many the process may have; 0: not known.
func maxDescriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
