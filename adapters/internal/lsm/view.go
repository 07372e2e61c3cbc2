// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"slices"
	"sync/atomic"
)

// table is a part of a file between two keys; mostly all of it.
type table struct {
	*tableFile
	smallest, largest []byte
}

// view is one version of the tree. Iterators hold the one that they started with, as
// the engine's iterators hold their version; its files stay open until the last of
// them lets go.
type view struct {
	runs  [][]table
	files []*tableFile // each once
	refs  atomic.Int64
}

// arrange sorts the tables of all levels into runs, at most MaxRuns.
func (s *Store) arrange(levels [][]TableInfo) *view {
	v := &view{}
	v.refs.Store(1)
	cmp := s.o.Compare
	seen := make(map[uint64]*tableFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(run []table, t TableInfo) []table {
		f := seen[t.File]
		if f == nil {
			if f = s.files[t.File]; f == nil {
				f = &tableFile{store: s, num: t.File}
				s.files[t.File] = f
				s.untouched.Add(1)
			}
			f.views++
			seen[t.File] = f
			v.files = append(v.files, f)
		}
		return append(run, table{f, t.Smallest, t.Largest})
	}
	for level, tables := range levels {
		if len(tables) == 0 {
			continue
		}
		if level > 0 {
			var run []table
			for _, t := range tables {
				run = add(run, t)
			}
			v.runs = append(v.runs, run)
			continue
		}
		sorted := slices.Clone(tables)
		slices.SortStableFunc(sorted, func(a, b TableInfo) int { return cmp(a.Smallest, b.Smallest) })
		var runs [][]table
		for _, t := range sorted {
			i := slices.IndexFunc(runs, func(run []table) bool { return cmp(run[len(run)-1].largest, t.Smallest) < 0 })
			if i < 0 {
				i, runs = len(runs), append(runs, nil)
			}
			runs[i] = add(runs[i], t)
		}
		v.runs = append(v.runs, runs...)
	}
	v.runs = v.runs[max(0, len(v.runs)-MaxRuns):] // level 0 has most runs, and least in them
	return v
}

// reload reads the list of tables.
func (s *Store) reload() error {
	levels, err := s.o.Tables()
	if err != nil {
		return err
	}
	s.setView(s.arrange(levels))
	return nil
}

func (s *Store) setView(v *view) {
	s.mu.Lock()
	if s.closed && v != nil {
		s.mu.Unlock()
		s.drop(v)
		return
	}
	old := s.view.Swap(v)
	s.mu.Unlock()
	if old != nil {
		s.letGo(old)
	}
}

// current returns the newest view with a reference; nil after Close.
func (s *Store) current() *view {
	for {
		v := s.view.Load()
		if v == nil {
			return nil
		}
		for n := v.refs.Load(); n > 0; n = v.refs.Load() {
			if v.refs.CompareAndSwap(n, n+1) {
				return v
			}
		}
		// Replaced since it was loaded.
	}
}

// letGo gives a reference to a view back.
func (s *Store) letGo(v *view) {
	if v.refs.Add(-1) == 0 {
		s.drop(v)
	}
}

// drop closes the files that no other view has.
func (s *Store) drop(v *view) {
	s.mu.Lock()
	var last []*tableFile
	for _, f := range v.files {
		if f.views--; f.views == 0 {
			delete(s.files, f.num)
			f.touch()
			last = append(last, f)
		}
	}
	if len(last) > 0 {
		s.opened = slices.DeleteFunc(s.opened, func(f *tableFile) bool { return f.views == 0 })
	}
	s.mu.Unlock()
	for _, f := range last {
		f.close()
	}
}
