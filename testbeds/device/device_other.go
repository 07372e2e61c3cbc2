// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package device

import "time"

// MaxDirect bounds one direct read, in bytes.
const MaxDirect = 512 << 10

// Resident returns ErrNotSupported.
func Resident(string) ([]Range, error) { return nil, ErrNotSupported }

// ReadDirect returns ErrNotSupported.
func ReadDirect([]string, []FileRange) (time.Duration, error) { return 0, ErrNotSupported }

// MemoryLimit is a control group that this process has entered.
type MemoryLimit struct{}

// EnterMemoryLimit returns ErrNotSupported.
func EnterMemoryLimit(int64) (*MemoryLimit, error) { return nil, ErrNotSupported }

// Leave does nothing.
func (*MemoryLimit) Leave() error { return nil }
