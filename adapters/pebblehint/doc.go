// SPDX-License-Identifier: Apache-2.0

// Package pebblehint makes cold reads of a Pebble database fast. A scan of an LSM tree
// reads the next block of every level, one after the other, and Pebble's own readahead
// knows neither the levels beside it, nor the scan's bounds, nor the way back. The
// tables' indexes do. An [Iterator] of this package says so to a hints.Sink, usually a
// predictio.Runtime, which fetches the blocks of all levels at once, before the seek.
//
//	hinted := pebblehint.Attach(opts, rt)
//	db, err := pebble.Open(dir, opts)
//	...
//	err = hinted.Bind(db, dir)
//	defer hinted.Close()
//	...
//	iter, err := hinted.NewIter(db, &pebble.IterOptions{}, pebblehint.ScanOptions{})
//
// Results, their order and errors are Pebble's own: every method moves Pebble's
// iterator, and a table that can't be read, or has gone, only gives no hints.
// [Hints.MultiGet] fetches a batch of keys at once. Programs that can't change their
// call sites wrap the file system alone, with [NewFS].
//
// This package is for Pebble v2; package pebblev1hint is the same for v1.
package pebblehint
