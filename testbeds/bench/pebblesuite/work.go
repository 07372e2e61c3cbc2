// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"bytes"
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/predictio/predictio/testbeds/pebbledb"
)

const (
	// maxShort bounds the rows of a short scan, which has 100 on average.
	maxShort = 199
	// zipfExponent is as near to YCSB's 0.99 as the generator goes.
	zipfExponent = 1.01
	// scanPercent of ycsb-e's operations are scans, the others inserts.
	scanPercent = 95
	// getters are the goroutines of mode goroutines.
	getters = 16
	// checkEvery is how many rows are read between two looks at whether to stop.
	checkEvery = 4096
)

// view is an open database in one mode, and what was read of it.
type view struct {
	store
	ctx     context.Context
	spec    pebbledb.Spec
	rep     int
	within  int  // the keys in use are the first so many
	tell    bool // how many rows will be read
	threads bool // gets go to goroutines
	tally
}

// work is a case's work on a view.
type work func(v *view) error

// tally sums what was read, so that it is read, and can be compared.
type tally struct {
	rows int64
	sum  uint64
}

var seed = maphash.MakeSeed()

func (t *tally) pair(k, v []byte) {
	t.rows++
	t.sum = (t.sum*31+maphash.Bytes(seed, k))*31 + maphash.Bytes(seed, v)
}

// random returns what decides about a repetition, the same for all modes.
func (v *view) random() *rand.Rand { return rand.New(rand.NewPCG(uint64(v.rep), 7)) }

// spread puts the start of n rows somewhere in the database: the i-th of some ranges of
// a repetition, far from each other.
func (v *view) spread(n, i, of int) int {
	if room := v.within - n; room > 0 {
		return (v.rep*7919*101 + room/3 + i*(room/of)) % room
	}
	return 0
}

// read goes on from where an iterator stands, and is at most n rows.
func (v *view) read(it iterator, ok bool, n int, step func() bool) error {
	for i := 0; ok && i < n; i++ {
		v.pair(it.Key(), it.Value())
		if i%checkEvery == checkEvery-1 && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if i+1 < n {
			ok = step()
		}
	}
	return nil
}

// with calls fn with an iterator.
func (v *view) with(lower, upper []byte, rows int, fn func(it iterator) error) error {
	if !v.tell {
		rows = 0
	}
	it, err := v.iter(lower, upper, rows)
	if err != nil {
		return err
	}
	err = fn(it)
	if e := it.Close(); err == nil {
		err = e
	}
	return err
}

// full reads everything, upwards.
func full(v *view) error {
	return v.with(nil, nil, 0, func(it iterator) error { return v.read(it, it.First(), v.spec.Rows, it.Next) })
}

// reverseFull reads everything, downwards.
func reverseFull(v *view) error {
	return v.with(nil, nil, 0, func(it iterator) error { return v.read(it, it.Last(), v.spec.Rows, it.Prev) })
}

// ranges is how many ranges of n rows make one run: a few thousand rows.
func ranges(n int) int { return max(1, 65_536/n/8) }

// scan reads the n rows between two keys, in several places.
func scan(n int) work {
	return func(v *view) error {
		return v.ranges(n, func(it iterator) error { return v.read(it, it.First(), n, it.Next) })
	}
}

// reverse reads the n rows between two keys, downwards, in several places.
func reverse(n int) work {
	return func(v *view) error {
		return v.ranges(n, func(it iterator) error { return v.read(it, it.Last(), n, it.Prev) })
	}
}

func (v *view) ranges(n int, fn func(it iterator) error) error {
	of := ranges(n)
	for i := range of {
		at := v.spread(n, i, of)
		if err := v.with(pebbledb.Key(at), pebbledb.Key(at+n), n, fn); err != nil {
			return err
		}
	}
	return nil
}

// shortly is one short scan of n rows.
type shortly func(v *view, from, n int) error

func unbounded(v *view, from, n int) error {
	return v.with(nil, nil, n, func(it iterator) error { return v.read(it, it.SeekGE(pebbledb.Key(from)), n, it.Next) })
}

func bounded(v *view, from, n int) error {
	lower, upper := pebbledb.Key(from), pebbledb.Key(from+n)
	return v.with(lower, upper, n, func(it iterator) error { return v.read(it, it.SeekGE(lower), n, it.Next) })
}

func downwards(v *view, from, n int) error {
	return v.with(nil, nil, n, func(it iterator) error { return v.read(it, it.SeekLT(pebbledb.Key(from)), n, it.Prev) })
}

// short does many short scans, from anywhere.
func short(scans int, one shortly) work {
	return func(v *view) error {
		rng := v.random()
		for range scans {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if err := one(v, rng.IntN(v.within-maxShort), 1+rng.IntN(maxShort)); err != nil {
				return err
			}
		}
		return nil
	}
}

// zipf returns keys of which some are much in demand, wherever they are.
func (v *view) zipf(rng *rand.Rand) func() int {
	z := rand.NewZipf(rng, zipfExponent, 1, uint64(v.within-1))
	scatter := rand.NewPCG(3, 3).Uint64() | 1
	return func() int { return int(z.Uint64() * scatter >> 20 % uint64(v.within)) }
}

// ycsbE scans and inserts, as workload E of YCSB does.
func ycsbE(ops int) work {
	return func(v *view) error {
		rng := v.random()
		next := v.zipf(rng)
		value := bytes.Repeat([]byte("new "), v.spec.ValueSize/4)
		for i := range ops {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if rng.IntN(100) >= scanPercent {
				// After the last key, as YCSB's ordered inserts go.
				if err := v.set(pebbledb.Key(v.spec.Rows+i), value); err != nil {
					return err
				}
				continue
			}
			if err := unbounded(v, next(), 1+rng.IntN(maxShort)); err != nil {
				return err
			}
		}
		return nil
	}
}

// ycsbC gets single rows, as workload C of YCSB does.
func ycsbC(gets int) work {
	return func(v *view) error {
		next := v.zipf(v.random())
		for range gets {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if err := once(v, pebbledb.Key(next()), v.pair); err != nil {
				return err
			}
		}
		return nil
	}
}

// getOne gets a row.
func getOne(v *view) error {
	return once(v, pebbledb.Key(v.random().IntN(v.within)), v.pair)
}

// multiGet gets n rows from anywhere, whose keys are all known beforehand.
func multiGet(n int) work {
	return func(v *view) error {
		rng := v.random()
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = pebbledb.Key(rng.IntN(v.within))
		}
		if v.threads {
			return v.getSideBySide(keys)
		}
		return v.multiGet(keys, v.pair)
	}
}

// getSideBySide gets the rows from many goroutines.
func (v *view) getSideBySide(keys [][]byte) error {
	var (
		values = make([][]byte, len(keys))
		next   atomic.Int64
		failed atomic.Pointer[error]
		wg     sync.WaitGroup
	)
	for range getters {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(keys) {
					return
				}
				if err := once(v, keys[i], func(_, value []byte) { values[i] = slices.Clone(value) }); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	for i, k := range keys {
		v.pair(k, values[i])
	}
	return nil
}
