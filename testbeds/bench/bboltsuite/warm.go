// SPDX-License-Identifier: Apache-2.0

package bboltsuite

import (
	"context"
	"runtime"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
)

const (
	warmRows   = 100_000 // rows of warm-next: all mapped after the first pass
	warmRounds = 41      // pairs of measurements; the median counts
	shortRows  = 1024    // rows of a warm-short scan
	shortScans = 64      // scans in one of its measurements
)

// warmNext measures a step with everything cached and mapped, key only and key
// with value; the worse of the two counts.
func warmNext(ctx context.Context, _ *suite, c benchCase, path string) ([]bench.Result, error) {
	n := min(warmRows, c.spec.Records)
	return warm(ctx, c.name, path, n, func(v *view, values bool) {
		c := v.cursor()
		if values {
			for k, val := c.First(); k != nil && v.rows < int64(n); k, val = c.Next() {
				v.rows++
				v.sum += uint64(len(k)) + uint64(val[0])
			}
			return
		}
		for k, _ := c.First(); k != nil && v.rows < int64(n); k, _ = c.Next() {
			v.rows++
			v.sum += uint64(k[len(k)-1])
		}
	})
}

// warmShort measures short scans, making the cursor included.
func warmShort(ctx context.Context, _ *suite, c benchCase, path string) ([]bench.Result, error) {
	n := min(shortRows*shortScans, c.spec.Records)
	return warm(ctx, c.name, path, n, func(v *view, values bool) {
		for at := 0; at+shortRows <= n; at += shortRows {
			c := v.cursor()
			k, val := c.Seek(bboltdb.Key(at))
			for i := 0; i < shortRows && k != nil; i++ {
				v.rows++
				v.sum += uint64(len(k))
				if values {
					v.sum += uint64(val[0])
				}
				k, val = c.Next()
			}
		}
	})
}

// warm runs work on the bare and on the hinting cursor in turn, in one
// transaction, and compares them pair by pair.
func warm(ctx context.Context, name, path string, rows int, work func(v *view, values bool)) ([]bench.Result, error) {
	if err := readAll(ctx, path); err != nil {
		return nil, err
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rt, err := predictio.Open(predictio.Options{})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	hinted, err := bbolthint.Attach(db, rt)
	if err != nil {
		return nil, err
	}
	defer hinted.Close()

	r := bench.Result{Suite: "bbolt", Case: name, Mode: bench.Predictio, Reps: warmRounds}
	equal := true
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bboltdb.Bucket))
		once := func(h *bbolthint.DB, values bool) (time.Duration, tally) {
			v := &view{bucket: b, hinted: h}
			start := time.Now()
			work(v, values)
			return time.Since(start), v.tally
		}
		once(nil, true) // map the pages
		for _, values := range []bool{false, true} {
			var bare, wrapped []time.Duration
			var ratios []float64
			for round := range warmRounds {
				if err := ctx.Err(); err != nil {
					return err
				}
				first, second := (*bbolthint.DB)(nil), hinted
				if round%2 == 1 {
					first, second = second, first
				}
				d1, t1 := once(first, values)
				d2, t2 := once(second, values)
				if round%2 == 1 {
					d1, d2 = d2, d1
				}
				equal = equal && t1 == t2
				bare, wrapped = append(bare, d1), append(wrapped, d2)
				ratios = append(ratios, float64(d2)/float64(d1))
			}
			if o := bench.Ratio(bench.Median(ratios), 1); o > r.Overhead {
				r.Overhead = o
				r.NsPerRow = bench.Ratio(float64(bench.Median(wrapped)), float64(rows))
				r.BareNsPerRow = bench.Ratio(float64(bench.Median(bare)), float64(rows))
			}
		}
		allocs := allocsPerRow(rows, func() { once(hinted, true) })
		r.AllocsPerRow = &allocs
		r.Rows = int64(rows)
		r.Equal = &equal
		return nil
	})
	return []bench.Result{r}, err
}

// allocsPerRow counts what fn allocates, to a thousandth a row.
func allocsPerRow(rows int, fn func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return bench.Ratio(float64(after.Mallocs-before.Mallocs), float64(rows))
}
