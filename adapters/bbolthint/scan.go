// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ForEach calls fn for each item of a bucket in key order, as b.ForEach does, and
// says beforehand that all will be read. It returns bbolt's ErrTxClosed for a
// closed transaction, and fn's error, which ends it.
func (h *DB) ForEach(b *bolt.Bucket, fn func(k, v []byte) error) error {
	return h.Scan(b, nil, nil, fn)
}

// Scan calls fn for each item of a bucket with from <= key < to, in key order. A
// nil from starts at the first item, a nil to ends after the last. The end being
// known, nothing past it is fetched, and what is before it is fetched sooner than
// a Cursor would. It returns bbolt's ErrTxClosed for a closed transaction, and fn's
// error, which ends it. fn must not modify the bucket.
func (h *DB) Scan(b *bolt.Bucket, from, to []byte, fn func(k, v []byte) error) error {
	if b.Tx().DB() == nil {
		return berrors.ErrTxClosed
	}
	c := h.Cursor(b)
	defer c.finish()
	c.hint.to = to
	c.hint.certain = from == nil && to == nil

	var k, v []byte
	if from == nil {
		k, v = c.First()
	} else {
		k, v = c.Seek(from)
	}
	c.eager()
	for ; k != nil && (to == nil || bytes.Compare(k, to) < 0); k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}
