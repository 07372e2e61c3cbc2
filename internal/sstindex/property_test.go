// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"pgregory.net/rapid"
)

// spy records which data block Pebble reads first.
type spy struct {
	objstorage.MemObj
	dataEnd int64
	read    Handle
}

func (s *spy) ReadAt(ctx context.Context, p []byte, off int64) error {
	if off < s.dataEnd && s.read == (Handle{}) {
		s.read = Handle{off, int64(len(p))}
	}
	return s.MemObj.ReadAt(ctx, p, off)
}

func (s *spy) NewReadHandle(objstorage.ReadBeforeSize) objstorage.ReadHandle {
	h := objstorage.MakeNoopReadHandle(s)
	return &h
}

// find is the data block in which key lies, if anywhere; zero if it is behind all.
func find(tb testing.TB, x *Index, file, key []byte) Handle {
	p := x.SeekPartition(key, bytes.Compare)
	if p == x.Partitions() {
		return Handle{}
	}
	b, err := x.Load(bytes.NewReader(file), p)
	must(tb, err)
	i := b.Seek(key, bytes.Compare)
	if i == b.Len() {
		return Handle{}
	}
	return b.Handle(i)
}

// A look-up finds the very block that Pebble reads for it.
func TestFindsTheBlockThatPebbleReads(t *testing.T) {
	all := hows()
	rapid.Check(t, func(rt *rapid.T) {
		h := rapid.SampledFrom(all).Draw(rt, "how")
		alphabet := rapid.SampledFrom([]string{"ab", "\x00\xff", "abcdefghijklmnopqrstuvwxyz", "\x00\x01a\xfe\xff"}).Draw(rt, "alphabet")
		key := rapid.Custom(func(rt *rapid.T) string {
			b := rapid.SliceOfN(rapid.SampledFrom([]byte(alphabet)), 1, 12).Draw(rt, "bytes")
			return string(b)
		})
		fewest := rapid.SampledFrom([]int{1, 20, 120}).Draw(rt, "fewest")
		keys := rapid.SliceOfNDistinct(key, fewest, 300, rapid.ID[string]).Draw(rt, "keys")
		slices.Sort(keys)
		s := shape{block: rapid.IntRange(1, 300).Draw(rt, "block"), index: rapid.SampledFrom([]int{1, 50, 200, 1 << 20}).Draw(rt, "index")}
		for _, k := range keys {
			s.rows = append(s.rows, kv{[]byte(k), bytes.Repeat([]byte("v"), rapid.IntRange(0, 40).Draw(rt, "value"))})
		}
		file := build(t, s, h)
		x, err := open(file)
		must(t, err)
		f := &spy{dataEnd: x.Region().Off}
		_ = f.Write(bytes.Clone(file))
		r, err := sstable.NewReader(context.Background(), f, sstable.ReaderOptions{})
		must(t, err)
		defer r.Close()
		probes := append(rapid.SliceOfN(key, 1, 30).Draw(rt, "probes"), keys...)
		for _, k := range append(probes, "", "\xff\xff\xff") {
			f.read = Handle{}
			iter, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
			must(t, err)
			got := iter.SeekGE([]byte(k), 0)
			if want := f.read; find(t, x, file, []byte(k)) != want {
				rt.Fatalf("%q (%s): block %v, Pebble reads %v and finds %v", k, h.name, find(t, x, file, []byte(k)), want, got)
			}
			must(t, iter.Close())
		}
	})
}
