// SPDX-License-Identifier: Apache-2.0

package pebblev1hint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/predictio/predictio/adapters/internal/lsm"
	"github.com/predictio/predictio/internal/sstindex"
)

// tables lists what db consists of, level by level. Tables that are no local files are
// left out.
func tables(db *pebble.DB) ([][]lsm.TableInfo, error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	list := make([][]lsm.TableInfo, len(levels))
	for i, level := range levels {
		for _, t := range level {
			if t.BackingType != pebble.BackingTypeLocal {
				continue
			}
			list[i] = append(list[i], lsm.TableInfo{
				File:     uint64(t.BackingSSTNum), // a virtual table is a part of it
				Smallest: t.Smallest.UserKey,
				Largest:  t.Largest.UserKey,
			})
		}
	}
	return list, nil
}

// Compressions, as a block's trailer tells them.
const (
	snappied  = 1
	zstandard = 7
)

// zstdDecoder is for one block after the other, of several goroutines; its memory is
// bounded for each call.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(sstindex.MaxBlock))
})

// decompress is a sstindex.Decompress with the codecs that Pebble uses.
func decompress(indicator byte, src []byte, most int) ([]byte, error) {
	switch indicator {
	case snappied:
		n, err := snappy.DecodedLen(src)
		if err != nil {
			return nil, err
		}
		if n > most {
			return nil, tooLarge(uint64(n), most)
		}
		return snappy.Decode(nil, src)
	case zstandard:
		n, prefix := binary.Uvarint(src)
		if prefix <= 0 {
			return nil, errors.New("pebblev1hint: a zstd block without its length")
		}
		if n > uint64(most) {
			return nil, tooLarge(n, most)
		}
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		dst, err := d.DecodeAll(src[prefix:], make([]byte, 0, n))
		if err == nil && uint64(len(dst)) != n {
			err = fmt.Errorf("pebblev1hint: a zstd block of %d bytes that says %d", len(dst), n)
		}
		return dst, err
	}
	return nil, fmt.Errorf("pebblev1hint: unknown compression %d", indicator)
}

func tooLarge(n uint64, most int) error {
	return fmt.Errorf("pebblev1hint: a block of %d bytes, at most %d", n, most)
}

// filtersOf collects the filter policies of options, by name.
func filtersOf(o *pebble.Options) map[string]pebble.FilterPolicy {
	all := make(map[string]pebble.FilterPolicy)
	for name, p := range o.Filters {
		all[name] = p
	}
	for i := range o.Levels {
		if p := o.Levels[i].FilterPolicy; p != nil {
			all[p.Name()] = p
		}
	}
	return all
}

func (h *Hints) mayContain(name string, filter, key []byte) bool {
	if split := h.comparer.Split; split != nil {
		key = key[:split(key)]
	}
	p := h.filters[name]
	return p == nil || p.MayContain(pebble.TableFilter, filter, key)
}

// comparerOf is the options' comparer, Pebble's own if they have none.
func comparerOf(o *pebble.Options) *pebble.Comparer {
	if o.Comparer == nil {
		return pebble.DefaultComparer
	}
	return o.Comparer
}
