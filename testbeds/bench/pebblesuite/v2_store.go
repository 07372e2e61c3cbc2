// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
)

type v2 struct {
	db    *pebble.DB
	hints *pebblehint.Hints // nil: bare, or the file system alone
}

func (s *v2) iter(lower, upper []byte, rows int) (iterator, error) {
	var o *pebble.IterOptions
	if lower != nil || upper != nil {
		o = &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
	}
	if s.hints == nil {
		return s.db.NewIter(o)
	}
	return s.hints.NewIter(s.db, o, pebblehint.ScanOptions{Rows: rows})
}

func (s *v2) count(from []byte, n int) (rows int64, sum uint64, err error) {
	if s.hints == nil {
		it, err := s.db.NewIter(nil)
		if err != nil {
			return 0, 0, err
		}
		for ok := it.SeekGE(from); ok && rows < int64(n); ok = it.Next() {
			rows++
			sum += uint64(len(it.Key())) + uint64(it.Value()[0])
		}
		return rows, sum, it.Close()
	}
	it, err := s.hints.NewIter(s.db, nil, pebblehint.ScanOptions{})
	if err != nil {
		return 0, 0, err
	}
	for ok := it.SeekGE(from); ok && rows < int64(n); ok = it.Next() {
		rows++
		sum += uint64(len(it.Key())) + uint64(it.Value()[0])
	}
	return rows, sum, it.Close()
}

func (s *v2) get(key []byte) ([]byte, io.Closer, error) {
	if s.hints == nil {
		return s.db.Get(key)
	}
	return s.hints.Get(s.db, key)
}

func (s *v2) multiGet(keys [][]byte, fn func(key, value []byte)) error {
	if s.hints == nil {
		return loop(s, keys, fn)
	}
	for i, r := range s.hints.MultiGet(s.db, keys) {
		if r.Err != nil {
			return r.Err
		}
		fn(keys[i], r.Value)
	}
	return nil
}

func (s *v2) set(key, value []byte) error { return s.db.Set(key, value, pebble.NoSync) }

func (s *v2) firstKeys() (keys [][]byte, err error) {
	levels, err := s.db.SSTables()
	for _, tables := range levels {
		for _, t := range tables {
			keys = append(keys, t.Smallest.UserKey)
		}
	}
	return keys, err
}

func (s *v2) close() error {
	var err error
	if s.hints != nil {
		err = s.hints.Close()
	}
	return errors.Join(err, s.db.Close())
}
