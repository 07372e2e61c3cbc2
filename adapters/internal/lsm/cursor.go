// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"sort"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/sstindex"
)

// cursor is a place in one run: the block that a scan reads next there.
//
// The separators of an index are upper bounds: separator i is >= every key of block i
// and no larger than any of block i+1. So a block lies between its predecessor's separator
// and its own, and a scan needs it no later than at the nearer of the two: due.
type cursor struct {
	run []table
	at  int // table in run

	file  *hints.File // of the table; with a reference
	index *tableIndex
	block *sstindex.Block
	part  int // index block
	next  int // entry in block

	due    []byte // nil: at once
	done   bool   // nothing is left in this run
	beyond bool   // the table after this one has been opened
	fresh  bool   // the table was opened for this scan

	inTake uint64 // the Take that it last took in
	extent int    // there, its last extent
}

// find goes to the table where a scan from key starts, nil being the run's end that
// it starts from, and reads nothing.
func (c *cursor) find(m *merge, key []byte) {
	cmp := m.store.o.Compare
	lo, hi := 0, len(c.run)
	for lo < hi { // the first table that ends at or behind key
		mid := int(uint(lo+hi) / 2)
		if key == nil && m.dir == hints.Forward || key != nil && cmp(c.run[mid].largest, key) >= 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	c.at, c.done, c.due, c.beyond = lo, false, nil, false
	if m.dir == hints.Forward {
		c.done = lo == len(c.run) || m.past(c.run[lo].smallest)
		return
	}
	// Backward: keys below key lie in this table, or all in the one before.
	if lo == len(c.run) || key != nil && cmp(c.run[lo].smallest, key) >= 0 {
		c.at--
	}
	c.done = c.at < 0 || m.past(c.run[c.at].largest)
}

// enter takes hold of the current table's file; fresh: it was opened for this.
func (c *cursor) enter() (fresh bool) {
	c.index, c.block = nil, nil
	c.file, c.fresh = c.run[c.at].acquire()
	if c.file == nil {
		c.done = true
	}
	return c.fresh
}

// leave lets go of the file, once nothing names it any more.
func (c *cursor) leave(m *merge) {
	if c.file != nil {
		m.leaving = append(m.leaving, c.file)
		c.file = nil
	}
	c.index, c.block = nil, nil
}

// load reads the current table's index.
func (c *cursor) load() bool {
	if c.file == nil {
		return false
	}
	if c.index == nil {
		c.index = c.run[c.at].load()
	}
	c.done = c.index == nil || c.index.Partitions() == 0
	return !c.done
}

// locate finds the index block where a scan from key starts in the current table, and
// returns it if it is in memory.
func (c *cursor) locate(m *merge, key []byte) *sstindex.Block {
	key = c.clamp(m, key)
	c.part = c.index.SeekPartition(key, m.store.o.Compare)
	if c.part == c.index.Partitions() {
		c.part--
	}
	return c.index.cached(c.part)
}

// clamp keeps a key inside the current table. The file may go on behind it.
func (c *cursor) clamp(m *merge, key []byte) []byte {
	t, cmp := &c.run[c.at], m.store.o.Compare
	if key == nil {
		if m.dir == hints.Forward {
			return t.smallest
		}
		return t.largest
	}
	if cmp(key, t.smallest) < 0 {
		return t.smallest
	}
	if cmp(key, t.largest) > 0 {
		return t.largest
	}
	return key
}

// seek goes to the block of the current table, in the index block that locate found,
// where a scan from key starts.
func (c *cursor) seek(m *merge, key []byte) {
	c.block = c.run[c.at].block(c.index, c.part)
	if c.block == nil || c.block.Len() == 0 {
		c.done = true
		return
	}
	c.next = min(c.block.Seek(c.clamp(m, key), m.store.o.Compare), c.block.Len()-1)
}

// skip leaves the blocks behind that are due before a key, and the one that the key is in: the
// engine has read them.
func (c *cursor) skip(m *merge, key []byte) {
	if c.due == nil || !m.reached(key, c.due) {
		return
	}
	at := c.at
	c.find(m, key)
	switch {
	case c.done:
		c.leave(m)
		return
	case c.at != at:
		c.leave(m)
		if c.enter(); c.done {
			return
		}
	}
	if !c.load() {
		return
	}
	c.locate(m, key)
	if c.seek(m, key); !c.done {
		c.step(m)
	}
}

// take returns the next stretch of blocks: those of one index block that lie
// together, are due before limit and come to no more than so many bytes, but at least
// one. It goes on behind them.
func (c *cursor) take(m *merge, limit []byte, bytes int64) (off, end int64) {
	first := c.next
	last := c.stretch(m, limit)
	a := c.block.Handle(first)
	if m.dir == hints.Forward {
		last = first + sort.Search(last-first, func(i int) bool { return c.block.Handle(first+1+i).End()-a.Off > bytes })
		off, end = a.Off, c.block.Handle(last).End()
	} else {
		last = first - sort.Search(first-last, func(i int) bool { return a.End()-c.block.Handle(first-1-i).Off > bytes })
		off, end = c.block.Handle(last).Off, a.End()
	}
	c.next = last
	c.step(m)
	return off, end
}

// stretch is the last entry of the current index block that is due before limit, or
// the bound of the scan, or the table's end.
func (c *cursor) stretch(m *merge, limit []byte) int {
	cmp, t := m.store.o.Compare, &c.run[c.at]
	if limit == nil || m.bound != nil && m.reached(limit, m.bound) {
		limit = m.bound
	}
	end := t.largest
	if m.dir == hints.Backward {
		end = t.smallest
	}
	if limit == nil || m.reached(limit, end) {
		limit = end
	}
	// Entries are due, forward, at their predecessor's separator: the first whose own
	// is not below limit is the last to be taken. Backward, they are due at their own.
	i := min(c.block.Seek(limit, cmp), c.block.Len()-1)
	if m.dir == hints.Forward {
		return max(c.next, i)
	}
	return min(c.next, i)
}

// step goes on to the next block, in the next index block or table if need be.
func (c *cursor) step(m *merge) {
	t := &c.run[c.at]
	if m.dir == hints.Forward {
		c.due = c.block.Separator(c.next)
		if c.next++; c.next == c.block.Len() {
			c.part, c.next, c.block = c.part+1, 0, nil
		}
		if c.part == c.index.Partitions() || m.store.o.Compare(c.due, t.largest) > 0 {
			c.turn(m)
			return
		}
	} else if c.next--; c.next < 0 {
		if c.part--; c.part < 0 {
			c.turn(m)
			return
		}
		c.block = nil
	}
	if c.block == nil {
		if c.block = t.block(c.index, c.part); c.block == nil || c.block.Len() == 0 {
			c.done = true
			return
		}
		if m.dir == hints.Backward {
			c.next = c.block.Len() - 1
		}
	}
	if m.dir == hints.Backward {
		if c.due = c.block.Separator(c.next); m.store.o.Compare(c.due, t.smallest) < 0 {
			c.turn(m)
			return
		}
	}
	c.done = m.past(c.due)
}

// turn goes on to the next table.
func (c *cursor) turn(m *merge) {
	c.leave(m)
	c.at += int(m.dir)
	c.beyond = false
	if c.at < 0 || c.at == len(c.run) {
		c.done = true
		return
	}
	t := &c.run[c.at]
	c.due = t.smallest
	if m.dir == hints.Backward {
		c.due = t.largest
	}
	if c.done = m.past(c.due); c.done {
		return
	}
	if c.enter(); c.done || !c.load() {
		return
	}
	c.locate(m, nil)
	c.seek(m, nil)
}

// look opens the table after this one when half of this one is behind the scan, and
// returns the extent with its index: the engine would wait for it in three steps.
func (c *cursor) look(m *merge) (x hints.Extent, ok bool) {
	n := c.at + int(m.dir)
	if c.beyond || c.index == nil || n < 0 || n >= len(c.run) {
		return x, false
	}
	at, of := c.part, c.index.Partitions()
	if of == 1 && c.block != nil {
		at, of = c.next, c.block.Len()
	}
	half, edge := at >= of/2, c.run[n].smallest
	if m.dir == hints.Backward {
		half, edge = at < (of+1)/2, c.run[n].largest
	}
	if !half || m.past(edge) {
		return x, false
	}
	c.beyond = true
	file, fresh := c.run[n].acquire()
	if file == nil {
		return x, false
	}
	m.leaving = append(m.leaving, file)
	return c.run[n].tail(file, maxTail), fresh
}
