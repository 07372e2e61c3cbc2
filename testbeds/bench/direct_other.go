// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bench

import (
	"time"

	"github.com/predictio/predictio/testbeds/device"
)

// readDirect returns device.ErrNotSupported.
func readDirect([]string, []fileRange) (time.Duration, error) { return 0, device.ErrNotSupported }
