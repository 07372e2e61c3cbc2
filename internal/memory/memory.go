// SPDX-License-Identifier: Apache-2.0

// Package memory says how much memory this process may still fill with page
// cache: the machine's, and its control group's where that is less.
package memory

import "errors"

// ErrNotSupported is returned by Read where the system does not tell.
var ErrNotSupported = errors.New("memory: not supported on this system")

// State is a reading. Sizes are in bytes.
type State struct {
	// Available is what can be filled without pushing out anything but page
	// cache: the smaller of the machine's and the control group's.
	Available int64
	// Limit is the smaller of the machine's memory and the control group's limit.
	Limit int64
	// Stalled is the share of the last ten seconds, 0 to 1, in which some task of
	// the group, or of the machine, waited for memory. 0 where the kernel doesn't
	// tell.
	Stalled float64
}

const (
	// shortShare and shortBytes: less than both is a shortage. Half a percent of a
	// large machine is still plenty, and 32 MiB of a small one is not nothing.
	shortShare = 0.02
	shortBytes = 32 << 20
	// stalledShare: tasks that wait for memory this often have none to spare.
	stalledShare = 0.4
)

// Short reports whether memory is so short that nothing should be prefetched.
func (s State) Short() bool {
	if s.Limit <= 0 {
		return false
	}
	return s.Stalled > stalledShare ||
		s.Available < shortBytes && float64(s.Available) < shortShare*float64(s.Limit)
}
