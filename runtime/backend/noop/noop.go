// SPDX-License-Identifier: Apache-2.0

// Package noop is the backend that does nothing: it accepts every request and
// reads no page. Against the bare engine it shows what prediction costs.
package noop

import (
	"sync/atomic"

	"github.com/predictio/predictio/runtime/backend"
)

// Backend accepts everything. Its zero value is ready.
type Backend struct{ closed atomic.Bool }

// Name returns "noop".
func (*Backend) Name() string { return "noop" }

// Submit accepts all requests and starts none.
func (b *Backend) Submit(reqs []backend.Request) backend.Outcome {
	if b.closed.Load() {
		return backend.Outcome{Resident: backend.Unknown}
	}
	return backend.Outcome{Accepted: len(reqs), Resident: backend.Unknown}
}

// Close makes Submit accept nothing.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}
