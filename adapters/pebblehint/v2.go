// SPDX-License-Identifier: Apache-2.0

package pebblehint

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// NewIterWithContext is NewIter with a context, which Pebble uses for tracing.
func (h *Hints) NewIterWithContext(ctx context.Context, r pebble.Reader, o *pebble.IterOptions, so ScanOptions) (*Iterator, error) {
	inner, err := r.NewIterWithContext(ctx, o)
	return h.shadow(inner, err, o, so)
}

// Unwrap returns the inner file system, as v2 asks of those that wrap one.
func (f *hintFS) Unwrap() vfs.FS { return f.FS }
