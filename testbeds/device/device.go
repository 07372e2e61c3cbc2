// SPDX-License-Identifier: Apache-2.0

// Package device puts a benchmark's storage into a known state and measures what
// it can do at its best: readahead setting, residency, direct reads, memory limit.
package device

import "errors"

// ErrNotSupported is matched by errors that say that this system can't do it.
var ErrNotSupported = errors.New("device: not supported here")

// Range is a run of bytes of a file.
type Range struct{ Off, Len int64 }

// FileRange is a range of one of several files, by its place among them.
type FileRange struct {
	File int
	Range
}

// Join merges ranges, sorted by offset, that touch, to pieces of at most max bytes.
func Join(in []Range, max int64) []Range {
	var out []Range
	for _, r := range in {
		if n := len(out); n > 0 && out[n-1].Off+out[n-1].Len == r.Off && out[n-1].Len+r.Len <= max {
			out[n-1].Len += r.Len
			continue
		}
		out = append(out, r)
	}
	return out
}

// Bytes sums the ranges.
func Bytes(in []Range) (n int64) {
	for _, r := range in {
		n += r.Len
	}
	return n
}
