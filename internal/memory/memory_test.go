// SPDX-License-Identifier: Apache-2.0

package memory

import "testing"

func TestShort(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, tc := range []struct {
		name string
		s    State
		want bool
	}{
		{"nothing known", State{}, false},
		{"no limit known", State{Stalled: 1}, false},
		{"plenty", State{Available: 4 * gib, Limit: 8 * gib}, false},
		{"nothing left", State{Available: 0, Limit: 8 * gib}, true},
		{"little of a large machine", State{Available: 31 * mib, Limit: 64 * gib}, true},
		{"a small share of a large machine is plenty", State{Available: 100 * mib, Limit: 64 * gib}, false},
		{"little in bytes, much as a share", State{Available: 31 * mib, Limit: 128 * mib}, false},
		{"a small group that is full", State{Available: 1 * mib, Limit: 128 * mib}, true},
		{"tasks wait", State{Available: 4 * gib, Limit: 8 * gib, Stalled: 0.5}, true},
		{"tasks wait a little", State{Available: 4 * gib, Limit: 8 * gib, Stalled: 0.1}, false},
	} {
		if got := tc.s.Short(); got != tc.want {
			t.Errorf("%s: Short() = %v, want %v", tc.name, got, tc.want)
		}
	}
}
