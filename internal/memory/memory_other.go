// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package memory

// Read returns ErrNotSupported.
func Read() (State, error) { return State{}, ErrNotSupported }
