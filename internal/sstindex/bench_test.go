// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// benchmarked are a table of rows and one of columns, with partitions of 4 KiB, in
// files.
func benchmarked(b *testing.B, f func(b *testing.B, file *os.File, x *Index)) {
	for _, format := range []sstable.TableFormat{sstable.TableFormatPebblev4, sstable.TableFormatPebblev7} {
		for _, c := range []string{"none", "snappy"} {
			b.Run(fmt.Sprintf("%v-%s", format, c), func(b *testing.B) {
				table := build(b, shape{rows: rows(30_000), block: 400, index: 4096}, how{format: int(format), compress: c})
				name := filepath.Join(b.TempDir(), "table")
				must(b, os.WriteFile(name, table, 0o600))
				file, err := os.Open(name)
				must(b, err)
				defer file.Close()
				x, err := Open(file, int64(len(table)), decompress)
				must(b, err)
				b.ReportAllocs()
				f(b, file, x)
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	benchmarked(b, func(b *testing.B, file *os.File, x *Index) {
		for b.Loop() {
			if _, err := Open(file, x.size, decompress); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	benchmarked(b, func(b *testing.B, file *os.File, x *Index) {
		var n int
		for b.Loop() {
			blk, err := x.Load(file, 3)
			if err != nil {
				b.Fatal(err)
			}
			n = blk.Len()
		}
		b.ReportMetric(float64(n), "entries")
	})
}

// BenchmarkParse is Load without reading, decompressing and the checksum.
func BenchmarkParse(b *testing.B) {
	benchmarked(b, func(b *testing.B, file *os.File, x *Index) {
		blk, err := x.Load(file, 3)
		must(b, err)
		b.SetBytes(int64(len(blk.data)))
		for b.Loop() {
			if _, err := parseBlock(blk.data, x.columnar, x.region); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSeek(b *testing.B) {
	benchmarked(b, func(b *testing.B, file *os.File, x *Index) {
		blk, err := x.Load(file, 3)
		must(b, err)
		i := 0
		for b.Loop() {
			i = (i + 7) % blk.Len()
			if j := blk.Seek(blk.Separator(i), bytes.Compare); blk.Handle(j) != blk.Handle(i) {
				b.Fatal(i, j)
			}
		}
	})
}
