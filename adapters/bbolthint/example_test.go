// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bbolthint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/bbolthint"
)

// exampleDB makes a database with a bucket "fruit".
func exampleDB() (db *bolt.DB, remove func()) {
	dir, err := os.MkdirTemp("", "bbolthint-example-")
	check(err)
	db, err = bolt.Open(filepath.Join(dir, "example.db"), 0o600, nil)
	check(err)
	check(db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("fruit"))
		check(err)
		for _, name := range []string{"apple", "banana", "cherry", "date"} {
			check(b.Put([]byte(name), []byte{'0' + byte(len(name))}))
		}
		return nil
	}))
	return db, func() { db.Close(); os.RemoveAll(dir) }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Attach once, after opening the database; then take cursors from what it returns.
func ExampleAttach() {
	db, remove := exampleDB()
	defer remove()

	rt, err := predictio.Open(predictio.Options{})
	check(err)
	defer rt.Close()
	hinted, err := bbolthint.Attach(db, rt)
	if err != nil {
		fmt.Println("going on without hints:", err) // hinted works all the same
	}
	defer hinted.Close()

	check(db.View(func(tx *bolt.Tx) error {
		c := hinted.Cursor(tx.Bucket([]byte("fruit"))) // instead of tx.Bucket(...).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			fmt.Printf("%s %s\n", k, v)
		}
		return nil
	}))
	// Output:
	// apple 5
	// banana 6
	// cherry 6
	// date 4
}

// A Cursor has all methods of bbolt's.
func ExampleDB_Cursor() {
	db, remove := exampleDB()
	defer remove()
	hinted, err := bbolthint.Attach(db, nil) // no sink: hints are discarded
	check(err)
	defer hinted.Close()

	check(db.View(func(tx *bolt.Tx) error {
		c := hinted.Cursor(tx.Bucket([]byte("fruit")))
		for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			fmt.Printf("%s ", k)
		}
		k, v := c.Seek([]byte("c"))
		fmt.Printf("| %s %s\n", k, v)
		return nil
	}))
	// Output: date cherry banana apple | cherry 6
}

// ForEach says beforehand that the whole bucket will be read.
func ExampleDB_ForEach() {
	db, remove := exampleDB()
	defer remove()
	hinted, err := bbolthint.Attach(db, nil)
	check(err)
	defer hinted.Close()

	check(db.View(func(tx *bolt.Tx) error {
		return hinted.ForEach(tx.Bucket([]byte("fruit")), func(k, v []byte) error {
			fmt.Printf("%s=%s ", k, v)
			return nil
		})
	}))
	// Output: apple=5 banana=6 cherry=6 date=4
}

// Scan knows where it will end, so that nothing past the end is fetched.
func ExampleDB_Scan() {
	db, remove := exampleDB()
	defer remove()
	hinted, err := bbolthint.Attach(db, nil)
	check(err)
	defer hinted.Close()

	check(db.View(func(tx *bolt.Tx) error {
		return hinted.Scan(tx.Bucket([]byte("fruit")), []byte("b"), []byte("d"), func(k, _ []byte) error {
			fmt.Printf("%s ", k)
			return nil
		})
	}))
	// Output: banana cherry
}

// Warm reads the file before something that no cursor of ours walks.
func ExampleWarm() {
	db, remove := exampleDB()
	defer remove()
	err := bbolthint.Warm(context.Background(), db.Path(), 0, nil)
	if errors.Is(err, bbolthint.ErrOverBudget) {
		fmt.Println("too large to be held in memory:", err)
		return
	}
	check(err)
	fmt.Println("warm")
	// Output: warm
}

// FilePageSize tells a bbolt database from other files.
func ExampleFilePageSize() {
	f, err := os.Open("example_test.go")
	check(err)
	defer f.Close()
	_, err = bbolthint.FilePageSize(f)
	fmt.Println(errors.Is(err, bbolthint.ErrNotBbolt))
	// Output: true
}
