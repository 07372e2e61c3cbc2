// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"github.com/predictio/predictio/hints"
)

const (
	// lookRows is how many rows pass between two comparisons with the trigger: a
	// comparison at each would cost more than 1% of a step in the engine's cache.
	lookRows = 8
	// quietRows is the same for a scan that has no trigger, and only looks whether the
	// engine has begun to wait.
	quietRows = 256
	// maxWantRows and maxRowBytes bound what a caller can make us ask for.
	maxWantRows, maxRowBytes = 1 << 30, 1 << 30
	// maxStages bounds the events of one positioning.
	maxStages = 3
)

// Scan follows one iterator and emits its hints. It belongs to the iterator's
// goroutine. The iterator calls Seek before it is positioned, counts a copy of Left down at
// each step, and calls Look when that has come below zero.
type Scan struct {
	// Left is how many steps may pass until Look.
	Left int

	store   *Store
	view    *view
	reading <-chan struct{} // closed when the list of tables is read; nil: it isn't
	merge   merge
	event   hints.KeyScan
	end     hints.StreamEnd
	opened  bool // an event was emitted since the last Seek
	told    bool // an event was emitted

	lower, upper []byte // bounds of the iterator; nil: none
	limit        []byte // of the last Seek, if it is nearer than the bound
	limited      bool   // it is
	want         int64  // bytes; 0: not known
	wantRows     int

	trigger []byte // key at which to emit; nil: none
	misses  uint64 // as of the last event
	steps   int    // that pass until Look
	rows    int    // since Seek
	marked  int    // of these, at the last mark that was passed
	passed  int64  // bytes at that mark
}

// NewScan returns a Scan over the newest tables; nil if the Store is closed. rows and
// bytes are what the program has said that it will read from each place it seeks; 0:
// nothing.
//
// The engine must stay open until the Scan is closed, which its iterator sees to: the
// list of tables is read on the way, if it has changed.
func (s *Store) NewScan(rows int, bytes int64) *Scan {
	reading := s.reread()
	v := s.current()
	if v == nil {
		await(reading)
		return nil
	}
	c := s.newScan(v, rows, bytes)
	c.reading = reading
	return c
}

func (s *Store) newScan(v *view, rows int, bytes int64) *Scan {
	c := s.scans.Get().(*Scan)
	c.store, c.view, c.merge.store = s, v, s
	if c.event.Stream == 0 {
		c.event.Stream = hints.NewStream()
		c.end.Stream = c.event.Stream
	}
	c.event.Store, c.want, c.wantRows, c.told = s.id, max(0, bytes), max(0, rows), false
	s.scanning.Add(1)
	c.idle()
	return c
}

// Clone returns a Scan of the same tables with the same bounds.
func (c *Scan) Clone() *Scan {
	c.view.refs.Add(1) // it has one of this Scan's
	o := c.store.newScan(c.view, c.wantRows, c.want)
	o.Bounds(c.lower, c.upper)
	return o
}

// Close ends the scan; it must not be used after.
func (c *Scan) Close() {
	if c.view == nil {
		return
	}
	c.idle()
	if c.told {
		c.store.o.Sink.Emit(&c.end)
	}
	c.store.scanning.Add(-1)
	c.merge.drop()
	await(c.reading)
	c.reading = nil
	c.store.letGo(c.view)
	c.view, c.lower, c.upper = nil, c.lower[:0], c.upper[:0]
	c.store.scans.Put(c)
}

// Bounds sets the bounds of the iterator, upper excluded; they are copied. What was
// hinted is void until the next Seek.
func (c *Scan) Bounds(lower, upper []byte) {
	c.lower, c.upper = keep(c.lower, lower), keep(c.upper, upper)
	c.idle()
}

// wait lets so many steps pass until Look.
func (c *Scan) wait(steps int) { c.Left, c.steps = steps-1, steps }

// keep copies a bound; nil stays nil.
func keep(dst, bound []byte) []byte {
	if bound == nil {
		return nil
	}
	if len(bound) == 0 {
		return []byte{} // which is a bound
	}
	return append(dst[:0], bound...)
}

// idle stops hinting until the iterator is positioned anew.
func (c *Scan) idle() {
	c.trigger, c.opened = nil, false
	c.wait(quietRows)
}

// Idle says that the iterator was positioned in a way that nothing is known of: hints
// begin if it goes on.
func (c *Scan) Idle() {
	c.idle()
	c.merge.stage, c.rows = lost, 0
	c.wait(lookRows)
}

// Seek says that the iterator is about to be positioned at key, or from the end that
// dir comes from if key is nil, and will go on in that direction at most to limit, if
// that is not nil.
func (c *Scan) Seek(key []byte, dir hints.Direction, limit []byte) {
	if dir == hints.Forward && c.lower != nil && (key == nil || c.store.o.Compare(key, c.lower) < 0) {
		key = c.lower
	}
	if dir == hints.Backward && c.upper != nil && (key == nil || c.store.o.Compare(key, c.upper) > 0) {
		key = c.upper
	}
	if c.inside(key, dir) {
		c.look(key)
		return
	}
	c.begin(key, dir, limit, false)
}

// inside reports whether a key lies in what was taken, ahead of the scan: going there is
// going on.
func (c *Scan) inside(key []byte, dir hints.Direction) bool {
	m := &c.merge
	return c.opened && key != nil && dir == m.dir && m.stage == placed &&
		(m.start == nil || m.reached(key, m.start)) && m.marks.ahead(m.reached, key)
}

// begin emits the first events of a scan. there: the iterator is at key already.
func (c *Scan) begin(key []byte, dir hints.Direction, limit []byte, there bool) {
	c.rows, c.marked, c.passed = 0, 0, 0
	if c.store.hushed() || c.store.view.Load() == nil {
		c.idle()
		return
	}
	m := &c.merge
	m.dir = dir
	bound := c.upper
	if dir == hints.Backward {
		bound = c.lower
	}
	// A limit is where the caller looks up, and may go on: a bound for now.
	if c.limited = limit != nil && (bound == nil || m.reached(bound, limit)); c.limited {
		c.limit = append(c.limit[:0], limit...)
		bound = c.limit
	}
	m.bound = bound
	m.reset(c.view, key, there)
	c.opened, c.told = true, true
	e := &c.event
	e.Start, e.Passed, e.KnownEnd, e.Want = true, 0, bound != nil, c.want
	if c.wantRows > 0 {
		e.Want = int64(min(c.wantRows, maxWantRows)) * min(c.store.rowBytes.Load(), maxRowBytes)
	}
	c.emit()
}

// Look is called when Left steps are over; key is where the iterator stands, nil if
// nowhere, and dir where it went.
func (c *Scan) Look(key []byte, dir hints.Direction) {
	if key == nil { // at a limit, perhaps
		c.wait(max(lookRows, c.steps))
		return
	}
	if !c.opened || dir != c.merge.dir {
		// It was positioned unseen, or has turned.
		c.begin(key, dir, nil, true)
		return
	}
	c.rows += c.steps
	c.look(key)
}

func (c *Scan) look(key []byte) {
	m := &c.merge
	switch {
	case c.store.view.Load() == nil: // closed
		c.idle()
		return
	case c.trigger != nil:
		if !m.reached(key, c.trigger) {
			c.wait(lookRows)
			return
		}
		if bytes, ok := m.marks.pass(func(k []byte) bool { return m.reached(key, k) }); ok {
			c.event.Passed = bytes
			c.measure(bytes)
		}
	case m.finished() && c.limited:
		if m.reached(key, m.bound) {
			c.begin(key, m.dir, nil, true)
		} else {
			c.wait(lookRows)
		}
		return
	case m.finished():
		c.wait(quietRows)
		return
	case c.store.o.Reads.Waited.Load() == c.misses:
		c.wait(quietRows) // nothing has changed that could change the policy's mind
		return
	}
	if h := m.horizon(); m.stage == placed && h != nil && m.reached(key, h) {
		m.catchUp(key)
	} else if m.stage == lost {
		m.reset(c.view, key, true)
	}
	c.event.Start = false
	c.emit()
}

// emit emits the event, again if it leads to more at once, and sets the trigger.
func (c *Scan) emit() {
	m, e, reads := &c.merge, &c.event, c.store.o.Reads
	e.Ahead = m
	var advice hints.Advice
	for range maxStages {
		e.Misses = reads.Waited.Load() // first: there are no more of them than of the others
		e.Reads = reads.All.Load()
		advice = c.store.o.Sink.Emit(e)
		m.settle()
		if e.Start = false; !m.waiting() {
			break
		}
	}
	e.Ahead = nil
	c.misses = e.Misses
	c.trigger = nil
	if advice.Sticky && advice.Skip >= hints.Silent {
		c.store.hush(e.Misses)
	}
	c.wait(quietRows)
	if m.stage == placed && advice.Skip < hints.Silent {
		if c.trigger = m.marks.at(e.Passed + int64(advice.Skip)); c.trigger == nil {
			c.trigger = m.marks.furthest()
		}
		if c.trigger != nil || c.limited {
			c.wait(lookRows)
		}
	}
}

// measure learns what a row takes.
func (c *Scan) measure(bytes int64) {
	rows := c.rows - c.marked
	if rows < 4*lookRows {
		return
	}
	now := (bytes - c.passed) / int64(rows)
	c.marked, c.passed = c.rows, bytes
	if was := c.store.rowBytes.Load(); was > 0 {
		now = (7*was + now) / 8
	}
	c.store.rowBytes.Store(max(1, now))
}

// hush takes note that nobody wants to hear of scans until the count of waits differs
// from the one given.
func (s *Store) hush(waits uint64) { s.hushedAt.Store(waits + 1) }

func (s *Store) hushed() bool {
	at := s.hushedAt.Load()
	return at != 0 && at == s.o.Reads.Waited.Load()+1
}
