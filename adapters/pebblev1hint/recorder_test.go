// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble"

	"github.com/predictio/predictio/adapters/pebblev1hint"
	"github.com/predictio/predictio/hints"
)

// wait is a short while.
func wait() { time.Sleep(2 * time.Millisecond) }

// recorder is a sink that takes some bytes whenever less than half of them is left.
type recorder struct {
	mu      sync.Mutex
	window  int64
	walks   []*walk // one for each Start, in order
	current map[uint64]*walk
	wills   []extent // of WillNeed
	events  int
	reads   []hints.FileAccess
	broken  []string
}

// walk is what was taken between two Starts of a stream.
type walk struct {
	knownEnd bool
	want     int64
	taken    int64
	passed   int64
	atStart  int // of extents: those taken by the event of the start
	events   int
	extents  []extent
	ended    bool
	left     []int64 // bytes ahead of the scan, at each refill
}

// extent is a part of a file, known by its inode.
type extent struct {
	ino      uint64
	from, to int64
	size     int64 // of the file
}

func newRecorder(window int64) *recorder {
	return &recorder{window: window, current: make(map[uint64]*walk)}
}

func (r *recorder) extents(list []hints.Extent) (all []extent) {
	for _, x := range list {
		if x.Empty() {
			r.broken = append(r.broken, "an empty extent")
			continue
		}
		_, ino := x.File.Identity()
		if x.End() > x.File.Size() {
			r.broken = append(r.broken, "an extent behind its file's end")
		}
		all = append(all, extent{ino, x.Off, x.End(), x.File.Size()})
	}
	return all
}

func (r *recorder) Emit(e hints.Event) hints.Advice {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	switch e := e.(type) {
	case *hints.WillNeed:
		r.wills = append(r.wills, r.extents(e.Extents)...)
	case *hints.FileAccess:
		r.reads = append(r.reads, *e)
	case *hints.StreamEnd:
		delete(r.current, e.Stream)
	case *hints.KeyScan:
		w := r.current[e.Stream]
		if e.Start || w == nil {
			if !e.Start {
				r.broken = append(r.broken, "a stream that begins without a Start")
			}
			w = &walk{knownEnd: e.KnownEnd, want: e.Want}
			r.current[e.Stream], r.walks = w, append(r.walks, w)
		}
		w.events++
		if e.Passed < w.passed {
			r.broken = append(r.broken, "Passed goes back")
		}
		if e.Passed > w.taken {
			r.broken = append(r.broken, "more was passed than taken")
		}
		if e.Misses > e.Reads {
			r.broken = append(r.broken, "more misses than reads")
		}
		w.passed = e.Passed
		if left := w.taken - w.passed; !w.ended && left <= r.window/2 {
			got, bytes := e.Ahead.Take(nil, r.window-left)
			if bytes < 0 {
				r.broken = append(r.broken, "less than nothing was taken")
			}
			if !e.Start {
				w.left = append(w.left, left)
			}
			w.taken += bytes
			w.ended = len(got) == 0
			w.extents = append(w.extents, r.extents(got)...)
		}
		if w.taken > 0 && w.atStart == 0 {
			w.atStart = len(w.extents)
		}
		return hints.Advice{Skip: int(max(0, w.taken-w.passed-r.window/2))}
	}
	return hints.Advice{}
}

// reset forgets all.
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walks, r.wills, r.reads, r.events = nil, nil, nil, 0
}

func (r *recorder) lastWalk(t tester) *walk {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.broken {
		t.Errorf("%s", b)
	}
	r.broken = nil
	if len(r.walks) == 0 {
		return &walk{}
	}
	return r.walks[len(r.walks)-1]
}

// scan scans all between the bounds and returns its walk.
func (r *recorder) scan(t tester, d *database, o *pebble.IterOptions, so pebblev1hint.ScanOptions, start, step func(mover) any) *walk {
	t.Helper()
	r.reset()
	p := newPair(t, d.h, d, o, so)
	defer p.close(t)
	p.move(t, "start", start)
	p.scan(t, "step", step)
	return r.lastWalk(t)
}

// ---- What ought to be asked for.

// tableBlock is a table's block.
type tableBlock struct {
	ino      uint64
	from, to int64
}

// table is one of the database's.
type table struct {
	ino               uint64
	level             int
	smallest, largest []byte
	virtual           bool
	blocks            []span
}

// tables are the live ones, with their blocks.
func (d *database) tables(t tester) (all []table) {
	t.Helper()
	levels, err := d.SSTables()
	must(t, err)
	for level, list := range levels {
		for _, x := range list {
			path := d.path(uint64(x.BackingSSTNum))
			info, err := os.Stat(path)
			must(t, err)
			blocks, _ := dataBlocks(t, path, d.o)
			all = append(all, table{
				ino: info.Sys().(*syscall.Stat_t).Ino, level: level, virtual: x.Virtual,
				smallest: x.Smallest.UserKey, largest: x.Largest.UserKey, blocks: blocks,
			})
		}
	}
	return all
}

func (d *database) compare(a, b []byte) int {
	if d.o.Comparer == nil {
		return pebble.DefaultComparer.Compare(a, b)
	}
	return d.o.Comparer.Compare(a, b)
}

// covered counts how often each block of the tables was asked for, and the bytes that
// were asked for in the tables' data. What reaches to a file's end is asked for because of
// the index there.
func (w *walk) covered(tables []table) (times map[tableBlock]int, bytes int64) {
	times = make(map[tableBlock]int)
	seen := make(map[uint64]bool)
	for _, tb := range tables {
		if seen[tb.ino] || len(tb.blocks) == 0 {
			continue
		}
		seen[tb.ino] = true
		end := tb.blocks[len(tb.blocks)-1].to
		for _, b := range tb.blocks {
			times[tableBlock{tb.ino, b.from, b.to}] = 0
		}
		for _, x := range w.extents {
			if x.ino != tb.ino || x.from >= end || x.to == x.size {
				continue
			}
			bytes += min(x.to, end) - x.from
			i, _ := slices.BinarySearchFunc(tb.blocks, x.from, func(b span, off int64) int { return cmp.Compare(b.from, off) })
			for ; i < len(tb.blocks) && tb.blocks[i].to <= x.to; i++ {
				times[tableBlock{tb.ino, tb.blocks[i].from, tb.blocks[i].to}]++
			}
		}
	}
	return times, bytes
}

// all checks that a scan has asked for each block of each table between the bounds
// once, and for little more.
func (w *walk) all(t *testing.T, name string, d *database, lower, upper []byte) {
	t.Helper()
	tables := slices.DeleteFunc(d.tables(t), func(x table) bool {
		return upper != nil && d.compare(x.smallest, upper) >= 0 || lower != nil && d.compare(x.largest, lower) < 0
	})
	times, bytes := w.covered(tables)
	blocks, missing, twice := 0, 0, 0
	var size int64
	virtual := make(map[uint64]int)
	for _, x := range tables {
		if x.virtual {
			virtual[x.ino]++
			continue
		}
		for _, b := range x.blocks {
			blocks++
			size += b.to - b.from
			switch times[tableBlock{x.ino, b.from, b.to}] {
			case 1:
			case 0:
				missing++
			default:
				twice++
			}
		}
	}
	if bounded := lower != nil || upper != nil; !bounded && missing > 0 || twice > 0 || blocks == 0 && len(virtual) == 0 {
		t.Errorf("%s: of %d blocks %d were not asked for, %d more than once", name, blocks, missing, twice)
	}
	if len(virtual) == 0 && bytes > size+size/50 {
		t.Errorf("%s: %d bytes were asked for, the tables have %d", name, bytes, size)
	}
}

// asked is how many extents of WillNeed there were.
func (r *recorder) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wills)
}
