// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pagecache

import "errors"

// System refuses everything: other systems' caches can't be asked this way.
var System = Calls{
	WillNeed: func(int, int64, int64) error { return ErrNotSupported },
	DontNeed: func(int, int64, int64) error { return ErrNotSupported },
	Cached:   func(int, int64, int64) (int64, error) { return 0, ErrNotSupported },
	NoWait:   func(int, int64) (bool, error) { return false, ErrNotSupported },
}

// Missing reports whether an error says that there is no such call.
func Missing(err error) bool { return errors.Is(err, ErrNotSupported) }

// Unsupported reports whether an error says that the call can't work here.
func Unsupported(err error) bool { return errors.Is(err, ErrNotSupported) }

func readOnlyFS(error) bool { return false }

// ReadNoWait refuses.
func ReadNoWait(int, []byte, int64) (bool, error) { return false, ErrNotSupported }
