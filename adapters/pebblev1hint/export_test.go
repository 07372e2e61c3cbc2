// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint

// Settle returns once all tables are known.
func (h *Hints) Settle() {
	if s := h.store.Load(); s != nil {
		s.Changed()
		s.Reload()
	}
}

// Touch begins the hints of a first read of key.
func (h *Hints) Touch(key []byte) (done func()) { return h.store.Load().Touch(key) }
