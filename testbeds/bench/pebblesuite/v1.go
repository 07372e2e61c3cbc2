// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/objstorage/objstorageprovider"

	"github.com/predictio/predictio/adapters/pebblev1hint"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

type v1 struct {
	db    *pebble.DB
	hints *pebblev1hint.Hints // nil: bare, or the file system alone
}

func openV1(dir string, o setup) (store, error) {
	if o.write {
		// It would read its tables' statistics meanwhile; v1 has no way to say no.
		return nil, errors.New("pebblesuite: v1 is opened for reading only")
	}
	opts := pebbledb.OptionsV1(o.spec.Compression)
	opts.Cache = pebble.NewCache(o.cache)
	defer opts.Cache.Unref()
	opts.ReadOnly = true
	opts.ErrorIfNotExists = true
	if !o.native {
		opts.Local.ReadaheadConfigFn = func() pebble.ReadaheadConfig {
			c := objstorageprovider.DefaultReadaheadConfig
			c.Speculative = objstorageprovider.NoReadahead
			return c
		}
	}
	s := &v1{}
	switch o.hooks {
	case attached:
		s.hints = pebblev1hint.Attach(opts, o.sink)
	case fileOnly:
		opts.FS = pebblev1hint.NewFS(opts.FS, o.sink)
	}
	var err error
	if s.db, err = pebble.Open(dir, opts); err != nil {
		return nil, err
	}
	if s.hints != nil {
		if err := s.hints.Bind(s.db, dir); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *v1) iter(lower, upper []byte, rows int) (iterator, error) {
	var o *pebble.IterOptions
	if lower != nil || upper != nil {
		o = &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
	}
	if s.hints == nil {
		return s.db.NewIter(o)
	}
	return s.hints.NewIter(s.db, o, pebblev1hint.ScanOptions{Rows: rows})
}

func (s *v1) count(from []byte, n int) (rows int64, sum uint64, err error) {
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
	it, err := s.hints.NewIter(s.db, nil, pebblev1hint.ScanOptions{})
	if err != nil {
		return 0, 0, err
	}
	for ok := it.SeekGE(from); ok && rows < int64(n); ok = it.Next() {
		rows++
		sum += uint64(len(it.Key())) + uint64(it.Value()[0])
	}
	return rows, sum, it.Close()
}

func (s *v1) get(key []byte) ([]byte, io.Closer, error) {
	if s.hints == nil {
		return s.db.Get(key)
	}
	return s.hints.Get(s.db, key)
}

func (s *v1) multiGet(keys [][]byte, fn func(key, value []byte)) error {
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

func (s *v1) set(key, value []byte) error { return s.db.Set(key, value, pebble.NoSync) }

func (s *v1) firstKeys() (keys [][]byte, err error) {
	levels, err := s.db.SSTables()
	for _, tables := range levels {
		for _, t := range tables {
			keys = append(keys, t.Smallest.UserKey)
		}
	}
	return keys, err
}

func (s *v1) close() error {
	var err error
	if s.hints != nil {
		err = s.hints.Close()
	}
	return errors.Join(err, s.db.Close())
}
