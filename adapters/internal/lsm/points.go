// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"slices"
	"sync/atomic"

	"github.com/predictio/predictio/hints"
)

const (
	// MaxKeys bounds the keys of one Fetch: few, so that what the first ones read is on
	// its way soon.
	MaxKeys = 32
	// maxHint bounds the extents of one event.
	maxHint = 256
	// maxTail bounds what is fetched of a table for its index, in bytes; tailBudget what
	// is fetched of all that are opened for one seek or read.
	maxTail, tailBudget = 256 << 10, 1 << 20
	// fewTables is how many the engine opens as fast alone.
	fewTables = 2
	// calmFetches is how many batches in a row must not have had to wait until batches
	// are no longer looked into.
	calmFetches = 4
)

// points are the hints for point reads, of one goroutine at a time.
type points struct {
	store  *Store
	event  hints.WillNeed
	files  []*hints.File // retained
	places []place
}

// place is a table in which a key may lie.
type place struct {
	key   []byte
	table *table
	file  *hints.File
	index *tableIndex
	part  int
}

// Touch hints what opening the tables costs that a point read of key looks into and
// that nobody has opened yet. It works beside the caller's own read, which looks into one
// table after the other; the caller calls done after that, which waits for no more than
// what is being done for one table. Once all were opened, it costs a look at a counter,
// and done is nil.
func (s *Store) Touch(key []byte) (done func()) {
	if s.untouched.Load() <= 0 {
		return nil
	}
	v := s.current()
	if v == nil {
		return nil
	}
	var tables []*table
	for _, run := range v.runs {
		if t := s.tableOf(run, key); t != nil && t.touch() {
			tables = append(tables, t)
		}
	}
	if len(tables) <= fewTables || !s.wanted() {
		s.letGo(v)
		return nil
	}
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer s.letGo(v)
		defer func() { _ = recover() }() // a sink's, or a file system's: hints are lost
		s.fetchTails(tables, &stop)
	}()
	return func() {
		stop.Store(true)
		<-ended
	}
}

// fetchTails hints what opening tables reads.
func (s *Store) fetchTails(tables []*table, stop *atomic.Bool) {
	p := points{store: s, event: hints.WillNeed{Stream: hints.NewStream()}, files: make([]*hints.File, len(tables))}
	defer p.end()
	for i, t := range tables { // each as soon as it is open: it may be needed next
		if stop.Load() {
			return
		}
		if p.files[i], _ = t.acquire(); p.files[i] != nil {
			p.add(t.tail(p.files[i], min(maxTail, tailBudget/int64(len(tables)))))
			p.flush()
		}
	}
}

// wanted reports whether anybody takes extents: nobody does if hints are switched off.
func (s *Store) wanted() bool {
	a := s.o.Sink.Emit(&hints.WillNeed{})
	return a.Skip < hints.Silent || !a.Sticky
}

// tableOf is the table of a run whose keys key is among, nil if there is none.
func (s *Store) tableOf(run []table, key []byte) *table {
	i, _ := slices.BinarySearchFunc(run, key, func(t table, key []byte) int { return s.o.Compare(t.largest, key) })
	if i == len(run) || s.o.Compare(run[i].smallest, key) > 0 {
		return nil
	}
	return &run[i]
}

// fetches is what batches so far have taught.
type fetches struct {
	calm  atomic.Int32
	waits atomic.Uint64
}

// Calm reports whether batches need no help: those so far never had to wait.
func (s *Store) Calm() bool {
	f := &s.fetches
	waits := s.o.Reads.Waited.Load()
	if waits == f.waits.Swap(waits) {
		return f.calm.Add(1) > calmFetches
	}
	f.calm.Store(0)
	return false
}

// Fetch hints the blocks that getting the keys reads: filters, indexes and data. There
// may be MaxKeys of them, in order. It waits for indexes that no one has read yet, for
// all of them at once.
func (s *Store) Fetch(keys [][]byte) {
	if !s.wanted() {
		return
	}
	s.Reload()
	v := s.current()
	if v == nil {
		return
	}
	defer s.letGo(v)
	p := points{store: s, event: hints.WillNeed{Stream: hints.NewStream()}}
	defer p.end()

	p.open(v, keys)
	p.keep(func(q *place) bool { return q.table.index.Load() == nil }, func(q *place) bool {
		q.index = q.table.load()
		return q.index != nil && q.index.Partitions() > 0
	})
	p.filters()
	p.keep(func(q *place) bool { return q.index.filter.Load() == nil }, func(q *place) bool {
		return q.table.passes(q.index, q.key)
	})
	p.indexes()
	p.keep(func(q *place) bool { return q.index.cached(q.part) == nil }, func(q *place) bool {
		return q.table.block(q.index, q.part) != nil
	})
	p.data()
}

// open finds the tables that each key may lie in, and asks for what opening them
// reads.
func (p *points) open(v *view, keys [][]byte) {
	at := make(map[*tableFile]int)
	var tables []*table
	for _, run := range v.runs {
		for _, key := range keys {
			t := p.store.tableOf(run, key)
			if t == nil {
				continue
			}
			if _, ok := at[t.tableFile]; !ok {
				at[t.tableFile] = len(tables)
				tables = append(tables, t)
			}
			p.places = append(p.places, place{key: key, table: t})
		}
	}
	p.files = make([]*hints.File, len(tables))
	fresh := make([]bool, len(tables))
	side(len(tables), func(i int) bool { return !tables[i].opened() }, func(i int) { p.files[i], fresh[i] = tables[i].acquire() })
	for i, t := range tables {
		if p.files[i] != nil && fresh[i] {
			t.touch()
			p.add(t.tail(p.files[i], 0))
		}
	}
	p.flush()
	p.keep(nil, func(q *place) bool {
		q.file = p.files[at[q.table.tableFile]]
		return q.file != nil
	})
}

// filters asks for the filters that are not in memory.
func (p *points) filters() {
	seen := make(map[*tableIndex]bool)
	for i := range p.places {
		q := &p.places[i]
		if seen[q.index] {
			continue
		}
		seen[q.index] = true
		if _, h, ok := q.index.Filter(); ok && p.store.o.MayContain != nil && q.index.filter.Load() == nil {
			p.add(hints.Extent{File: q.file, Off: h.Off, Len: h.Len})
		}
	}
	p.flush()
}

// indexes asks for the index blocks that are not in memory.
func (p *points) indexes() {
	type block struct {
		index *tableIndex
		part  int
	}
	seen := make(map[block]bool)
	for i := range p.places {
		q := &p.places[i]
		if q.part = q.index.SeekPartition(q.key, p.store.o.Compare); q.part == q.index.Partitions() {
			q.part--
		}
		b := block{q.index, q.part}
		if seen[b] {
			continue
		}
		seen[b] = true
		if h := q.index.Partition(q.part); h.Len > 0 && q.index.cached(q.part) == nil {
			p.add(hints.Extent{File: q.file, Off: h.Off, Len: h.Len})
		}
	}
	p.flush()
}

// data asks for the data blocks.
func (p *points) data() {
	for i := range p.places {
		q := &p.places[i]
		b := q.table.block(q.index, q.part)
		if b == nil || b.Len() == 0 {
			continue
		}
		if at := b.Seek(q.key, p.store.o.Compare); at < b.Len() {
			h := b.Handle(at)
			p.add(hints.Extent{File: q.file, Off: h.Off, Len: h.Len})
		}
	}
	p.flush()
}

// keep calls fn for all places, side by side where many are slow, and drops those for
// which it returns false.
func (p *points) keep(slow, fn func(*place) bool) {
	kept := make([]bool, len(p.places))
	side(len(p.places), func(i int) bool { return slow != nil && slow(&p.places[i]) }, func(i int) { kept[i] = fn(&p.places[i]) })
	list := p.places[:0]
	for i, ok := range kept {
		if ok {
			list = append(list, p.places[i])
		}
	}
	p.places = list
}

func (p *points) add(x hints.Extent) {
	if p.event.Extents = appendExtent(p.event.Extents, x); len(p.event.Extents) >= maxHint {
		p.flush()
	}
}

// flush emits what was added.
func (p *points) flush() {
	if len(p.event.Extents) > 0 {
		p.store.o.Sink.Emit(&p.event)
		p.event.Extents = p.event.Extents[:0]
	}
}

func (p *points) end() {
	p.store.o.Sink.Emit(&hints.StreamEnd{Stream: p.event.Stream})
	for _, f := range p.files {
		if f != nil {
			f.Release()
		}
	}
}
