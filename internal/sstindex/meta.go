// SPDX-License-Identifier: Apache-2.0

package sstindex

import "bytes"

// fullFilter precedes a policy's name in the metaindex, if the filter is one block
// for the whole table.
var fullFilter = []byte("fullfilter.")

// filter is a table's filter block.
type filter struct {
	name string
	at   Handle
	ok   bool
}

// findFilter looks for a filter in the metaindex, of a block that ends at or before
// limit.
func findFilter(meta []byte, columnar bool, limit int64) (f filter, err error) {
	each := eachRow
	if columnar {
		each = eachColumnarRow
	}
	var bad error
	err = each(meta, func(key, value []byte) bool {
		name, ok := bytes.CutPrefix(key, fullFilter)
		if !ok {
			return true
		}
		h, n := parseHandle(value, limit)
		if n == 0 || len(name) > maxFilterName {
			bad = corrupt("the filter's entry in the metaindex")
			return false
		}
		f = filter{name: string(name), at: h, ok: true}
		return false
	})
	if err == nil {
		err = bad
	}
	return f, err
}
