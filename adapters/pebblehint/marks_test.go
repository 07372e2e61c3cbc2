// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"testing"

	"github.com/predictio/predictio/adapters/pebblehint"
)

// TestRefilledInTime: when a scan has used half of what was taken it says so, with one
// run and with several, with small index blocks and with large. A scan that says so only
// when all is used up waits for the next.
func TestRefilledInTime(t *testing.T) {
	for name, c := range map[string]struct {
		runs, index int
	}{
		"one run": {1, 1 << 20}, "one run, small index blocks": {1, 512},
		"four runs": {4, 1 << 20}, "four runs, small index blocks": {4, 512},
	} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder(64 << 10)
			d := open(t, t.TempDir(), still(layout{block: 1024, index: c.index}), rec)
			defer d.close(t)
			const rows = 3500
			for i := range c.runs {
				d.put(t, i, rows, c.runs, 100)
			}
			d.settle()
			d.warm(t)
			for _, way := range ways {
				w := rec.scan(t, d, nil, pebblehint.ScanOptions{}, way.start, way.step)
				late := 0
				for _, left := range w.left[min(2, len(w.left)):max(2, len(w.left)-1)] { // the first look for the place, the last is the end
					if left < 16<<10 {
						late++
					}
				}
				if len(w.left) < 5 || late > len(w.left)/10 {
					t.Errorf("%s: of %d refills, %d came when less than 16 KiB of 64 were left: %d", way.name, len(w.left), late, w.left)
				}
			}
		})
	}
}

// TestWithLimit: a limit is where a scan stops for now, and no bound: what the caller does
// with its slice afterwards means nothing, and who goes on gets hints.
func TestWithLimit(t *testing.T) {
	rec := newRecorder(16 << 10)
	d, asked := onRow(t, rec, 2000)
	t.Run("kept", func(t *testing.T) {
		it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
		must(t, err)
		defer it.Close()
		rec.reset()
		limit := key(1000)
		it.SeekGEWithLimit(key(500), limit)
		copy(limit, key(501)) // the caller's own again
		for range 300 {
			it.Next()
		}
		if _, to := extentOf(asked(rec.lastWalk(t))); to < 810 {
			t.Errorf("at row 800 of a scan to 1000, [500, %d] were asked for", to)
		}
	})
	t.Run("kept within", func(t *testing.T) {
		it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
		must(t, err)
		defer it.Close()
		rec.reset()
		it.SeekGEWithLimit(key(500), key(520))
		if from, to := extentOf(asked(rec.lastWalk(t))); from < 499 || from > 500 || to < 519 || to > 520 {
			t.Errorf("[500, 520): [%d, %d] were asked for", from, to)
		}
		it.SeekLTWithLimit(key(500), key(480))
		if from, to := extentOf(asked(rec.lastWalk(t))); from < 479 || from > 480 || to < 499 || to > 500 {
			t.Errorf("[480, 500): [%d, %d] were asked for", from, to)
		}
	})
	for name, step := range map[string]func(it *pebblehint.Iterator, i int){
		"Next": func(it *pebblehint.Iterator, _ int) { it.Next() },
		"NextWithLimit": func(it *pebblehint.Iterator, i int) {
			it.NextWithLimit(key(i + 10))
		},
	} {
		t.Run("beyond by "+name, func(t *testing.T) {
			it, err := d.h.NewIter(d, nil, pebblehint.ScanOptions{})
			must(t, err)
			defer it.Close()
			rec.reset()
			it.SeekGEWithLimit(key(500), key(520))
			for i := range 800 {
				step(it, 500+i)
			}
			last := -1
			for _, w := range rec.walks {
				_, to := extentOf(asked(w))
				last = max(last, to)
			}
			if last < 1300 {
				t.Errorf("the scan is at row 1300, and rows up to %d were asked for", last)
			}
		})
	}
}
