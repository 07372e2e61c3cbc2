// SPDX-License-Identifier: Apache-2.0

package pebblesuite

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

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
