// SPDX-License-Identifier: Apache-2.0

package bboltsuite

import (
	"context"
	"errors"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/device"
)

// benchCase is a case of the suite.
type benchCase struct {
	name string
	spec bboltdb.Spec
	run  func(ctx context.Context, s *suite, c benchCase, path string) ([]bench.Result, error)
}

// quickBudget is what a case of a quick run may take, more or less.
const quickBudget = 3 * time.Second

// cases lists the suite. quickBudget and the number of modes keep a quick run
// short.
func (s *suite) cases() []benchCase {
	all := []string{bench.Noop, bench.Predictio, "tree", "neighbor"}
	whole := []string{bench.Noop, bench.Predictio, "tree", "read-first", "populate"}
	if s.Quick {
		all, whole = all[:2], []string{bench.Noop, bench.Predictio, "read-first"}
	}
	two := all[:2]
	return []benchCase{
		s.cold("scan-1KiB-65536", s.small, 5, all, scan(s.small, 65536)),
		s.cold("scan-1KiB-4096", s.small, 9, all, scan(s.small, 4096)),
		s.cold("scan-1KiB-256", s.small, 15, all, scan(s.small, 256)),
		s.cold("bounded-1KiB-4096", s.small, 9, two, bounded(s.small, 4096)),
		s.cold("reverse-1KiB-65536", s.small, 5, two, reverse(s.small, 65536)),
		s.cold("full-1KiB", s.small, 3, whole, full),
		s.cold("full-foreach-1KiB", s.small, 3, []string{bench.Noop, bench.Predictio}, forEach),
		s.halfCached("half-cached-1KiB", s.small, 65536),
		s.cold("scan-20KiB-4096", s.large, 5, all, scan(s.large, 4096)),
		s.cold("keys-20KiB", s.large, 5, two, keys(s.large, 4096)),
		s.cold("mixed-sizes", s.mixed, 5, all, scan(s.mixed, 8192)),
		s.cold("get-1KiB", s.small, 9, two, get(s.small, 2048)),
		s.memoryLimit("memlimit-1KiB", s.small, 5, scan(s.small, 65536)),
		s.memoryLimit("memlimit-full-1KiB", s.small, 3, full),
		{"warm-short", s.tiny, warmShort},
		{"warm-next", s.tiny, warmNext},
		{"warm-short-1KiB", s.small, warmShort},
		{"warm-next-1KiB", s.small, warmNext},
	}
}

// spread puts the start of repetition rep's range somewhere in a database, the
// same for all modes.
func spread(spec bboltdb.Spec, n, rep int) int {
	if room := spec.Records - n; room > 0 {
		return (rep*7919*101 + room/3) % room
	}
	return 0
}

// scan reads n records from a key on.
func scan(spec bboltdb.Spec, n int) work {
	return func(v *view) error {
		c := v.cursor()
		k, val := c.Seek(bboltdb.Key(spread(spec, n, v.rep)))
		for i := 0; i < n && k != nil; i++ {
			v.pair(k, val)
			if i+1 < n {
				k, val = c.Next()
			}
		}
		return nil
	}
}

// reverse reads n records from a key back.
func reverse(spec bboltdb.Spec, n int) work {
	return func(v *view) error {
		c := v.cursor()
		k, val := c.Seek(bboltdb.Key(spread(spec, n, v.rep) + n - 1))
		for i := 0; i < n && k != nil; i++ {
			v.pair(k, val)
			if i+1 < n {
				k, val = c.Prev()
			}
		}
		return nil
	}
}

// keys reads n records' keys only.
func keys(spec bboltdb.Spec, n int) work {
	return func(v *view) error {
		c := v.cursor()
		k, _ := c.Seek(bboltdb.Key(spread(spec, n, v.rep)))
		for i := 0; i < n && k != nil; i++ {
			v.key(k)
			if i+1 < n {
				k, _ = c.Next()
			}
		}
		return nil
	}
}

// bounded reads the n records between two keys.
func bounded(spec bboltdb.Spec, n int) work {
	return func(v *view) error {
		at := spread(spec, n, v.rep)
		from, to := bboltdb.Key(at), bboltdb.Key(at+n)
		if v.hinted != nil {
			return v.hinted.Scan(v.bucket, from, to, func(k, val []byte) error {
				v.pair(k, val)
				return nil
			})
		}
		c := v.bucket.Cursor()
		for k, val := c.Seek(from); k != nil && string(k) < string(to); k, val = c.Next() {
			v.pair(k, val)
		}
		return nil
	}
}

// full reads everything, and nobody has said so.
func full(v *view) error {
	c := v.cursor()
	for k, val := c.First(); k != nil; k, val = c.Next() {
		v.pair(k, val)
	}
	return nil
}

func forEach(v *view) error {
	fn := func(k, val []byte) error {
		v.pair(k, val)
		return nil
	}
	if v.hinted != nil {
		return v.hinted.ForEach(v.bucket, fn)
	}
	return v.bucket.ForEach(fn)
}

// get reads n single records, in random order, by cursor.
func get(spec bboltdb.Spec, n int) work {
	return func(v *view) error {
		for i := range n {
			at := (i*7919 + v.rep*104729) * 31 % spec.Records
			k, val := v.cursor().Seek(bboltdb.Key(at))
			v.pair(k, val)
		}
		return nil
	}
}

// cold is a case from an evicted file.
func (s *suite) cold(name string, spec bboltdb.Spec, reps int, modes []string, w work) benchCase {
	return benchCase{name, spec, func(ctx context.Context, s *suite, _ benchCase, path string) ([]bench.Result, error) {
		return bench.RunCase(ctx, "bbolt", s.coldCase(name, path, reps, modes, w), s.Rng)
	}}
}

func (s *suite) coldCase(name, path string, reps int, modes []string, w work) bench.Case {
	c := bench.Case{Name: name, File: path, Reps: reps, Limit: true, Modes: []bench.Mode{mode(bench.Baseline, path, w)}}
	if s.Reps > 0 {
		c.Reps = s.Reps
	}
	if s.Quick {
		c.Budget = quickBudget
	}
	for _, m := range modes {
		if len(s.Modes) > 0 && !slices.Contains(s.Modes, m) {
			continue
		}
		c.Modes = append(c.Modes, mode(m, path, w))
	}
	return c
}

// halfCached scans n records of which every other stretch of a thousand is cached.
func (s *suite) halfCached(name string, spec bboltdb.Spec, n int) benchCase {
	const stretch = 1024
	return benchCase{name, spec, func(ctx context.Context, s *suite, _ benchCase, path string) ([]bench.Result, error) {
		c := s.coldCase(name, path, 5, []string{bench.Noop, bench.Predictio}, scan(spec, n))
		c.Limit = false // what the baseline leaves in the cache is not what it read
		c.Prepare = func(ctx context.Context, rep int) error {
			db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: time.Second})
			if err != nil {
				return err
			}
			defer db.Close()
			return db.View(func(tx *bolt.Tx) error {
				v := &view{bucket: tx.Bucket([]byte(bboltdb.Bucket))}
				c := v.bucket.Cursor()
				from := spread(spec, n, rep)
				for at := from; at < from+n; at += 2 * stretch {
					k, val := c.Seek(bboltdb.Key(at))
					for i := 0; i < stretch && k != nil; i++ {
						v.pair(k, val)
						k, val = c.Next()
					}
				}
				return nil
			})
		}
		return bench.RunCase(ctx, "bbolt", c, s.Rng)
	}}
}

// memoryLimit runs a cold case in a control group that is smaller than the file.
func (s *suite) memoryLimit(name string, spec bboltdb.Spec, reps int, w work) benchCase {
	return benchCase{name, spec, func(ctx context.Context, s *suite, _ benchCase, path string) (_ []bench.Result, err error) {
		limit, err := device.EnterMemoryLimit(s.memory)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, limit.Leave()) }()
		c := s.coldCase(name, path, reps, []string{bench.Noop, bench.Predictio}, w)
		c.Limit = false // it may have been read more than once
		return bench.RunCase(ctx, "bbolt", c, s.Rng)
	}}
}
