// SPDX-License-Identifier: Apache-2.0

package pebblehint

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/predictio/predictio/adapters/internal/lsm"
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

// decompress is a sstindex.Decompress with Pebble's own codecs.
func decompress(indicator byte, src []byte, most int) ([]byte, error) {
	i := block.CompressionIndicator(indicator)
	switch i {
	case block.SnappyCompressionIndicator, block.ZstdCompressionIndicator, block.MinLZCompressionIndicator:
	default:
		return nil, fmt.Errorf("pebblehint: unknown compression %d", indicator)
	}
	n, err := block.DecompressedLen(i, src)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > most {
		return nil, fmt.Errorf("pebblehint: a block of %d bytes, at most %d", n, most)
	}
	dst := make([]byte, n)
	if err := block.DecompressInto(i, src, dst); err != nil {
		return nil, err
	}
	return dst, nil
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
	p := h.filters[name]
	return p == nil || p.MayContain(pebble.TableFilter, filter, h.comparer.Split.Prefix(key))
}

// comparerOf is the options' comparer, with what Pebble fills in.
func comparerOf(o *pebble.Options) *pebble.Comparer { return o.Comparer.EnsureDefaults() }
