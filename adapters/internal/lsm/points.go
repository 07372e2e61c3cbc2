// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/predictio/predictio/hints"
)

const (
	// MaxKeys bounds the keys of one Fetch.
	MaxKeys = 128
	// maxHint bounds the extents of one event.
	maxHint = 256
	// maxTail bounds what is fetched of a table for one point read, in bytes.
	maxTail = 256 << 10
	// loaders bounds the goroutines that read indexes which were asked for.
	loaders = 8
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
// that nobody has opened yet. It costs a look at a flag once all were.
func (s *Store) Touch(key []byte) {
	v := s.view.Load()
	if v == nil || v.touched.Load() {
		return
	}
	if v = s.current(); v == nil {
		return
	}
	defer s.letGo(v)
	p := points{store: s, event: hints.WillNeed{Stream: hints.NewStream()}}
	defer p.end()
	for _, run := range v.runs {
		t := s.tableOf(run, key)
		if t == nil || t.touched.Load() {
			continue
		}
		if file, fresh := t.acquire(); file != nil {
			p.files = append(p.files, file)
			if fresh {
				p.add(t.pointTail(file))
			}
		}
	}
	p.flush()
	if !slices.ContainsFunc(v.files, func(f *tableFile) bool { return !f.touched.Load() && !f.failed.Load() }) {
		v.touched.Store(true)
	}
}

// pointTail is the extent that opening a table and looking a key up in it reads: with
// the filter, before the indexes.
func (t *tableFile) pointTail(file *hints.File) hints.Extent {
	x := t.wholeTail(file)
	if x.Len > maxTail {
		x.Off, x.Len = x.End()-maxTail, maxTail
	}
	return x
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
	v := s.current()
	if v == nil {
		return
	}
	defer s.letGo(v)
	p := points{store: s, event: hints.WillNeed{Stream: hints.NewStream()}}
	defer p.end()

	p.open(v, keys)
	p.each(func(q *place) bool {
		q.index = q.table.load()
		return q.index != nil && q.index.Partitions() > 0
	})
	p.lookInto()
	p.each(func(q *place) bool {
		return q.table.passes(q.index, q.key) && q.table.block(q.index, q.part) != nil
	})
	p.data()
}

// open finds the tables that each key may lie in, and asks for what opening them
// reads.
func (p *points) open(v *view, keys [][]byte) {
	seen := make(map[*tableFile]*hints.File)
	for _, run := range v.runs {
		for _, key := range keys {
			t := p.store.tableOf(run, key)
			if t == nil {
				continue
			}
			file, known := seen[t.tableFile]
			if !known {
				var fresh bool
				if file, fresh = t.acquire(); file != nil {
					p.files = append(p.files, file)
					if fresh {
						p.add(t.pointTail(file))
					}
				}
				seen[t.tableFile] = file
			}
			if file != nil {
				p.places = append(p.places, place{key: key, table: t, file: file})
			}
		}
	}
	p.flush()
}

// lookInto asks for the index blocks and filters that are not in memory.
func (p *points) lookInto() {
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
		if b := (block{q.index, q.part}); !seen[b] {
			seen[b] = true
			if h := q.index.Partition(q.part); h.Len > 0 && q.index.cached(q.part) == nil {
				p.add(hints.Extent{File: q.file, Off: h.Off, Len: h.Len})
			}
		}
		if b := (block{q.index, -1}); !seen[b] {
			seen[b] = true
			if _, h, ok := q.index.Filter(); ok && p.store.o.MayContain != nil && q.index.filter.Load() == nil {
				p.add(hints.Extent{File: q.file, Off: h.Off, Len: h.Len})
			}
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

// each calls fn for all places, from several goroutines where there is something to
// wait for, and keeps those for which it returns true.
func (p *points) each(fn func(*place) bool) {
	keep := make([]bool, len(p.places))
	n := min(loaders, len(p.places), max(2, 2*runtime.GOMAXPROCS(0)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(p.places) {
					return
				}
				keep[i] = fn(&p.places[i])
			}
		})
	}
	wg.Wait()
	kept := p.places[:0]
	for i, ok := range keep {
		if ok {
			kept = append(kept, p.places[i])
		}
	}
	p.places = kept
}

func (p *points) add(x hints.Extent) {
	if p.event.Extents = append(p.event.Extents, x); len(p.event.Extents) >= maxHint {
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
	for _, f := range p.files {
		f.Release()
	}
}
