// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// Cursor has the methods of bbolt's Cursor and gives the same results. Like it,
// it is valid while its transaction is open, and is for one goroutine at a time.
// Keys and values belong to bbolt and must not be modified.
type Cursor struct {
	bucket *bolt.Bucket
	tx     *bolt.Tx
	bare   *bolt.Cursor // moves where this one can't
	db     *DB

	// The position while this cursor moves by itself: the branches from the root
	// down, and the leaf. leaf is nil before the first move, and while bare moves.
	leaf     *page
	index    int
	count    int
	branches []ref

	data     *mapping
	pageSize uint64
	inline   [inlineDepth]ref // the usual branches' memory

	hint hinter
}

// inlineDepth is the depth of most trees; deeper ones allocate.
const inlineDepth = 6

// ref is a branch page and the element in it that was followed.
type ref struct {
	page  *page
	index int
	count int
}

// Cursor returns a cursor over a bucket of the attached database, as
// b.Cursor() does.
func (h *DB) Cursor(b *bolt.Bucket) *Cursor {
	c := &Cursor{bucket: b, tx: b.Tx(), bare: b.Cursor(), db: h}
	c.branches = c.inline[:0]
	// Inline buckets have their page inside their parent's value, and a writable
	// transaction keeps changed pages elsewhere: both are bbolt's to walk.
	if h.file == nil || c.tx.DB() != h.db || c.tx.Writable() || b.Root() == 0 {
		return c
	}
	info := h.db.Info()
	c.data, c.pageSize = mappingAt(info), uint64(info.PageSize)
	return c
}

// byItself reports whether the cursor may step over the mapping: in a closed
// transaction it may not.
func (c *Cursor) byItself() bool { return c.data != nil && c.tx.DB() != nil }

// Bucket returns the bucket that the cursor was made from.
func (c *Cursor) Bucket() *bolt.Bucket { return c.bucket }

// First moves to the first item and returns it; nil if there is none.
func (c *Cursor) First() (key, value []byte) {
	if !c.byItself() {
		return c.bare.First()
	}
	c.begin(fromFirst)
	return c.first()
}

// Last moves to the last item and returns it; nil if there is none.
func (c *Cursor) Last() (key, value []byte) {
	if !c.byItself() {
		return c.bare.Last()
	}
	c.begin(fromLast)
	return c.last()
}

// Seek moves to the given key, or if it doesn't exist to the next, and returns
// it; nil if none follows.
func (c *Cursor) Seek(seek []byte) (key, value []byte) {
	if !c.byItself() {
		return c.bare.Seek(seek)
	}
	c.begin(fromSeek)
	return c.seek(seek)
}

// Next moves to the next item and returns it; nil at the end.
func (c *Cursor) Next() (key, value []byte) {
	if c.index+1 < c.count && c.tx.DB() != nil {
		c.index++
		return item(c.leaf.leaf(uint16(c.index)))
	}
	if !c.byItself() {
		return c.bare.Next()
	}
	return c.next()
}

// Prev moves to the previous item and returns it; nil at the beginning.
func (c *Cursor) Prev() (key, value []byte) {
	if c.index > 0 && c.index <= c.count && c.tx.DB() != nil {
		c.index--
		return item(c.leaf.leaf(uint16(c.index)))
	}
	if !c.byItself() {
		return c.bare.Prev()
	}
	return c.prev()
}

// Delete removes the current item. Its errors are bbolt's: ErrTxClosed,
// ErrTxNotWritable, ErrIncompatibleValue for a bucket.
func (c *Cursor) Delete() error { return c.bare.Delete() }

// item returns an element's key and value; the value of a bucket is nil. Like
// bbolt, it forms the value first and drops it then, so that a corrupt one panics.
func item(e *leafElement) (key, value []byte) {
	b := (*[maxAlloc]byte)(unsafe.Pointer(e))
	mid := int(e.pos) + int(e.ksize)
	end := mid + int(e.vsize)
	key, value = b[e.pos:mid:mid], b[mid:end:end]
	if e.flags&bucketFlag != 0 {
		value = nil
	}
	return key, value
}
