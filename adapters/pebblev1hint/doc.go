// SPDX-License-Identifier: Apache-2.0

// Package pebblev1hint makes cold reads of a Pebble v1 database fast. It is package
// pebblehint, which is for v2, in all that it does and promises; see there.
//
//	hinted := pebblev1hint.Attach(opts, rt)
//	db, err := pebble.Open(dir, opts)
//	...
//	err = hinted.Bind(db, dir)
//	defer hinted.Close()
//	...
//	iter, err := hinted.NewIter(db, &pebble.IterOptions{}, pebblev1hint.ScanOptions{})
package pebblev1hint

//go:generate go run -C ../.. ./testbeds/twins
