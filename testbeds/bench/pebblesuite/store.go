// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"io"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

// iterator is what the iterators of both versions, bare and hinting, have in common.
type iterator interface {
	First() bool
	Last() bool
	Next() bool
	Prev() bool
	SeekGE(key []byte) bool
	SeekLT(key []byte) bool
	Key() []byte
	Value() []byte
	Close() error // with what went wrong before
}

// store is an open database of either version, bare or hinted.
type store interface {
	// iter returns an iterator between two keys, nil for none; rows, if not 0, says
	// how many will be read.
	iter(lower, upper []byte, rows int) (iterator, error)
	// count reads n rows from a key on and sums their lengths and first bytes. Each
	// store has its own, for a call through an interface costs as much as the hints do
	// that it is to measure.
	count(from []byte, n int) (rows int64, sum uint64, err error)
	get(key []byte) ([]byte, io.Closer, error)
	// multiGet calls fn with the values of the keys, in their order.
	multiGet(keys [][]byte, fn func(key, value []byte)) error
	set(key, value []byte) error
	// firstKeys are the smallest keys of all tables.
	firstKeys() ([][]byte, error)
	close() error
}

// hooks say how a store is hinted.
type hooks int

const (
	bare     hooks = iota
	attached       // the adapter, at every call
	fileOnly       // the adapter's file system alone
)

// setup says how to open a store.
type setup struct {
	spec   pebbledb.Spec
	cache  int64 // bytes of the block cache
	native bool  // Pebble's readahead is as shipped
	write  bool  // there will be inserts, which vanish at close
	hooks  hooks
	sink   hints.Sink // of all hooks but bare
}

// open opens a database.
func (o setup) open(dir string) (store, error) {
	if o.spec.V1 {
		return openV1(dir, o)
	}
	return openV2(dir, o)
}

// loop is multiGet for those who have none: one key after the other.
func loop(s store, keys [][]byte, fn func(key, value []byte)) error {
	for _, k := range keys {
		if err := once(s, k, fn); err != nil {
			return err
		}
	}
	return nil
}

// once gets a key and calls fn with its value.
func once(s store, key []byte, fn func(key, value []byte)) error {
	v, done, err := s.get(key)
	if err != nil {
		return err
	}
	fn(key, v)
	return done.Close()
}
