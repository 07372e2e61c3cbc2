// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/predictio/predictio/hints"
)

// newStore is a Store of tables that can't be opened.
func newStore(t *testing.T, tables func() ([][]TableInfo, error)) *Store {
	t.Helper()
	s, err := New(Options{
		Sink: hints.Discard, Compare: bytes.Compare, Tables: tables,
		Open: func(uint64) (File, error) { return nil, errors.New("no file") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChangedIsTakenIn: what is told before Reload is seen after it, and an error keeps
// the tables that were known.
func TestChangedIsTakenIn(t *testing.T) {
	var n atomic.Int64
	s := newStore(t, func() ([][]TableInfo, error) {
		if n.Load() == 5 {
			return nil, errors.New("no list")
		}
		return [][]TableInfo{{{File: uint64(n.Load()), Smallest: []byte("a"), Largest: []byte("b")}}}, nil
	})
	defer s.Close()
	for i, want := range []uint64{0, 1, 2, 3, 4, 4, 6} {
		n.Store(int64(i))
		s.Changed()
		s.Reload()
		if v := s.view.Load(); len(v.files) != 1 || v.files[0].num != want {
			t.Errorf("after change %d: %v", i, v.files)
		}
	}
	if len(s.files) != 1 {
		t.Errorf("%d files are remembered", len(s.files))
	}
}

// TestNewFails: New's error is that of the list.
func TestNewFails(t *testing.T) {
	want := errors.New("no list")
	if s, err := New(Options{Tables: func() ([][]TableInfo, error) { return nil, want }}); s != nil || err != want {
		t.Errorf("New = %v, %v", s, err)
	}
}

// TestNothingAfterClose: the list isn't asked for once Close has returned, and scans that
// are open then keep their view.
func TestNothingAfterClose(t *testing.T) {
	var asked atomic.Int64
	s := newStore(t, func() ([][]TableInfo, error) {
		asked.Add(1)
		return [][]TableInfo{{{File: 1, Smallest: []byte("a"), Largest: []byte("b")}}}, nil
	})
	scan := s.NewScan(0, 0)
	for range 100 {
		s.Changed()
	}
	s.Close()
	s.Close()
	was := asked.Load()
	s.Changed()
	s.Reload()
	if asked.Load() != was {
		t.Error("the list was read after Close")
	}
	if s.NewScan(0, 0) != nil {
		t.Error("a scan after Close")
	}
	clone := scan.Clone()
	for _, c := range []*Scan{scan, clone} {
		c.Seek([]byte("a"), hints.Forward, nil)
		c.Look([]byte("a"), hints.Forward)
		c.Close()
		c.Close()
	}
	if len(s.files) != 0 {
		t.Errorf("%d files are remembered", len(s.files))
	}
}
