// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/sstable"
)

func TestWhatIsNotThere(t *testing.T) {
	file := build(t, shape{rows: rows(2), block: 1, index: 1 << 20}, how{format: int(sstable.TableFormatPebblev7), compress: "none"})
	x, err := open(file)
	must(t, err)
	for _, p := range []int{-1, 1} {
		if _, err := x.Load(nil, p); err != ErrPartition {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	b, err := x.Load(nil, 0)
	must(t, err)
	for _, i := range []int{-1, 2} {
		if b.Separator(i) != nil || b.Handle(i) != (Handle{}) {
			t.Errorf("entry %d: %q %v", i, b.Separator(i), b.Handle(i))
		}
	}
	end := []byte{0xff, 0xff}
	if x.SeekPartition(end, bytes.Compare) != 1 || b.Seek(end, bytes.Compare) != 2 {
		t.Error("found a key behind the end")
	}
	if _, _, ok := x.Filter(); ok {
		t.Error("found a filter")
	}
	x, err = open(build(t, shape{}, how{format: int(sstable.TableFormatPebblev7), compress: "none"}))
	must(t, err)
	if x.SeekPartition(nil, bytes.Compare) != 1 || x.PartitionSeparator(0) != nil || x.TwoLevel() {
		t.Error("found something in an empty table")
	}
}

func TestOpenReadsOnce(t *testing.T) {
	for _, s := range shapes() {
		if strings.HasPrefix(s.name, "huge") || s.name == "single" || s.name == "twolevel-deep" {
			continue
		}
		file := build(t, s, how{format: int(sstable.TableFormatPebblev7), compress: "none", filter: true})
		r := &counter{file: file}
		_, err := Open(r, int64(len(file)), decompress)
		must(t, err)
		if r.reads != 1 {
			t.Errorf("%s: %d reads", s.name, r.reads)
		}
	}
}

type counter struct {
	file  []byte
	reads int
}

func (c *counter) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	return bytes.NewReader(c.file).ReadAt(b, off)
}

func TestMemory(t *testing.T) {
	if n := int(unsafe.Sizeof(Block{})); n > blockOverhead {
		t.Errorf("a block takes %d bytes, not %d", n, blockOverhead)
	}
	if n := int(unsafe.Sizeof(Index{}) - unsafe.Sizeof(Block{})); n > indexOverhead {
		t.Errorf("an index takes %d bytes, not %d", n, indexOverhead)
	}
	file := build(t, shape{rows: rows(5000), block: 256, index: 4096}, how{format: int(sstable.TableFormatPebblev7), compress: "zstd", filter: true})
	x, err := open(file)
	must(t, err)
	b, err := x.Load(bytes.NewReader(file), 0)
	must(t, err)
	if m := x.Memory(); m < len(x.top.data)+indexOverhead || m > 2*len(x.top.data)+1024 {
		t.Errorf("index: %d bytes, of which %d are the block", m, len(x.top.data))
	}
	if m := b.Memory(); m < 3000 || m > 6000 {
		t.Errorf("block: %d bytes", m)
	}
}

func TestTailSize(t *testing.T) {
	for size, want := range map[int64]int64{-1: 0, 0: 0, 100: 100, 1 << 40: tailSize} {
		if got := TailSize(size); got != want {
			t.Errorf("%d: %d, want %d", size, got, want)
		}
	}
}

func TestManyReadAtOnce(t *testing.T) {
	file := build(t, shape{rows: rows(2000), block: 256, index: 1024}, how{format: int(sstable.TableFormatPebblev6), compress: "snappy"})
	x, err := open(file)
	must(t, err)
	want := entries(t, x, file, 1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				b, err := x.Load(bytes.NewReader(file), 1)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range b.Len() {
					if string(b.Separator(i)) != want[i].sep || b.Handle(i) != want[i].Handle {
						t.Error("not what one reader alone sees")
						return
					}
				}
				if _, err := open(file); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
