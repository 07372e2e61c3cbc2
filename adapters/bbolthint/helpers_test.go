// SPDX-License-Identifier: Apache-2.0

package bbolthint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"unsafe"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// shared holds the databases that several tests read; TestMain removes it.
var shared = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "bbolthint")
	if err != nil {
		panic(err)
	}
	return dir
})

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(shared())
		os.Exit(code)
	}))
}

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ---- Databases.

var bucketName = []byte("records")

func openDB(t tester, path string, o *bolt.Options) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(path, 0o600, o)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return db
}

// create makes a database whose content fill writes in one transaction.
func create(t tester, path string, pageSize int, fill func(tx *bolt.Tx) error) {
	t.Helper()
	db := openDB(t, path, &bolt.Options{PageSize: pageSize, NoSync: true})
	defer db.Close()
	if err := db.Update(fill); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// plain describes a database of one bucket of equal records.
type plain struct {
	records, keySize, valueSize int
	pageSize                    int // 0: the system's
}

// The databases of the tests that count pages. A leaf of them holds 2 or 3 records.
var (
	manyLeaves = plain{records: 1800, keySize: 16, valueSize: 1 << 10}
	longValues = plain{records: 500, keySize: 16, valueSize: 20 << 10}
	longKeys   = plain{records: 300, keySize: 1200, valueSize: 1 << 10}
)

func (p plain) key(i int) []byte {
	k := fmt.Appendf(nil, "%08d", i)
	return append(k, bytes.Repeat([]byte("k"), p.keySize-len(k))...)
}

var plainPaths sync.Map // plain -> func() (string, error)

// path returns the database's file, made at the first call.
func (p plain) path(t tester) string {
	t.Helper()
	makeIt, _ := plainPaths.LoadOrStore(p, sync.OnceValues(func() (string, error) {
		path := filepath.Join(shared(), fmt.Sprintf("%d-%d-%d-%d.db", p.records, p.keySize, p.valueSize, p.pageSize))
		db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: p.pageSize, NoSync: true})
		if err != nil {
			return "", err
		}
		defer db.Close()
		return path, db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket(bucketName)
			if err != nil {
				return err
			}
			rng := rand.New(rand.NewPCG(1, 1))
			value := bytes.Repeat([]byte("v"), p.valueSize)
			for _, i := range rng.Perm(p.records) { // so that neighbours lie apart
				if err := b.Put(p.key(i), value); err != nil {
					return err
				}
			}
			return nil
		})
	}))
	path, err := makeIt.(func() (string, error))()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// view opens a database read-only, attaches sink, and calls fn in a transaction.
func view(t tester, path string, sink hints.Sink, fn func(h *bbolthint.DB, tx *bolt.Tx)) {
	t.Helper()
	db := openDB(t, path, &bolt.Options{ReadOnly: true})
	defer db.Close()
	h, err := bbolthint.Attach(db, sink)
	if err != nil {
		t.Fatalf("attach: %v", err)
	}
	defer h.Close()
	if err := db.View(func(tx *bolt.Tx) error { fn(h, tx); return nil }); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// ---- Pages, read from the file, by code that shares nothing with the subject.

type image struct {
	data     []byte
	pageSize uint64
}

func readImage(t tester, path string, pageSize int) image {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return image{data, uint64(pageSize)}
}

func (im image) u16(at uint64) uint64 { return uint64(binary.NativeEndian.Uint16(im.data[at:])) }
func (im image) u32(at uint64) uint64 { return uint64(binary.NativeEndian.Uint32(im.data[at:])) }
func (im image) u64(at uint64) uint64 { return binary.NativeEndian.Uint64(im.data[at:]) }

type leaf struct {
	id, overflow uint64
	items        int
	keyPages     map[uint64]bool // pages that hold elements or keys
	firstKey     []byte
}

// tree is a bucket's pages, its leaves in key order.
type tree struct {
	leaves   []leaf
	branches map[uint64]uint64 // id: overflow
	depth    int               // pages on the way down, the leaf included
	at       map[uint64]int    // page of a leaf, overflow included: index in leaves
}

// walk reads the tree below root of a sane file.
func (im image) walk(root uint64) *tree {
	t := &tree{branches: map[uint64]uint64{}, at: map[uint64]int{}}
	var down func(id uint64, depth int)
	down = func(id uint64, depth int) {
		t.depth = max(t.depth, depth)
		off := id * im.pageSize
		count, overflow := im.u16(off+10), im.u32(off+12)
		if im.u16(off+8) == 1 {
			t.branches[id] = overflow
			for i := range count {
				down(im.u64(off+16+16*i+8), depth+1)
			}
			return
		}
		l := leaf{id: id, overflow: overflow, items: int(count), keyPages: map[uint64]bool{}}
		for i := range count {
			e := off + 16 + 16*i
			key := e + im.u32(e+4)
			end := key + im.u32(e+8)
			for p := e / im.pageSize; p <= (e+15)/im.pageSize; p++ {
				l.keyPages[p] = true
			}
			for p := key / im.pageSize; p*im.pageSize < end; p++ {
				l.keyPages[p] = true
			}
			if i == 0 {
				l.firstKey = im.data[key:end]
			}
		}
		l.keyPages[id] = true
		for p := id; p <= id+overflow; p++ {
			t.at[p] = len(t.leaves)
		}
		t.leaves = append(t.leaves, l)
	}
	down(root, 1)
	return t
}

// reachable returns all pages of a tree in the system's pages.
func (im image) reachable(t *tree) map[int64]bool {
	m := map[int64]bool{}
	add := func(id, overflow uint64) {
		from, to := int64(id*im.pageSize), int64((id+overflow+1)*im.pageSize)
		for off := from &^ (policy.PageSize - 1); off < to; off += policy.PageSize {
			m[off] = true
		}
	}
	for id, overflow := range t.branches {
		add(id, overflow)
	}
	for _, l := range t.leaves {
		add(l.id, l.overflow)
	}
	return m
}

// treeOf reads a bucket's tree from the file of its database.
func treeOf(t tester, b *bolt.Bucket) (image, *tree) {
	t.Helper()
	db := b.Tx().DB()
	im := readImage(t, db.Path(), db.Info().PageSize)
	return im, im.walk(uint64(b.Root()))
}

// ---- Calls and their outcomes.

// mover is what both cursors are.
type mover interface {
	First() (key, value []byte)
	Last() (key, value []byte)
	Next() (key, value []byte)
	Prev() (key, value []byte)
	Seek(key []byte) (k, v []byte)
	Delete() error
	Bucket() *bolt.Bucket
}

// move is one call.
type move struct {
	name string
	key  []byte // of Seek
}

func (m move) String() string {
	if m.name == "Seek" {
		return fmt.Sprintf("Seek(%.40q len %d)", m.key, len(m.key))
	}
	return m.name
}

type outcome struct {
	key, value []byte
	bucket     *bolt.Bucket
	err        error
	panicked   string
}

// attempt does one call. Panics are caught; faults count as panics.
func (m move) attempt(c mover) (o outcome) {
	return caught(func(o *outcome) {
		switch m.name {
		case "First":
			o.key, o.value = c.First()
		case "Last":
			o.key, o.value = c.Last()
		case "Next":
			o.key, o.value = c.Next()
		case "Prev":
			o.key, o.value = c.Prev()
		case "Seek":
			o.key, o.value = c.Seek(m.key)
		case "Delete":
			o.err = c.Delete()
		case "Bucket":
			o.bucket = c.Bucket()
		default:
			panic("no such move: " + m.name)
		}
	})
}

// caught calls f and turns a panic into an outcome.
func caught(f func(*outcome)) (o outcome) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			o = outcome{panicked: panicText(r)}
		}
	}()
	f(&o)
	return o
}

// panicText is what was said, or "fault".
func panicText(r any) string {
	if err, ok := r.(error); ok && strings.Contains(err.Error(), "invalid memory address") {
		return "fault"
	}
	return fmt.Sprint(r)
}

func (o outcome) String() string {
	if o.panicked != "" {
		return "panic: " + o.panicked
	}
	part := func(b []byte) string {
		if b == nil {
			return "nil"
		}
		return fmt.Sprintf("%p len %d cap %d", unsafe.SliceData(b), len(b), cap(b))
	}
	return fmt.Sprintf("key %s, value %s, bucket %p, error %v", part(o.key), part(o.value), o.bucket, o.err)
}

// same reports whether two outcomes are equal: nil or not, bytes, capacities,
// errors, panics. Slices of the same memory are not read.
func (o outcome) same(p outcome) bool {
	return o.panicked == p.panicked && o.bucket == p.bucket && sameError(o.err, p.err) &&
		sameBytes(o.key, p.key) && sameBytes(o.value, p.value)
}

func sameError(a, b error) bool {
	return errors.Is(a, b) && errors.Is(b, a)
}

func sameBytes(a, b []byte) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) || cap(a) != cap(b) {
		return false
	}
	return unsafe.SliceData(a) == unsafe.SliceData(b) || bytes.Equal(a, b)
}

// ---- Sinks, runtimes and caches.

// spy counts events, and passes them on.
type spy struct {
	to     hints.Sink
	events int
	enters int
}

func (s *spy) Emit(e hints.Event) hints.Advice {
	s.events++
	if e.Kind() == hints.KindTreeChildEnter {
		s.enters++
	}
	if s.to == nil {
		return hints.Advice{}
	}
	return s.to.Emit(e)
}

// noMemory keeps sweeps away: nobody knows how much they might fill.
func noMemory() (memory.State, error) { return memory.State{}, memory.ErrNotSupported }

// newRuntime returns a runtime that never sweeps, without the filter of recent
// requests, so that all that a policy asks for is seen.
func newRuntime(t tester, b backend.Backend, p ...policy.Policy) *runtime.Runtime {
	t.Helper()
	rt, err := runtime.New(runtime.Options{Backend: b, Policies: p, Memory: noMemory, Recent: -1})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return rt
}

// cache plays the page cache: pages by offset, which requests and the test fill.
type cache struct {
	mu        sync.Mutex
	pages     map[int64]bool
	submitted map[int64]int // how often
	demanded  map[int64]bool
	flying    map[int64]bool // submitted last: not there yet
	cold      bool           // nothing counts as resident, and nothing arrives before it is read
}

func newCache() *cache {
	return &cache{pages: map[int64]bool{}, submitted: map[int64]int{}, demanded: map[int64]bool{}, flying: map[int64]bool{}}
}

// backend returns a backend over the cache.
func (c *cache) backend() *record.Backend {
	return &record.Backend{
		Answer: func(reqs []backend.Request) backend.Outcome {
			c.mu.Lock()
			defer c.mu.Unlock()
			out := backend.Outcome{Accepted: len(reqs)}
			clear(c.flying)
			for _, r := range reqs {
				resident := true
				for off := r.Off; off < r.Off+r.Len; off += policy.PageSize {
					c.flying[off] = !c.pages[off]
					resident = resident && c.pages[off]
					c.pages[off] = true
					c.submitted[off]++
				}
				if resident && !c.cold {
					out.Resident++
				}
			}
			return out
		},
		Cached: func(_ *hints.File, off, n int64) (pages int64, known bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if n == 1 && c.flying[off] {
				return 0, true
			}
			if n == 1 && c.cold { // whether it has arrived
				if c.demanded[off&^(policy.PageSize-1)] {
					pages = 1
				}
				return pages, true
			}
			for at := off &^ (policy.PageSize - 1); at < off+n; at += policy.PageSize {
				if c.pages[at] {
					pages++
				}
			}
			return pages, true
		},
	}
}

// demand says that the program read pages of the file, each of the system's size.
func (c *cache) demand(pages ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pages {
		c.pages[int64(p)*policy.PageSize] = true
		c.demanded[int64(p)*policy.PageSize] = true
	}
}

// has reports whether a page of the file was submitted.
func (c *cache) has(page uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.submitted[int64(page)*policy.PageSize] > 0
}

// governed returns a sink of the tree policy over the cache.
func (c *cache) governed(t tester) *runtime.Runtime {
	return newRuntime(t, c.backend(), treechildren.New())
}

// recentRuntime is governed's with the filter of recent requests and a clock that
// stands still, so that the filter forgets nothing by age.
func recentRuntime(t tester, c *cache) *runtime.Runtime {
	t.Helper()
	rt, err := runtime.New(runtime.Options{
		Backend: c.backend(), Policies: []policy.Policy{treechildren.New()}, Memory: noMemory,
		Clock: func() int64 { return 1 },
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return rt
}

// meanSink pulls children at random and answers at random.
type meanSink struct {
	mu     sync.Mutex
	random *rand.Rand
	got    []hints.Extent // reused
}

func newMeanSink(seed uint64) *meanSink { return &meanSink{random: rand.New(rand.NewPCG(seed, 7))} }

func (s *meanSink) Emit(event hints.Event) hints.Advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := event.(*hints.TreeChildEnter); ok {
		for range s.random.IntN(12) {
			i := s.random.IntN(40) - 2
			if s.random.IntN(8) == 0 {
				i = s.random.IntN(3000)
			}
			switch s.random.IntN(4) {
			case 0:
				e.Children.(hints.Parents).NextParent(i)
			case 1:
				part := hints.Part(s.random.IntN(2))
				s.got = e.Children.(hints.Rests).AppendRest(s.got[:0], i, part)
			default:
				e.Children.Child(i)
			}
		}
	}
	skips := []int{0, 0, 1, 3, 100, hints.Silent, -1}
	return hints.Advice{Skip: skips[s.random.IntN(len(skips))], Sticky: s.random.IntN(2) == 0}
}
