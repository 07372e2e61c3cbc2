// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"github.com/predictio/predictio/hints"
)

// maxTake bounds one Take, in bytes.
const maxTake = 1 << 30

// stage is how far a merge has come in finding its place. Each needs what the one
// before has asked for.
type stage uint8

const (
	lost    stage = iota // the place is not known
	opening              // files are being opened: their tails were asked for
	looking              // index blocks were asked for
	placed               // every cursor stands at its first block
)

// merge is what a scan reads of all runs, in the order of need: a hints.Ahead.
type merge struct {
	store *Store
	view  *view
	dir   hints.Direction
	start []byte // key that the scan starts from; nil: the end that dir comes from
	bound []byte // key at which it ends: excluded forward, included backward; nil: none

	cursors  []cursor
	entering []*cursor // those in whose run something may lie
	heap     []int     // of those placed and not done, by what is due first
	stage    stage
	skip     bool // what is at start has been read

	taken   int64  // bytes, since start
	takes   uint64 // calls of Take, ever
	marks   marks
	leaving []*hints.File
	rest    bool // the rest of the first tables' indexes is still to be asked for
}

// reached reports whether a scan at key has come to a place.
func (m *merge) reached(key, place []byte) bool {
	c := m.store.o.Compare(key, place)
	return c >= 0 && m.dir == hints.Forward || c <= 0 && m.dir == hints.Backward
}

// past reports whether what is due at key lies behind the scan's bound.
func (m *merge) past(key []byte) bool {
	if m.bound == nil {
		return false
	}
	c := m.store.o.Compare(key, m.bound)
	return c >= 0 && m.dir == hints.Forward || c < 0 && m.dir == hints.Backward
}

// reset prepares for a scan from a key. skip: the scan is there already, and has read
// what lies there. It costs next to nothing: often nobody will ask.
func (m *merge) reset(v *view, start []byte, skip bool) {
	m.view, m.skip = v, skip
	m.start = keep(m.start, start)
	m.stage, m.taken, m.rest = lost, 0, false
	m.marks.clear()
	m.heap = m.heap[:0]
}

// renew gives every run a cursor that stands nowhere yet.
func (m *merge) renew() {
	for i := range m.cursors {
		m.cursors[i].leave(m)
	}
	runs := m.view.runs
	if cap(m.cursors) < len(runs) {
		m.cursors = make([]cursor, len(runs))
	}
	m.cursors = m.cursors[:len(runs)]
	for i := range m.cursors {
		m.cursors[i] = cursor{run: runs[i]}
	}
}

// settle lets go of the files that nothing names any more.
func (m *merge) settle() {
	for _, f := range m.leaving {
		f.Release()
	}
	clear(m.leaving)
	m.leaving = m.leaving[:0]
}

// waiting reports whether the merge wants to be asked again at once, since what it
// said last leads to more.
func (m *merge) waiting() bool { return m.stage == opening || m.stage == looking }

// finished reports whether nothing is left to be taken.
func (m *merge) finished() bool { return m.stage == placed && len(m.heap) == 0 }

// Take is the method of hints.Ahead.
func (m *merge) Take(dst []hints.Extent, bytes int64) ([]hints.Extent, int64) {
	before := m.taken
	m.takes++
	m.marks.spacing(bytes)
	if m.stage != placed {
		if dst = m.place(dst); m.stage != placed {
			return dst, 0
		}
		dst = m.heads(dst)
		if h := m.horizon(); h != nil {
			m.marks.add(h, m.taken) // past the heads
		}
	}
	goal := m.taken + max(0, min(bytes, maxTake))
	for m.taken < goal && len(m.heap) > 0 {
		c := &m.cursors[m.heap[0]]
		dst = m.takeFrom(c, dst, m.second(), min(goal-m.taken, m.marks.space))
		m.sink()
		if h := m.horizon(); h != nil {
			m.marks.add(h, m.taken)
		}
	}
	if h := m.horizon(); h != nil && m.taken > before {
		m.marks.end(h, m.taken)
	}
	if m.rest {
		m.rest = false
		dst = m.indexes(dst)
	}
	return dst, m.taken - before
}

// place goes through the stages as far as it can, and appends what the next one waits
// for.
func (m *merge) place(dst []hints.Extent) []hints.Extent {
	from := len(dst)
	if m.stage == lost {
		m.renew()
		m.entering = m.entering[:0]
		for i := range m.cursors {
			c := &m.cursors[i]
			if c.find(m, m.start); !c.done {
				m.entering = append(m.entering, c)
			}
		}
		opens := 0
		side(len(m.entering), func(i int) bool { return !m.entering[i].run[m.entering[i].at].opened() },
			func(i int) { m.entering[i].enter() })
		for _, c := range m.entering {
			if c.fresh {
				opens++
			}
		}
		for _, c := range m.entering {
			if c.fresh {
				dst = appendExtent(dst, c.run[c.at].tail(c.file, min(maxTail, tailBudget/int64(opens))))
				m.rest = true
			}
		}
		if m.stage = opening; len(dst) > from {
			return dst
		}
	}
	if m.stage == opening {
		side(len(m.entering), func(i int) bool { return m.entering[i].run[m.entering[i].at].index.Load() == nil },
			func(i int) { m.entering[i].load() })
		for _, c := range m.entering {
			if c.done {
				continue
			}
			if c.locate(m, m.start) == nil {
				if h := c.index.Partition(c.part); h.Len > 0 {
					dst = append(dst, hints.Extent{File: c.file, Off: h.Off, Len: h.Len})
				}
			}
		}
		if m.stage = looking; len(dst) > from {
			return dst
		}
	}
	for _, c := range m.entering {
		if !c.done {
			c.seek(m, m.start)
		}
	}
	m.stage = placed
	return dst
}

// heads takes the first block of every run: without them the scan can't be
// positioned.
func (m *merge) heads(dst []hints.Extent) []hints.Extent {
	for i := range m.cursors {
		c := &m.cursors[i]
		switch {
		case c.done:
			continue
		case m.skip:
			c.step(m)
		default:
			dst = m.takeFrom(c, dst, nil, 0)
		}
		if !c.done {
			m.push(i)
		}
	}
	return dst
}

// takeFrom takes the next blocks of one cursor. Where they follow on what it took before
// in this Take, that extent becomes longer: many runs take turns.
func (m *merge) takeFrom(c *cursor, dst []hints.Extent, limit []byte, bytes int64) []hints.Extent {
	file, t := c.file, c.run[c.at]
	off, end := c.take(m, limit, bytes)
	m.taken += end - off
	t.hinted(off, end)
	if c.inTake != m.takes || !extend(&dst[c.extent], hints.Extent{File: file, Off: off, Len: end - off}) {
		c.inTake, c.extent = m.takes, len(dst)
		dst = append(dst, hints.Extent{File: file, Off: off, Len: end - off})
	}
	if c.done {
		return dst
	}
	if x, ok := c.look(m); ok {
		dst = appendExtent(dst, x)
	}
	return dst
}

// extend makes an extent longer by another that touches it, and reports whether it does.
func extend(x *hints.Extent, by hints.Extent) bool {
	switch {
	case x.File != by.File:
		return false
	case x.End() == by.Off:
		x.Len += by.Len
	case by.End() == x.Off:
		x.Off, x.Len = by.Off, x.Len+by.Len
	default:
		return false
	}
	return true
}

// appendExtent appends an extent unless it is empty: a file may be.
func appendExtent(dst []hints.Extent, x hints.Extent) []hints.Extent {
	if x.Empty() {
		return dst
	}
	return append(dst, x)
}

// indexes appends what is left of the indexes of the tables that the scan starts in:
// it, and those after it, will look there again.
func (m *merge) indexes(dst []hints.Extent) []hints.Extent {
	for i := range m.cursors {
		c := &m.cursors[i]
		if !c.fresh || c.file == nil || c.index == nil || !c.index.TwoLevel() {
			continue
		}
		from := c.index.Region().Off
		end := c.index.Partition(c.index.Partitions() - 1).End() // values may lie behind
		dst = appendExtent(dst, hints.Extent{File: c.file, Off: from, Len: end - from})
	}
	return dst
}

// catchUp leaves behind what the scan has read by itself. The merge is placed.
func (m *merge) catchUp(key []byte) {
	m.heap = m.heap[:0]
	for i := range m.cursors {
		c := &m.cursors[i]
		if c.done {
			continue
		}
		if c.skip(m, key); !c.done {
			m.push(i)
		}
	}
}

// horizon is the key up to which all was taken; nil: to the scan's end.
func (m *merge) horizon() []byte {
	if len(m.heap) == 0 {
		return nil
	}
	return m.cursors[m.heap[0]].due
}

// before orders two cursors by what is due first.
func (m *merge) before(a, b int) bool {
	x := m.store.o.Compare(m.cursors[a].due, m.cursors[b].due)
	return x < 0 && m.dir == hints.Forward || x > 0 && m.dir == hints.Backward
}

func (m *merge) push(i int) {
	m.heap = append(m.heap, i)
	for at := len(m.heap) - 1; at > 0; {
		up := (at - 1) / 2
		if !m.before(m.heap[at], m.heap[up]) {
			return
		}
		m.heap[at], m.heap[up] = m.heap[up], m.heap[at]
		at = up
	}
}

// sink puts the first cursor, which has moved, in its place.
func (m *merge) sink() {
	if m.cursors[m.heap[0]].done {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	for at := 0; ; {
		down := 2*at + 1
		if down >= len(m.heap) {
			return
		}
		if down+1 < len(m.heap) && m.before(m.heap[down+1], m.heap[down]) {
			down++
		}
		if !m.before(m.heap[down], m.heap[at]) {
			return
		}
		m.heap[at], m.heap[down] = m.heap[down], m.heap[at]
		at = down
	}
}

// second is when the second of the cursors is due; nil if there is one only.
func (m *merge) second() []byte {
	switch len(m.heap) {
	case 0, 1:
		return nil
	case 2:
		return m.cursors[m.heap[1]].due
	}
	if m.before(m.heap[2], m.heap[1]) {
		return m.cursors[m.heap[2]].due
	}
	return m.cursors[m.heap[1]].due
}

// drop gives up everything that was taken hold of.
func (m *merge) drop() {
	for i := range m.cursors {
		m.cursors[i].leave(m)
		m.cursors[i] = cursor{}
	}
	m.settle()
	m.marks.clear()
	m.view, m.stage, m.bound, m.heap = nil, lost, nil, m.heap[:0]
}
