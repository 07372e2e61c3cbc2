// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	v1sstable "github.com/cockroachdb/pebble/sstable"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/sstable/rowblk"
	v1vfs "github.com/cockroachdb/pebble/vfs"
)

// at is an entry of an index.
type at struct {
	sep string
	Handle
}

func (a at) String() string { return fmt.Sprintf("%.40q %v", a.sep, a.Handle) }

// pebbles are the entries of an index block, read by Pebble.
func pebbles(t *testing.T, file []byte, h block.Handle, columnar bool) (all []at) {
	t.Helper()
	b := file[h.Offset : h.Offset+h.Length]
	if kind := file[h.Offset+h.Length]; kind != 0 {
		var err error
		b, err = decompress(kind, b, MaxBlock)
		must(t, err)
	} else {
		b = bytes.Clone(b) // aligned
	}
	var iter block.IndexBlockIterator = new(rowblk.IndexIter)
	if columnar {
		iter = new(colblk.IndexIter)
	}
	must(t, iter.Init(pebble.DefaultComparer, b, sstable.NoTransforms))
	for ok := iter.First(); ok; ok = iter.Next() {
		h, err := iter.BlockHandleWithProperties()
		must(t, err)
		all = append(all, at{string(iter.Separator()), ours(h.Handle)})
	}
	return all
}

func ours(h block.Handle) Handle { return Handle{int64(h.Offset), int64(h.Length) + trailerLen} }

// layout is where Pebble finds the blocks. Version 1 can't read its own zstd with
// the zstd library that version 2 brings; version 2 reads those tables too.
func layout(t *testing.T, file []byte, v1 bool) (data, index []Handle, top block.Handle) {
	t.Helper()
	if v1 {
		fs := v1vfs.NewMem()
		f, err := fs.Create("t")
		must(t, err)
		_, err = f.Write(bytes.Clone(file)) // Pebble may overwrite what it is given
		must(t, err)
		must(t, f.Close())
		f, err = fs.Open("t")
		must(t, err)
		rd, err := v1sstable.NewSimpleReadable(f)
		must(t, err)
		r, err := v1sstable.NewReader(rd, v1sstable.ReaderOptions{})
		must(t, err)
		defer r.Close()
		l, err := r.Layout()
		must(t, err)
		for _, h := range l.Data {
			data = append(data, ours(block.Handle(h.BlockHandle)))
		}
		for _, h := range l.Index {
			index = append(index, ours(block.Handle(h)))
		}
		return data, index, block.Handle(l.TopIndex)
	}
	r, err := sstable.NewReader(context.Background(), memory(file), sstable.ReaderOptions{})
	must(t, err)
	defer r.Close()
	l, err := r.Layout()
	must(t, err)
	for _, h := range l.Data {
		data = append(data, ours(h.Handle))
	}
	for _, h := range l.Index {
		index = append(index, ours(h))
	}
	return data, index, l.TopIndex
}

// memory is a file for Pebble.
func memory(file []byte) *objstorage.MemObj {
	var f objstorage.MemObj
	_ = f.Write(bytes.Clone(file)) // as above
	return &f
}

func TestEveryTableAgreesWithPebble(t *testing.T) {
	for _, h := range hows() {
		for _, s := range shapes() {
			if strings.HasPrefix(s.name, "huge") && h.format != int(sstable.TableFormatPebblev4) && h.format != int(sstable.TableFormatMax) {
				continue // the formats between differ in nothing that matters here
			}
			t.Run(h.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				agree(t, s, h, build(t, s, h))
			})
		}
	}
}

func agree(t *testing.T, s shape, h how, file []byte) {
	x, err := open(file)
	must(t, err)
	data, index, top := layout(t, file, h.v1 && h.compress != "zstd")
	two := top.Length > 0
	if x.TwoLevel() != two {
		t.Fatalf("two levels: %t, Pebble: %t", x.TwoLevel(), two)
	}
	if strings.HasPrefix(s.name, "twolevel") && h.twoLevels() && !two {
		t.Fatal("one level: this shape doesn't test what it should")
	}
	if x.Partitions() != len(index) {
		t.Fatalf("%d partitions, Pebble: %d", x.Partitions(), len(index))
	}
	if want := (Handle{index[0].Off, int64(len(file)) - index[0].Off}); x.Region() != want {
		t.Errorf("region %v, want %v", x.Region(), want)
	}
	columnar := !h.v1 && h.format >= int(sstable.TableFormatPebblev5)
	var got, want []at
	for p, at := range index {
		got = append(got, entries(t, x, file, p)...)
		part := pebbles(t, file, block.Handle{Offset: uint64(at.Off), Length: uint64(at.Len - trailerLen)}, columnar)
		want = append(want, part...)
		if n := len(part); n > 0 && string(x.PartitionSeparator(p)) != part[n-1].sep {
			t.Errorf("partition %d ends with %q, want %q", p, x.PartitionSeparator(p), part[n-1].sep)
		}
		if got := x.Partition(p); two && got != at || !two && got != (Handle{}) {
			t.Errorf("partition %d at %v, want %v", p, got, at)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("entries\n%v\nwant\n%v", got, want)
	}
	var handles []Handle
	for _, a := range got {
		handles = append(handles, a.Handle)
	}
	if !reflect.DeepEqual(handles, data) && len(handles)+len(data) > 0 {
		t.Errorf("data blocks\n%v\nwant\n%v", handles, data)
	}
	checkFilter(t, x, file, h, s)
}

func checkFilter(t *testing.T, x *Index, file []byte, h how, s shape) {
	name, fh, ok := x.Filter()
	if len(s.rows) == 0 {
		return // writers differ
	}
	if ok != h.filter {
		t.Fatalf("filter: %t, want %t", ok, h.filter)
	}
	if !ok {
		return
	}
	if name != "rocksdb.BuiltinBloomFilter" {
		t.Errorf("filter %q", name)
	}
	b, err := x.ReadBlock(bytes.NewReader(file), fh)
	must(t, err)
	if want := file[fh.Off : fh.End()-trailerLen]; !bytes.Equal(b, want) {
		t.Errorf("a filter of %d bytes, want %d", len(b), len(want))
	}
}

// entries are those of a partition.
func entries(tb testing.TB, x *Index, file []byte, p int) (all []at) {
	tb.Helper()
	b, err := x.Load(bytes.NewReader(file), p)
	must(tb, err)
	for i := range b.Len() {
		all = append(all, at{string(b.Separator(i)), b.Handle(i)})
	}
	return all
}
