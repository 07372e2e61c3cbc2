// SPDX-License-Identifier: Apache-2.0

// Package bboltdb makes bbolt databases as long use makes them: records were
// inserted in random key order over many transactions, so that neighbours in key
// order lie far apart in the file.
package bboltdb

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Bucket is the bucket that Generate fills.
const Bucket = "records"

// batch is how many records go into one transaction: small against the number of
// leaves, so that a leaf's neighbours are written at other times than it.
const batch = 10_000

// Spec describes a database; the same Spec always gives the same keys and values.
type Spec struct {
	Records int
	// MinValue and MaxValue bound the size of values, in bytes; where they differ,
	// each doubling of the size is half as frequent.
	MinValue, MaxValue int
	Seed               uint64
}

// Name is a file name that tells the spec.
func (s Spec) Name() string {
	return fmt.Sprintf("bbolt-%d-%d-%d-%d.db", s.Records, s.MinValue, s.MaxValue, s.Seed)
}

// Key returns the i-th key in key order: 16 bytes.
func Key(i int) []byte { return fmt.Appendf(make([]byte, 0, 16), "key-%012d", i) }

// Generate writes the database to path, which must not exist. progress, if not
// nil, is called with the records done. A database that could not be finished is
// removed, also when ctx ends.
func Generate(ctx context.Context, path string, s Spec, progress func(done int)) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !os.IsNotExist(err) {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	db, err := bolt.Open(part, 0o644, &bolt.Options{
		NoSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoStatistics: true,
	})
	if err != nil {
		return err
	}
	defer db.Close() // again after the one below: harmless

	rng := rand.New(rand.NewPCG(s.Seed, 1))
	order := rng.Perm(s.Records)
	value := make([]byte, s.MaxValue)
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	for done := 0; done < len(order); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(order)-done)
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(Bucket))
			if err != nil {
				return err
			}
			for _, i := range order[done : done+n] {
				if err := b.Put(Key(i), s.value(value, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if done += n; progress != nil {
			progress(done)
		}
	}
	// The freelist goes into the file once, so that opening needs no walk of it.
	db.NoFreelistSync = false
	if err := db.Update(func(*bolt.Tx) error { return nil }); err != nil {
		return err
	}
	if err := db.Sync(); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// value returns the i-th value: random bytes that start with the record's number,
// so that no two are the same. bbolt keeps it until the transaction ends.
func (s Spec) value(random []byte, i int) []byte {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)+2))
	size := s.MinValue
	if s.MaxValue > s.MinValue {
		// Choose a power of two first, then a size in it.
		lo, hi := s.MinValue, s.MinValue
		for hi < s.MaxValue && rng.IntN(2) == 0 {
			lo, hi = hi, min(2*max(1, hi), s.MaxValue)
		}
		size = lo + rng.IntN(hi-lo+1)
	}
	v := make([]byte, size)
	copy(v, random[rng.IntN(len(random)-size+1):])
	if size >= 8 {
		binary.LittleEndian.PutUint64(v, uint64(i))
	}
	return v
}
