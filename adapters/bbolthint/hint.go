// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"runtime"
	"runtime/debug"

	"github.com/predictio/predictio/hints"
)

// start is how a cursor was positioned.
type start uint8

const (
	fromSeek start = iota
	fromFirst
	fromLast
)

// hinter is what a cursor knows of its walk from leaf to leaf. It says nothing
// until the first crossing: a lone Seek costs nobody anything.
type hinter struct {
	skip   int  // crossings that may pass without an event
	sticky bool // skip holds across new positions

	start   start
	turned  bool // the walk changed direction since
	fresh   bool // positioned since the last event
	dir     hints.Direction
	pending int   // crossings since the last event
	visited int64 // pages entered since
	weighed int64 // the same, no leaf counting for more than maxWeight

	certain bool   // the caller will read everything
	to      []byte // the caller will stop before this key; nil: at the end

	walk *walk // nil until the first event
}

// walk is what events need; most cursors never get one.
type walk struct {
	stream   uint64
	live     bool // the sink has state for the stream
	event    hints.TreeChildEnter
	end      hints.StreamEnd
	children lookahead
	parents  lookahead
	cursor   *Cursor
	pages    uint64  // of the file, as this transaction sees it
	began    float64 // position in the tree when the walk was positioned, 0 to 1
}

// begin notes that the cursor is about to be positioned anew.
func (c *Cursor) begin(s start) {
	h := &c.hint
	h.start, h.turned, h.fresh = s, false, true
	h.pending, h.visited, h.weighed = 0, 0, 0
	h.dir = hints.Forward
	if s == fromLast {
		h.dir = hints.Backward
	}
	if !h.sticky {
		h.skip = 0
	}
}

// crossing notes that the walk goes from a leaf to the one that the branches now
// point to, and has not touched that yet.
func (c *Cursor) crossing(left *page, dir hints.Direction) {
	h := &c.hint
	if dir != h.dir {
		h.dir, h.turned, h.fresh = dir, true, true
		h.pending, h.visited, h.weighed = 0, 0, 0
		if !h.sticky {
			h.skip = 1 // a step back over a leaf's edge is no walk yet
		}
	}
	h.pending++
	if h.skip > 0 {
		h.skip--
		return
	}
	r := &c.branches[len(c.branches)-1]
	c.emit(r.page.branch(uint16(r.index)).id, left)
}

// crossed notes that the new leaf was entered.
func (c *Cursor) crossed() {
	pages := int64(c.leaf.overflow) + 1
	c.hint.visited += pages
	c.hint.weighed += min(pages, maxWeight)
}

// maxWeight is how many pages a leaf counts for when the tree's size is estimated: a
// few huge values must not make a small bucket look like the whole file.
const maxWeight = 8

// eager sends the first event at once: the caller has said what it will read.
func (c *Cursor) eager() {
	if c.leaf != nil && len(c.branches) > 0 {
		c.hint.pending = 1
		c.crossed()
		c.emit(c.leaf.id, nil)
	}
}

// atEnd notes that the walk has reached the tree's end.
func (c *Cursor) atEnd() {
	if h := &c.hint; h.start == fromFirst && h.dir == hints.Forward && !h.turned && len(c.branches) > 0 {
		c.db.markWhole(uint64(c.bucket.Root()))
	}
	c.finish()
}

// finish tells the sink that the walk is over.
func (c *Cursor) finish() {
	if w := c.hint.walk; w != nil && w.live {
		w.live = false
		c.hint.fresh = true
		w.end.Stream = w.stream
		c.db.sink.Emit(&w.end)
	}
}

// emit sends an event: the walk is about to enter the leaf with this id.
func (c *Cursor) emit(entering uint64, left *page) {
	h := &c.hint
	file := c.db.file
	// Another DB over the same file may keep that open.
	if c.db.closed.Load() || !file.Retain() {
		h.skip, h.sticky = hints.Silent, true
		return
	}
	defer file.Release()

	w := h.walk
	if w == nil {
		w = &walk{stream: hints.NewStream(), cursor: c}
		w.children.cursor, w.parents.cursor = c, c
		h.walk = w
	}
	w.live = true
	// Looking around touches pages that the walk may never come to, or come back to.
	// If one can't be read, that is not the program's business: it reads on without
	// hints.
	defer c.recoverFault(debug.SetPanicOnFault(true))
	if h.fresh {
		w.restart(file)
	}
	w.describe(file, entering, left)
	advice := c.db.sink.Emit(&w.event)
	h.skip, h.sticky = advice.Skip, advice.Sticky
	h.pending, h.fresh = 0, false
}

// recoverFault turns a fault in the mapping into silence; old is the setting to
// go back to.
func (c *Cursor) recoverFault(old bool) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		if fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		}); !ok {
			panic(r)
		} else if !c.maps(fault.Addr()) {
			panic(r)
		}
		c.hint.skip, c.hint.sticky = hints.Silent, true
	}
}

// maps reports whether an address is inside the database's mapping.
func (c *Cursor) maps(addr uintptr) bool {
	base := c.base()
	return addr >= base && addr-base < uintptr(c.hint.walk.pages*c.pageSize)
}

// restart looks at the file anew for a walk that was positioned.
func (w *walk) restart(file *hints.File) {
	c := w.cursor
	size := c.tx.Size()
	if size > file.Size() {
		// A file that is shorter than its meta page says has pages that can't be
		// read; nobody is led there by a hint.
		size = min(size, file.Refresh())
	}
	w.pages = uint64(size) / c.pageSize
	w.began = c.progress()
	w.children.reset()
	w.parents.reset()
}

// describe fills in the event.
func (w *walk) describe(file *hints.File, entering uint64, left *page) {
	c, h := w.cursor, &w.cursor.hint
	top := &c.branches[len(c.branches)-1]
	w.event = hints.TreeChildEnter{
		Stream:    w.stream,
		Parent:    w.extent(file, top.page.id, 1),
		Index:     c.travel(top, top.index),
		Fanout:    top.count,
		Dir:       h.dir,
		Origin:    w.origin(),
		Start:     h.fresh,
		KnownEnd:  h.certain || h.to != nil,
		Crossed:   h.pending,
		Visited:   h.visited * int64(c.pageSize),
		TreeBytes: w.treeBytes(),
		Entered:   w.extent(file, entering, 1),
		Children:  w,
	}
	if left != nil && left.valuesLast(int64(c.pageSize)) {
		w.event.LeftTail = w.extent(file, left.id+uint64(left.overflow), 1)
	}
}

func (w *walk) origin() hints.Origin {
	h := &w.cursor.hint
	switch {
	case h.certain:
		return hints.Certain
	case h.start == fromSeek || h.turned:
		return hints.FromSeek
	case w.cursor.db.readWhole(uint64(w.cursor.bucket.Root())):
		return hints.Again
	}
	return hints.FromEnd
}

// extent is a run of pages.
func (w *walk) extent(file *hints.File, id, pages uint64) hints.Extent {
	size := w.cursor.pageSize
	return hints.Extent{File: file, Off: int64(id * size), Len: int64(pages * size)}
}

// travel turns a position in a branch into one in the direction of the walk, and
// back.
func (c *Cursor) travel(r *ref, index int) int {
	if c.hint.dir == hints.Backward {
		return r.count - 1 - index
	}
	return index
}

// progress is where in the tree the cursor is, 0 at the walk's end behind it to 1
// at the one ahead: each branch's position counts as a share of its parent's.
func (c *Cursor) progress() float64 {
	at, share := 0.0, 1.0
	for i := range c.branches {
		r := &c.branches[i]
		share /= float64(max(1, r.count))
		at += share * float64(c.travel(r, r.index))
	}
	return at
}

// minVisited is how many pages must be visited before they say more of the tree's
// size than the fan-outs on the way down do.
const minVisited = 256

// treeBytes estimates the tree's size.
func (w *walk) treeBytes() int64 {
	c := w.cursor
	size := float64(c.pageSize)
	if done := c.progress() - w.began; c.hint.weighed >= minVisited && done > 0 {
		return int64(min(float64(c.hint.weighed)/done, float64(w.pages)) * size)
	}
	leaves := 1.0
	for i := range c.branches {
		leaves *= float64(c.branches[i].count)
	}
	if c.leaf != nil {
		leaves *= min(float64(c.leaf.overflow)+1, maxWeight)
	}
	return int64(min(leaves, float64(w.pages)) * size)
}
