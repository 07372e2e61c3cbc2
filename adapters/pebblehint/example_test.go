// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/pebblehint"
)

// exampleDir is a directory for an example's database.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

func ok(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A program attaches the hints to its options, opens the database as before, binds them
// to it, and makes its iterators of them.
func Example() {
	dir := exampleDir()
	defer os.RemoveAll(dir)

	rt, err := predictio.Open(predictio.Options{})
	ok(err)
	defer rt.Close()

	opts := &pebble.Options{Logger: quiet{}}
	hinted := pebblehint.Attach(opts, rt)
	db, err := pebble.Open(dir, opts)
	ok(err)
	defer db.Close()
	ok(hinted.Bind(db, dir))
	defer hinted.Close()

	for i := range 1000 {
		ok(db.Set(fmt.Appendf(nil, "key-%04d", i), fmt.Append(nil, i*i), pebble.NoSync))
	}
	ok(db.Flush())

	iter, err := hinted.NewIter(db, &pebble.IterOptions{
		LowerBound: []byte("key-0100"), UpperBound: []byte("key-0103"),
	}, pebblehint.ScanOptions{})
	ok(err)
	for iter.First(); iter.Valid(); iter.Next() {
		fmt.Printf("%s = %s\n", iter.Key(), iter.Value())
	}
	ok(iter.Close())
	// Output:
	// key-0100 = 10000
	// key-0101 = 10201
	// key-0102 = 10404
}

// Many keys are got at once: what one needs is fetched while others are read.
func ExampleHints_MultiGet() {
	dir := exampleDir()
	defer os.RemoveAll(dir)

	opts := &pebble.Options{Logger: quiet{}}
	hinted := pebblehint.Attach(opts, nil) // a *predictio.Runtime, in a program
	db, err := pebble.Open(dir, opts)
	ok(err)
	defer db.Close()
	ok(hinted.Bind(db, dir))
	defer hinted.Close()
	ok(db.Set([]byte("a"), []byte("first"), pebble.NoSync))
	ok(db.Set([]byte("c"), []byte("third"), pebble.NoSync))

	keys := [][]byte{[]byte("c"), []byte("b"), []byte("a")}
	for i, r := range hinted.MultiGet(db, keys) {
		switch {
		case errors.Is(r.Err, pebble.ErrNotFound):
			fmt.Printf("%s isn't there\n", keys[i])
		case r.Err != nil:
			log.Fatal(r.Err)
		default:
			fmt.Printf("%s = %s\n", keys[i], r.Value)
		}
	}
	// Output:
	// c = third
	// b isn't there
	// a = first
}

// A program that can't change its call sites wraps the file system, and nothing else.
func ExampleNewFS() {
	dir := exampleDir()
	defer os.RemoveAll(dir)

	rt, err := predictio.Open(predictio.Options{})
	ok(err)
	defer rt.Close()

	db, err := pebble.Open(dir, &pebble.Options{FS: pebblehint.NewFS(nil, rt), Logger: quiet{}})
	ok(err)
	defer db.Close()
	ok(db.Set([]byte("key"), []byte("value"), pebble.NoSync))
	ok(db.Flush())
	value, closer, err := db.Get([]byte("key"))
	ok(err)
	fmt.Printf("%s\n", value)
	ok(closer.Close())
	// Output:
	// value
}
