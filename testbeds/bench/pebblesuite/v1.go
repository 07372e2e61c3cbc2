// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/objstorage/objstorageprovider"

	"github.com/predictio/predictio/adapters/pebblev1hint"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

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
