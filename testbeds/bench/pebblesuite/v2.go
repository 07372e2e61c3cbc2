// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

type v2 struct {
	db    *pebble.DB
	hints *pebblehint.Hints // nil: bare, or the file system alone
}

func openV2(dir string, o setup) (store, error) {
	opts := pebbledb.OptionsV2(o.spec.Compression)
	opts.CacheSize = o.cache
	// Without a log, what was written and not flushed is gone at close.
	opts.ReadOnly, opts.DisableWAL = !o.write, o.write
	opts.ErrorIfNotExists = true
	if !o.native {
		opts.Local.ReadaheadConfig = objstorageprovider.NewReadaheadConfig()
		// Informed readahead is that of compactions, which is not at issue.
		opts.Local.ReadaheadConfig.Set(objstorageprovider.FadviseSequential, objstorageprovider.NoReadahead)
	}
	s := &v2{}
	switch o.hooks {
	case attached:
		s.hints = pebblehint.Attach(opts, o.sink)
	case fileOnly:
		opts.FS = pebblehint.NewFS(opts.FS, o.sink)
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
