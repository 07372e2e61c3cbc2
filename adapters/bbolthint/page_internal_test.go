// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bbolthint

import (
	"encoding/binary"
	"math"
	"runtime/debug"
	"testing"
	"unsafe"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/predictio/predictio/hints"
)

// The page parser works on a tiny file here: 16 pages of 256 bytes, with a page
// after it that can't be read.
const (
	tinyPage  = 256
	tinyPages = 16
)

// tinyFile maps such a file.
func tinyFile(t testing.TB, content []byte) *mapping {
	size := unix.Getpagesize()
	if size != tinyPage*tinyPages {
		t.Skip("made for system pages of 4096 bytes")
	}
	region, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(region) })
	copy(region[:size], content)
	if err := unix.Mprotect(region[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return (*mapping)(unsafe.Pointer(unsafe.SliceData(region)))
}

// tinyCursor stands on the given pages, from the root down, as if it had been led
// there.
func tinyCursor(data *mapping, dir hints.Direction, path ...uint64) *Cursor {
	c := &Cursor{data: data, pageSize: tinyPage}
	for i, id := range path {
		p := at(data, id, tinyPage)
		c.branches = append(c.branches, ref{p, i % max(1, int(p.count)), int(p.count)})
	}
	w := &walk{cursor: c, pages: tinyPages}
	w.children.cursor, w.parents.cursor = c, c
	w.event.Entered = w.extent(nil, 1, 1)
	c.hint.walk, c.hint.dir = w, dir
	return c
}

// FuzzPage: whatever the pages hold, looking ahead reads nothing outside the file,
// names nothing outside it, and ends.
func FuzzPage(f *testing.F) {
	f.Fuzz(func(t *testing.T, content []byte, depth, dir uint8, to []byte) {
		debug.SetPanicOnFault(true)
		data := tinyFile(t, content)
		d := hints.Forward
		if dir%2 == 1 {
			d = hints.Backward
		}
		path := []uint64{0, 1, 2, 3}[:1+depth%4]
		c := tinyCursor(data, d, path...)
		if len(to) > 0 {
			c.hint.to = to
		}
		w := c.hint.walk

		inside := func(what string, i int, x hints.Extent) {
			if x.Off < 0 || x.Len <= 0 || x.Off > tinyPage*tinyPages-x.Len {
				t.Errorf("%s %d: %d bytes at %d", what, i, x.Len, x.Off)
			}
		}
		children := map[int]hints.Extent{}
		for _, i := range []int{0, 1, 2, 3, 7, 20, 70, 300, 70_000, 2, 0, -1} {
			if x, ok := w.Child(i); ok {
				inside("child", i, x)
				if old, asked := children[i]; asked && old != x {
					t.Errorf("child %d is at %d, and was at %d", i, x.Off, old.Off)
				}
				children[i] = x
			}
			if x, ok := w.NextParent(i); ok {
				inside("parent", i, x)
			}
			all := map[int64]bool{}
			for _, part := range []hints.Part{hints.PartAll, hints.PartKeys} {
				mark := hints.Extent{Off: 12345, Len: 1}
				rest := w.AppendRest([]hints.Extent{mark}, i, part)
				if rest[0] != mark || len(rest) > 1+hints.MaxRest {
					t.Errorf("rest %d: %d extents", i, len(rest)-1)
				}
				end := int64(0)
				for _, x := range rest[1:] {
					inside("rest", i, x)
					if x.Off < end {
						t.Errorf("rest %d: out of order", i)
					}
					end = x.End()
					for off := x.Off; off < end; off += tinyPage {
						if part == hints.PartKeys && !all[off] {
							t.Errorf("rest %d: a page of keys that is none of the leaf's", i)
						}
						all[off] = true
					}
				}
			}
		}
		if at := c.progress(); math.IsNaN(at) || math.IsInf(at, 0) {
			t.Errorf("progress %v", at)
		}
		if n := w.treeBytes(); n < 0 || n > tinyPage*tinyPages {
			t.Errorf("a tree of %d bytes", n)
		}
		for id := range uint64(tinyPages) {
			if p, ok := w.sane(id, leafFlag); ok {
				lo, hi := p.keyRange(0)
				if lo < headerSize || hi < lo {
					t.Errorf("key from %d to %d", lo, hi)
				}
			}
		}
	})
}

// TestLookaheadEnds: branches that lead back to one another don't hold it.
func TestLookaheadEnds(t *testing.T) {
	content := make([]byte, tinyPage*tinyPages)
	for id := range uint64(tinyPages) {
		p := content[id*tinyPage:]
		binary.NativeEndian.PutUint64(p, id)
		binary.NativeEndian.PutUint16(p[8:], branchFlag)
		binary.NativeEndian.PutUint16(p[10:], 3)
		for i := range uint64(3) { // each branch is its own first child
			binary.NativeEndian.PutUint64(p[headerSize+elementSize*i+8:], (id+i)%tinyPages)
		}
	}
	for _, dir := range []hints.Direction{hints.Forward, hints.Backward} {
		c := tinyCursor(tinyFile(t, content), dir, 0, 1, 2, 3)
		n := 0
		for ; ; n++ {
			if _, ok := c.hint.walk.Child(n); !ok {
				break
			}
		}
		if most := 3 * 3 * 3 * 3; n == 0 || n > most {
			t.Errorf("direction %d: %d children, at most %d exist", dir, n, most)
		}
	}
}

// TestKnownFormat: one good meta page is enough, as it is for bbolt.
func TestKnownFormat(t *testing.T) {
	for name, versions := range map[string][2]uint32{"both": {2, 2}, "first": {2, 3}, "second": {1, 2}, "none": {1, 3}} {
		content := make([]byte, tinyPage*tinyPages)
		for id, v := range versions {
			p := content[id*tinyPage+headerSize:]
			binary.NativeEndian.PutUint32(p, magic)
			binary.NativeEndian.PutUint32(p[4:], v)
			binary.NativeEndian.PutUint32(p[8:], tinyPage)
		}
		data := tinyFile(t, content)
		info := &bolt.Info{Data: uintptr(unsafe.Pointer(data)), PageSize: tinyPage}
		if got, want := knownFormat(info), name != "none"; got != want {
			t.Errorf("%s: %v", name, got)
		}
		info.PageSize = 2 * tinyPage
		if name == "both" && knownFormat(info) {
			t.Error("another page size is known")
		}
	}
}
