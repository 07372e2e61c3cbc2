// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"bytes"
	"unsafe"

	"github.com/predictio/predictio/hints"
)

// Child, AppendRest and NextParent make a walk the Children, Rests and Parents of
// its events.
var (
	_ hints.Children = (*walk)(nil)
	_ hints.Rests    = (*walk)(nil)
	_ hints.Parents  = (*walk)(nil)
)

// Child returns the head of the i-th leaf after the entered one.
func (w *walk) Child(i int) (hints.Extent, bool) {
	id, ok := w.children.id(i, len(w.cursor.branches))
	if !ok || id >= w.pages {
		return hints.Extent{}, false
	}
	return w.extent(w.event.Entered.File, id, 1), true
}

// NextParent returns the i-th branch after the one above the entered leaf.
func (w *walk) NextParent(i int) (hints.Extent, bool) {
	depth := len(w.cursor.branches) - 1
	if depth == 0 {
		return hints.Extent{}, false // the root has no sibling
	}
	id, ok := w.parents.id(i, depth)
	if !ok || id >= w.pages {
		return hints.Extent{}, false
	}
	return w.extent(w.event.Entered.File, id, 1), true
}

// AppendRest appends the overflow pages of the i-th leaf after the entered one,
// or those of them that hold keys.
func (w *walk) AppendRest(dst []hints.Extent, i int, part hints.Part) []hints.Extent {
	id, ok := w.children.id(i, len(w.cursor.branches))
	if !ok {
		return dst
	}
	p, ok := w.sane(id, leafFlag)
	if !ok || p.overflow == 0 {
		return dst
	}
	file := w.event.Entered.File
	if part == hints.PartAll {
		return append(dst, w.extent(file, id+1, uint64(p.overflow)))
	}
	size := int64(w.cursor.pageSize)
	next, last := int64(1), int64(p.overflow) // pages not yet appended
	from := len(dst)
	for e := range uint16(min(int64(p.count), size/elementSize-headerSize/elementSize)) {
		lo, hi := p.keyRange(e)
		lo, hi = max(lo/size, next), min((hi-1)/size, last)
		if lo > hi {
			continue
		}
		if n := len(dst); n > from && dst[n-1].End() == (int64(id)+lo)*size {
			dst[n-1].Len += (hi - lo + 1) * size
		} else if n-from < hints.MaxRest {
			dst = append(dst, w.extent(file, id+uint64(lo), uint64(hi-lo+1)))
		}
		next = hi + 1
	}
	return dst
}

// sane returns a page of the kind that flag says, if it lies in the file with all
// its overflow.
func (w *walk) sane(id uint64, flag uint16) (*page, bool) {
	if id >= w.pages {
		return nil, false
	}
	p := at(w.cursor.data, id, w.cursor.pageSize)
	if !p.sane(id, flag, int64(w.cursor.pageSize)) || uint64(p.overflow) >= w.pages-id {
		return nil, false
	}
	return p, true
}

// lookahead numbers the pages of one level that come after the cursor's own: 0 is
// the next. It remembers the branch that it last looked into, since it is mostly
// asked for one after the other.
type lookahead struct {
	cursor *Cursor
	path   []ref // from the root to the branch looked into
	own    *page // the cursor's branch that path was followed from
	first  int   // number, from the cursor's branch's end, of the branch's first child
	ends   bool  // nothing comes after path
}

func (l *lookahead) reset() { l.own = nil }

// id returns the page id of the i-th page of the given depth after the cursor's;
// depth counts the branches above it.
func (l *lookahead) id(i, depth int) (uint64, bool) {
	c := l.cursor
	if i < 0 {
		return 0, false
	}
	top := &c.branches[depth-1]
	at := c.travel(top, top.index) + 1 + i
	if at < top.count {
		return l.child(top, at)
	}
	at -= top.count
	if l.own != top.page || at < l.first {
		l.path = append(l.path[:0], c.branches[:depth]...)
		l.own, l.first, l.ends = top.page, 0, false
		if !l.advance() {
			return 0, false
		}
	}
	for !l.ends {
		b := &l.path[len(l.path)-1]
		if at < l.first+b.count {
			return l.child(b, at-l.first)
		}
		l.first += b.count
		if !l.advance() {
			break
		}
	}
	return 0, false
}

// advance goes to the next branch of the same depth.
func (l *lookahead) advance() bool {
	c, w := l.cursor, l.cursor.hint.walk
	for level := len(l.path) - 2; level >= 0; level-- {
		r := &l.path[level]
		next := c.travel(r, r.index) + 1
		if next >= r.count {
			continue
		}
		r.index = c.travel(r, next)
		for ; level < len(l.path)-1; level++ {
			r := &l.path[level]
			e, held := c.element(r, r.index)
			if !held {
				l.ends = true
				return false
			}
			p, ok := w.sane(e.id, branchFlag)
			if !ok {
				l.ends = true
				return false
			}
			down := &l.path[level+1]
			down.page, down.count = p, int(p.count)
			down.index = c.travel(down, 0)
		}
		return true
	}
	l.ends = true
	return false
}

// element returns an element of a branch if the file holds it: nobody has checked
// how many the cursor's own branches really have.
func (c *Cursor) element(r *ref, index int) (e *branchElement, held bool) {
	e = r.page.branch(uint16(index))
	return e, c.maps(uintptr(unsafe.Pointer(e)) + elementSize - 1)
}

// child returns the id at a position of a branch, in travel order, unless it lies
// past the key that the caller will stop at.
func (l *lookahead) child(r *ref, at int) (uint64, bool) {
	c := l.cursor
	e, held := c.element(r, c.travel(r, at))
	if !held {
		return 0, false
	}
	if to := c.hint.to; to != nil {
		end := uint(e.pos) + uint(e.ksize)
		if end > maxAlloc || !c.maps(uintptr(unsafe.Pointer(e))+uintptr(end)-1) || bytes.Compare(e.key(), to) >= 0 {
			return 0, false
		}
	}
	return e.id, true
}
