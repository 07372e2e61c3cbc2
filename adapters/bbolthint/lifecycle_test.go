// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bbolthint_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend/pagecache"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// copyOf copies a shared database into a directory of the test's own.
func copyOf(t *testing.T, p plain, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	copyFile(t, p.path(t), path)
	return path
}

// scansRight checks that a hinted scan gives all that the bare one gives.
func scansRight(t *testing.T, h *bbolthint.DB, db *bolt.DB) {
	t.Helper()
	if err := db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketName)
		bare, hinted := b.Cursor(), h.Cursor(b)
		for n, o := 0, step(t, 0, move{name: "First"}, bare, hinted); o.key != nil; n++ {
			o = step(t, n, move{name: "Next"}, bare, hinted)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAttach: an error says what is wrong, and the DB that comes with it passes
// through.
func TestAttach(t *testing.T) {
	small := plain{records: 200, keySize: 16, valueSize: 100}
	missing := func(err error) bool { return errors.Is(err, os.ErrNotExist) }
	is := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	none := func(err error) bool { return err == nil }
	tests := map[string]struct {
		// spoil is called when the database at path is open.
		spoil  func(t *testing.T, path string)
		want   func(error) bool
		events bool
	}{
		"nothing wrong": {func(*testing.T, string) {}, none, true},
		"renamed over": {func(t *testing.T, path string) {
			other := copyOf(t, small, t.TempDir(), "other")
			if err := os.Rename(other, path); err != nil {
				t.Fatal(err)
			}
		}, is(bbolthint.ErrFileReplaced), false},
		"replaced by a text": {func(t *testing.T, path string) {
			os.Remove(path)
			if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, is(bbolthint.ErrFileReplaced), false},
		"replaced by a directory": {func(t *testing.T, path string) {
			os.Remove(path)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, is(hints.ErrNotRegular), false},
		"removed": {func(t *testing.T, path string) { os.Remove(path) }, missing, false},
		"hard link": {func(t *testing.T, path string) {
			if err := os.Link(path, path+".link"); err != nil {
				t.Fatal(err)
			}
			os.Rename(path+".link", path)
		}, none, true},
		"unreadable": {func(t *testing.T, path string) {
			if os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
		}, is(os.ErrPermission), false},
	}
	for name, test := range tests {
		for _, readOnly := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", readOnly), func(t *testing.T) {
				path := copyOf(t, small, t.TempDir(), "db")
				db := openDB(t, path, &bolt.Options{ReadOnly: readOnly})
				defer db.Close()
				test.spoil(t, path)
				s := &spy{}
				h, err := bbolthint.Attach(db, s)
				if !test.want(err) {
					t.Errorf("%v", err)
				}
				scansRight(t, h, db)
				if (s.events > 0) != test.events {
					t.Errorf("%d events", s.events)
				}
				for range 2 {
					if err := h.Close(); err != nil {
						t.Error(err)
					}
				}
				scansRight(t, h, db)
			})
		}
	}
}

func TestAttachClosed(t *testing.T) {
	db := openDB(t, copyOf(t, manyLeaves, t.TempDir(), "db"), nil)
	db.Close()
	h, err := bbolthint.Attach(db, nil)
	if !errors.Is(err, berrors.ErrDatabaseNotOpen) {
		t.Errorf("%v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestAttachRelativePath(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	copyOf(t, plain{records: 200, keySize: 16, valueSize: 100}, dir, "db")
	t.Chdir(dir)
	db := openDB(t, "db", nil)
	defer db.Close()
	h, err := bbolthint.Attach(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()

	t.Chdir(elsewhere)
	h, err = bbolthint.Attach(db, nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("from elsewhere: %v", err)
	}
	scansRight(t, h, db)

	copyOf(t, plain{records: 200, keySize: 16, valueSize: 100}, elsewhere, "db")
	h, err = bbolthint.Attach(db, nil)
	if !errors.Is(err, bbolthint.ErrFileReplaced) {
		t.Errorf("beside another of that name: %v", err)
	}
	scansRight(t, h, db)
}

func TestAttachTmpfs(t *testing.T) {
	path := filepath.Join(fastDir(t), "db")
	copyFile(t, manyLeaves.path(t), path)
	db := openDB(t, path, nil)
	defer db.Close()
	rt := newRuntime(t, pagecache.New(pagecache.Options{}), treechildren.New())
	defer rt.Close()
	h, err := bbolthint.Attach(db, rt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	scansRight(t, h, db)
}

// TestFormatVersion: bbolt refuses files of another version itself, so that
// ErrUnknownFormat is for versions that a later bbolt will know.
func TestFormatVersion(t *testing.T) {
	path := copyOf(t, plain{records: 200, keySize: 16, valueSize: 100}, t.TempDir(), "db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for id := range 2 { // meta: magic u32, version u32, ..., checksum u64 at 56
		m := data[id*4096+16:]
		binary.NativeEndian.PutUint32(m[4:], 3)
		sum := fnv.New64a()
		sum.Write(m[:56])
		binary.NativeEndian.PutUint64(m[56:], sum.Sum64())
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true}); !errors.Is(err, berrors.ErrVersionMismatch) {
		t.Errorf("%v", err)
		if err == nil {
			_, err = bbolthint.Attach(db, nil)
			t.Errorf("attach: %v", err)
			db.Close()
		}
	}
}

// TestTwoAttached: two adapters over one file don't disturb each other, and one
// that is closed says nothing more.
func TestTwoAttached(t *testing.T) {
	db := openDB(t, manyLeaves.path(t), &bolt.Options{ReadOnly: true})
	defer db.Close()
	var spies [2]*spy
	var hs [2]*bbolthint.DB
	for i := range hs {
		spies[i] = &spy{}
		h, err := bbolthint.Attach(db, spies[i])
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		hs[i] = h
	}
	if err := db.View(func(tx *bolt.Tx) error {
		var c [2]*bbolthint.Cursor
		for i := range c {
			c[i] = hs[i].Cursor(tx.Bucket(bucketName))
			c[i].First()
		}
		next := func(n int) {
			for range n {
				for i := range c {
					c[i].Next()
				}
			}
		}
		next(20)
		if spies[0].events == 0 || spies[0].events != spies[1].events {
			t.Errorf("%d and %d events", spies[0].events, spies[1].events)
		}
		before := spies[0].events
		hs[0].Close()
		next(100)
		if spies[0].events != before {
			t.Errorf("%d events after Close", spies[0].events-before)
		}
		if spies[1].events < before+40 {
			t.Errorf("%d events in the other", spies[1].events)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestMidScan: whatever ends while a scan is under way, the scan goes on.
func TestMidScan(t *testing.T) {
	for name, act := range map[string]func(h *bbolthint.DB, rt *runtime.Runtime){
		"adapter closed": func(h *bbolthint.DB, _ *runtime.Runtime) { h.Close() },
		"runtime closed": func(_ *bbolthint.DB, rt *runtime.Runtime) { rt.Close() },
		"both":           func(h *bbolthint.DB, rt *runtime.Runtime) { rt.Close(); h.Close() },
		"file replaced": func(*bbolthint.DB, *runtime.Runtime) {
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, manyLeaves, t.TempDir(), "db")
			c := newCache()
			c.cold = true
			rt := c.governed(t)
			defer rt.Close()
			view(t, path, rt, func(h *bbolthint.DB, tx *bolt.Tx) {
				b := tx.Bucket(bucketName)
				bare, hinted := b.Cursor(), h.Cursor(b)
				o := step(t, 0, move{name: "First"}, bare, hinted)
				submitted := 0
				for n := 1; o.key != nil; n++ {
					if o = step(t, n, move{name: "Next"}, bare, hinted); n == 300 {
						if name == "file replaced" {
							copyFile(t, longKeys.path(t), path+".new")
							if err := os.Rename(path+".new", path); err != nil {
								t.Fatal(err)
							}
						}
						act(h, rt)
						submitted = len(c.submitted)
					}
				}
				if submitted == 0 {
					t.Error("nothing was submitted before")
				}
				if name != "file replaced" && len(c.submitted) != submitted {
					t.Errorf("%d pages were submitted after", len(c.submitted)-submitted)
				}
			})
		})
	}
}

// TestOtherDatabase: a bucket of another database is walked by bbolt.
func TestOtherDatabase(t *testing.T) {
	s := &spy{}
	view(t, manyLeaves.path(t), s, func(h *bbolthint.DB, _ *bolt.Tx) {
		view(t, longKeys.path(t), nil, func(_ *bbolthint.DB, tx *bolt.Tx) {
			b := tx.Bucket(bucketName)
			bare, hinted := b.Cursor(), h.Cursor(b)
			for n, o := 0, step(t, 0, move{name: "First"}, bare, hinted); o.key != nil; n++ {
				o = step(t, n, move{name: "Next"}, bare, hinted)
			}
		})
	})
	if s.events > 0 {
		t.Errorf("%d events", s.events)
	}
}

// TestGrowth: while readers scan, a writer makes the file grow and move in memory.
func TestGrowth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	create(t, path, 0, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket(bucketName)
		for i := 0; i < 400 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "%08d", i), make([]byte, 500))
		}
		return err
	})
	db := openDB(t, path, &bolt.Options{NoSync: true})
	defer db.Close()
	db.AllocSize = 64 << 10 // grow often
	rt, err := runtime.New(runtime.Options{
		Backend: pagecache.New(pagecache.Options{}), Policies: []policy.Policy{treechildren.New()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	h, err := bbolthint.Attach(db, rt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	first := db.Info().Data

	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				if err := db.View(func(tx *bolt.Tx) error {
					b := tx.Bucket(bucketName)
					bare, hinted := b.Cursor(), h.Cursor(b)
					for n, o := 0, step(t, 0, move{name: "Last"}, bare, hinted); o.key != nil && !t.Failed(); n++ {
						o = step(t, n, move{name: "Prev"}, bare, hinted)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 40 {
		if err := db.Update(func(tx *bolt.Tx) error {
			for j := range 100 {
				if err := tx.Bucket(bucketName).Put(fmt.Appendf(nil, "%08d", 400+i*100+j), make([]byte, 500)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	scansRight(t, h, db)
	if db.Info().Data == first {
		t.Log("the mapping never moved")
	}
}

// TestConcurrent: many cursors at once, over one runtime, in transactions that
// open and close, while another adapter of the file comes and goes.
func TestConcurrent(t *testing.T) {
	for _, procs := range []int{1, max(2, goruntime.NumCPU())} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(procs))
			db := openDB(t, manyLeaves.path(t), &bolt.Options{ReadOnly: true})
			defer db.Close()
			c := newCache()
			rt := c.governed(t)
			defer rt.Close()
			h, err := bbolthint.Attach(db, rt)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 6 {
						if err := db.View(func(tx *bolt.Tx) error {
							b := tx.Bucket(bucketName)
							bare, hinted := b.Cursor(), h.Cursor(b)
							start, turn := "First", "Next"
							if (g+i)%2 == 0 {
								start, turn = "Last", "Prev"
							}
							o := step(t, 0, move{name: start}, bare, hinted)
							for n := 0; n < 150*(1+g) && o.key != nil; n++ {
								o = step(t, n, move{name: turn}, bare, hinted)
							}
							return nil
						}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Go(func() {
				for range 30 {
					other, err := bbolthint.Attach(db, rt)
					if err != nil {
						t.Error(err)
					}
					db.View(func(tx *bolt.Tx) error {
						return other.Scan(tx.Bucket(bucketName), manyLeaves.key(5), manyLeaves.key(60), func(_, _ []byte) error { return nil })
					})
					other.Close()
				}
			})
			wg.Go(func() { // the adapter goes while its cursors are in use
				for range 100 {
					goruntime.Gosched()
				}
				h.Close()
			})
			wg.Wait()
		})
	}
}
