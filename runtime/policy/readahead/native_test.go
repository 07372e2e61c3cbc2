// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"context"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/internal/testwalk"
)

// original is Pebble's own readahead over a file that takes note of what is prefetched.
type original struct {
	vfs.File // nil: the rest is not called
	bytes    int64
	handle   objstorage.ReadHandle
	fetched  []span
}

type info struct {
	vfs.FileInfo
	bytes int64
}

func (i info) Size() int64 { return i.bytes }

func (o *original) Stat() (vfs.FileInfo, error)             { return info{bytes: o.bytes}, nil }
func (o *original) ReadAt(p []byte, off int64) (int, error) { return len(p), nil }
func (o *original) Close() error                            { return nil }

func (o *original) Prefetch(off, n int64) error {
	o.fetched = append(o.fetched, span{off, off + n})
	return nil
}

func newOriginal(t fataler, bytes int64) *original {
	o := &original{bytes: bytes}
	config := objstorageprovider.NewReadaheadConfig()
	// Were it to hand over to the kernel at 256 KiB, nothing could be seen of it.
	config.Set(objstorageprovider.NoReadahead, objstorageprovider.SysReadahead)
	r, err := objstorageprovider.NewFileReadable(o, nil, config, os.DevNull)
	if err != nil {
		t.Fatalf("%v", err)
	}
	o.handle = r.NewReadHandle(objstorage.NoReadBefore)
	return o
}

// read returns the window that Pebble prefetches before it reads.
func (o *original) read(off, n int64) (w span, fetches bool) {
	o.fetched = o.fetched[:0]
	_ = o.handle.ReadAt(context.Background(), make([]byte, n), off)
	if len(o.fetched) == 0 {
		return span{}, false
	}
	return o.fetched[0], true
}

// Runs of reads, each somewhere else in the file, with gaps, leaps back within the last
// window, repeated reads and reads of all sizes: up to and with the first window of 256 KiB,
// Native fetches where Pebble does, to the same end, and from the same start but for what
// it has asked for before.
func TestNativeIsPebbles(t *testing.T) {
	const cell, cells = int64(64 << 20), 64
	size := cell*cells - 12345
	file := testwalk.File(t, size)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		o, h := newOriginal(t, size), newHarness(t, Native(), file)
		for _, at := range rapid.SliceOfNDistinct(rapid.Int64Range(0, cells-1), 1, 6, rapid.ID).Draw(t, "cells") {
			off := at*cell + rapid.Int64Range(1<<20, cell/2).Draw(t, "start")
			if at == cells-1 && rapid.Bool().Draw(t, "at the end") {
				off = size - rapid.Int64Range(1, 1<<20).Draw(t, "before the end")
			}
			asked, pos := int64(0), off // what we have asked for, and what was read
			from, limit := off, off     // of Pebble's last window
			for range rapid.IntRange(1, 60).Draw(t, "reads") {
				n := rapid.OneOf(rapid.Int64Range(1, 64<<10), rapid.Int64Range(1, 400<<10)).Draw(t, "bytes")
				if asked == 0 {
					n = max(n, pos-off)
				}
				if n = min(size-off, n); n <= 0 {
					break
				}
				w, fetches := o.read(off, n)
				got := h.read(off, n, rapid.Bool().Draw(t, "waited"))
				pos = max(pos, off+n)
				if fetches {
					from, limit = w.off, w.end
				} else if asked == 0 {
					limit = pos
				}
				want := span{max(w.off, asked), min(w.end, size)}
				switch {
				case !fetches || want.off >= want.end:
					if len(got) > 0 {
						t.Fatalf("read %d+%d: %v, Pebble nothing new", off, n, got)
					}
				case len(got) != 1 || got[0].Off != want.off || got[0].End() != want.end:
					t.Fatalf("read %d+%d: %v, want %v of Pebble's %v", off, n, got, want, w)
				default:
					asked = want.end
					compared++
				}
				if fetches && w.end-w.off >= maxNative {
					break // from here on we lead
				}
				off += n + rapid.OneOf(
					rapid.Just(int64(0)), rapid.Just(int64(0)),
					rapid.Int64Range(0, 300<<10), rapid.Int64Range(-400<<10, 0),
				).Draw(t, "gap")
				// Behind from, Pebble forgets the sequence, and may take it for a new one when
				// the reads come back; we have not forgotten.
				off = max(off, from)
				if off > limit+maxNative {
					asked, pos, from, limit = 0, off, off, off // too far: a new sequence
				}
			}
		}
		h.end()
	})
	t.Logf("%d windows compared", compared)
	if compared < 100 {
		t.Errorf("only %d windows compared", compared)
	}
}

// Past 256 KiB, a scan that leaves nothing out finds one window of 256 KiB ahead of that
// which it reads.
func TestNativeLeads(t *testing.T) {
	file := testwalk.File(t, 64<<20)
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, Native(), file)
		var ends []int64
		for off := int64(0); off < 4<<20; {
			n := rapid.Int64Range(8<<10, 64<<10).Draw(t, "bytes")
			for _, x := range h.read(off, n, true) {
				ends = append(ends, x.End())
			}
			off += n
			if k := len(ends); k > 3 && (ends[k-1]-ends[k-2] != maxNative || off > ends[k-2] || off <= ends[k-3]) {
				t.Fatalf("read to %d, windows end at %v", off, ends[k-3:])
			}
		}
	})
}
