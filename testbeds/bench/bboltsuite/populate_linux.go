// SPDX-License-Identifier: Apache-2.0

package bboltsuite

import "syscall"

// mapPopulate makes mmap read the whole file.
const mapPopulate = syscall.MAP_POPULATE
