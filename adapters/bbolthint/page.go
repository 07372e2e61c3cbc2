// SPDX-License-Identifier: Apache-2.0

package bbolthint

import "unsafe"

// The layout of a page, in native byte order:
//
//	offset  size  field
//	0       8     page id
//	8       2     flags: 1 branch, 2 leaf, 4 meta, 16 freelist
//	10      2     count of elements
//	12      4     overflow: how many more pages belong to this one
//	16      16*n  elements
//	...           keys and values, each at its element's offset + pos
//
// branch element: pos u32, ksize u32, page id u64
// leaf element:   flags u32 (1: a bucket), pos u32, ksize u32, vsize u32
//
// meta page, after the header: magic u32, version u32, page size u32, ...

const (
	headerSize  = 16
	elementSize = 16

	branchFlag   = 0x01
	leafFlag     = 0x02
	metaFlag     = 0x04
	freelistFlag = 0x10

	bucketFlag = 0x01 // of a leaf element

	magic   = 0xED0CDAED
	version = 2
)

type page struct {
	id       uint64
	flags    uint16
	count    uint16
	overflow uint32
}

type branchElement struct {
	pos, ksize uint32
	id         uint64
}

type leafElement struct {
	flags, pos, ksize, vsize uint32
}

type meta struct {
	magic, version, pageSize uint32
}

// The following read as bbolt reads: no check that bbolt doesn't make, so that a
// corrupt file gives through this package what it gives without it.

func (p *page) isLeaf() bool { return p.flags == leafFlag }

// valid is bbolt's own check of a page it was led to.
func (p *page) valid(id uint64) bool {
	return p.id == id && (p.flags == branchFlag || p.flags == leafFlag || p.flags == metaFlag || p.flags == freelistFlag)
}

func (p *page) branch(i uint16) *branchElement {
	return (*branchElement)(unsafe.Add(unsafe.Pointer(p), headerSize+elementSize*uintptr(i)))
}

func (p *page) leaf(i uint16) *leafElement {
	return (*leafElement)(unsafe.Add(unsafe.Pointer(p), headerSize+elementSize*uintptr(i)))
}

// maxAlloc is bbolt's bound of a key or value's end within its page.
const (
	is64     = ^uint(0) >> 63
	maxAlloc = 0xFFFFFFF + is64*(0x7FFFFFFF-0xFFFFFFF)
)

func (e *branchElement) key() []byte {
	from, to := int(e.pos), int(e.pos)+int(e.ksize)
	return (*[maxAlloc]byte)(unsafe.Pointer(e))[from:to:to]
}

func (e *leafElement) key() []byte {
	from, to := int(e.pos), int(e.pos)+int(e.ksize)
	return (*[maxAlloc]byte)(unsafe.Pointer(e))[from:to:to]
}

// valuesLast reports whether the last page of a leaf that was read is an overflow
// page without a key: then only a reader of values touches it.
func (p *page) valuesLast(pageSize int64) bool {
	if p.overflow == 0 || p.count == 0 {
		return false
	}
	last := p.count - 1
	if headerSize+elementSize*(int64(last)+1) > pageSize {
		return false // the elements themselves go on past the head
	}
	_, to := p.keyRange(last)
	return to <= int64(p.overflow)*pageSize
}

// The following look ahead, at pages that bbolt may never come to, and so trust
// nothing.

// sane reports whether a page that spans span bytes of the file has its elements
// inside, and is what flag says.
func (p *page) sane(id uint64, flag uint16, pageSize int64) bool {
	span := (int64(p.overflow) + 1) * pageSize
	return p.id == id && p.flags == flag && p.count > 0 &&
		headerSize+elementSize*int64(p.count) <= span
}

// keyRange returns where key i of a leaf starts and ends, in bytes from the page's
// start. It reads the element only, which the caller knows to be resident.
func (p *page) keyRange(i uint16) (from, to int64) {
	e := p.leaf(i)
	from = headerSize + elementSize*int64(i) + int64(e.pos)
	return from, from + int64(e.ksize)
}
