// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bbolthint_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/policy/treechildren"
)

// victimPage is small, so that a small file has a deep tree.
const victimPage = 1024

// victim is the file that gets corrupted: trees of depth 1 to 3, a nested bucket,
// overflow pages.
var victim = sync.OnceValues(func() ([]byte, error) {
	path := filepath.Join(shared(), "victim")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: victimPage, NoSync: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		fill := func(b *bolt.Bucket, err error) func(items, keySize, valueSize int) error {
			return func(items, keySize, valueSize int) error {
				for i := 0; i < items && err == nil; i++ {
					err = b.Put(fmt.Appendf(bytes.Repeat([]byte("k"), keySize-4), "%04d", i), make([]byte, valueSize))
				}
				return err
			}
		}
		plain, err := tx.CreateBucket([]byte("plain"))
		if err != nil {
			return err
		}
		if err := fill(plain, nil)(300, 12, 40); err != nil {
			return err
		}
		if err := fill(plain.CreateBucket([]byte("nested")))(60, 100, 100); err != nil {
			return err
		}
		return fill(tx.CreateBucket([]byte("values")))(12, 20, 3000)
	})
	if err != nil {
		return nil, err
	}
	var pages int64
	if err := db.View(func(tx *bolt.Tx) error { pages = tx.Size(); return nil }); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	return data[:pages], err
})

// damage is one kind of corruption in the language of FuzzCorrupt's input: a
// kind, a page, an element, a value.
type damage struct {
	kind    uint8
	page    uint16
	element uint8
	value   uint32
}

const (
	badChild = iota // the page id of a branch's element
	badCount
	badOverflow
	badFlags
	badPos
	badKeySize
	badValueSize // of a branch's element: the page id
	badID
	badByte   // anywhere in the page
	hugeChild // a page id beyond all files
	truncated
	elementFlags
	numDamages
)

const damageSize = 8

func (d damage) bytes() []byte {
	b := binary.LittleEndian.AppendUint16([]byte{d.kind}, d.page)
	return binary.LittleEndian.AppendUint32(append(b, d.element), d.value)
}

// inflict corrupts a copy of the victim. The meta pages are left alone: bbolt
// refuses those by their checksums.
func inflict(data, damages []byte) []byte {
	data = bytes.Clone(data)
	pages := len(data) / victimPage
	for ; len(damages) >= damageSize && len(data) > 0; damages = damages[damageSize:] {
		page := 2 + int(binary.LittleEndian.Uint16(damages[1:]))%(pages-2)
		if (page+1)*victimPage > len(data) {
			continue
		}
		p := data[page*victimPage : (page+1)*victimPage]
		element := p[16+16*(int(damages[3])%62):]
		value := binary.LittleEndian.Uint32(damages[4:])
		ne := binary.NativeEndian
		switch damages[0] % numDamages {
		case badChild:
			ne.PutUint64(element[8:], uint64(value))
		case badCount:
			ne.PutUint16(p[10:], uint16(value))
		case badOverflow:
			ne.PutUint32(p[12:], value)
		case badFlags:
			ne.PutUint16(p[8:], uint16(value))
		case badPos:
			ne.PutUint32(element[4*(value>>31):], value) // of a branch's element or of a leaf's
		case badKeySize:
			ne.PutUint32(element[4+4*(value>>31):], value)
		case badValueSize:
			ne.PutUint32(element[12:], value)
		case badID:
			ne.PutUint64(p, uint64(value))
		case badByte:
			p[value%victimPage] = byte(value >> 16)
		case hugeChild:
			ne.PutUint64(element[8:], uint64(value)<<uint(damages[3]%33))
		case truncated:
			data = data[:max(4*victimPage, int(value)%len(data))]
		case elementFlags:
			ne.PutUint32(element, value)
		}
	}
	return data
}

// endless reports whether bbolt itself would not end, or take too long, in the
// tree below root: branches that lead back to themselves, or leaves that are all
// empty, which Last never gets out of.
func (im image) endless(root uint64) bool {
	const tooMany = 20_000
	type seen struct {
		open         bool
		paths, items int
	}
	pages := map[uint64]*seen{}
	visits, bad := 0, false
	var down func(id uint64) *seen
	down = func(id uint64) *seen {
		if s := pages[id]; s != nil {
			bad = bad || s.open
			return s
		}
		s := &seen{open: true}
		defer func() { s.open = false }()
		pages[id] = s
		if id >= uint64(len(im.data))/im.pageSize {
			return s
		}
		off := id * im.pageSize
		flags := im.u16(off + 8)
		if im.u64(off) != id || flags != 1 && flags != 2 && flags != 4 && flags != 16 {
			return s
		}
		count := im.u16(off + 10)
		if flags == 2 {
			s.paths, s.items = 1, int(count)
			return s
		}
		child := func(i uint64) bool {
			at := off + 16 + 16*i + 8
			if at+8 > uint64(len(im.data)) || bad {
				return false // a fault
			}
			c := down(im.u64(at))
			s.paths, s.items = s.paths+c.paths, s.items+c.items
			visits++
			bad = bad || s.paths > tooMany || visits > tooMany
			return true
		}
		for i := uint64(0); i < count && child(i); i++ {
		}
		if count == 0 { // bbolt looks at elements 0 and -1 without asking
			child(0)
			child(1<<16 - 1)
		}
		return s
	}
	s := down(root)
	return bad || s.items == 0
}

// tee pulls at random after the first sink has pulled, and wants every event.
type tee struct {
	first hints.Sink
	mean  *meanSink
}

func (s tee) Emit(e hints.Event) hints.Advice {
	s.first.Emit(e)
	s.mean.Emit(e)
	return hints.Advice{}
}

// compareCorrupt runs moves on both cursors over every bucket that can be opened.
func compareCorrupt(t tester, path string, data, moves []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	// Whatever element of a page is looked at lies in the mapping: in the file, or
	// past its end, where reading faults. Outside might be anything.
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, InitialMmapSize: 2 << 20})
	if err != nil {
		return
	}
	defer db.Close()
	rt := newRuntime(t, &noop.Backend{}, treechildren.New())
	defer rt.Close()
	h, err := bbolthint.Attach(db, tee{rt, newMeanSink(uint64(len(moves)))})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer h.Close()
	tx, err := db.Begin(false)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer tx.Rollback()

	// What lies in the file's last page of the system's reads as zeros.
	im := image{append(bytes.Clone(data), make([]byte, (4096-len(data)%4096)%4096)...), victimPage}
	visit := func(b *bolt.Bucket) bool {
		if b == nil || b.Root() == 0 || im.endless(uint64(b.Root())) {
			return false
		}
		compareMoves(t, moves, b.Cursor(), h.Cursor(b))
		return true
	}
	open := func(open func([]byte) *bolt.Bucket, name string) (b *bolt.Bucket) {
		caught(func(*outcome) { b = open([]byte(name)) })
		return b
	}
	if !visit(tx.Cursor().Bucket()) {
		return
	}
	if plain := open(tx.Bucket, "plain"); visit(plain) {
		visit(open(plain.Bucket, "nested"))
	}
	visit(open(tx.Bucket, "values"))
}

// compareMoves interprets bytes as moves, after a panic too.
func compareMoves(t tester, moves []byte, bare, hinted mover) {
	t.Helper()
	for n, b := range moves[:min(len(moves), 300)] {
		var m move
		times := 1
		switch b % 8 {
		case 0:
			m.name = "First"
		case 1:
			m.name = "Last"
		case 2:
			m = move{"Seek", fmt.Appendf(bytes.Repeat([]byte("k"), 8), "%04d", int(b>>3)*10)}
		case 3:
			m = move{"Seek", fmt.Appendf(bytes.Repeat([]byte("k"), 96), "%04d", int(b>>3)*2)}
		case 4:
			m.name = "Prev"
		case 5:
			m.name, times = "Prev", int(b)
		case 6:
			m.name = "Next"
		case 7:
			m.name, times = "Next", int(b)
		}
		for range times {
			want, got := m.attempt(bare), m.attempt(hinted)
			if got.panicked != want.panicked || !sameMemory(got.key, want.key) || !sameMemory(got.value, want.value) {
				t.Fatalf("move %d, %v:\nbare   %v\nhinted %v", n, m, want, got)
			}
			if want.panicked != "" {
				break
			}
		}
	}
}

func sameMemory(a, b []byte) bool {
	return (a == nil) == (b == nil) && len(a) == len(b) && cap(a) == cap(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// fastDir is where files need no disk.
func fastDir(t testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "bbolthint"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// FuzzCorrupt: on a corrupt file both cursors return the same and fail the same.
func FuzzCorrupt(f *testing.F) {
	whole, err := victim()
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(fastDir(f), fmt.Sprint("db", os.Getpid()))
	f.Fuzz(func(t *testing.T, damages, moves []byte) {
		compareCorrupt(t, path, inflict(whole, damages[:min(len(damages), 20*damageSize)]), moves)
	})
}

// TestCorrupt does what FuzzCorrupt does on random input of the interesting kind.
func TestCorrupt(t *testing.T) {
	whole, err := victim()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(fastDir(t), "db")
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	interesting := []uint32{0, 1, 2, 3, 5, 17, 60, 64, 200, 0xffff, 1 << 20, 1 << 30, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		var damages, moves []byte
		for range 1 + rng.IntN(4) {
			d := damage{uint8(rng.IntN(numDamages)), uint16(rng.Uint32()), uint8(rng.IntN(8)), interesting[rng.IntN(len(interesting))]}
			if rng.IntN(3) == 0 {
				d.value = rng.Uint32() >> rng.IntN(32)
			}
			damages = append(damages, d.bytes()...)
		}
		for range 12 {
			moves = append(moves, byte(rng.Uint32()))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed-1)
		}
		compareCorrupt(t, path, inflict(whole, damages), moves)
	}
}

// TestPositionAfterPanic: a cursor that ran into a corrupt page and was recovered is
// where bbolt's is.
func TestPositionAfterPanic(t *testing.T) {
	whole, err := victim()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(fastDir(t), "db")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	var leaves, parents []uint64
	view(t, path, nil, func(_ *bbolthint.DB, tx *bolt.Tx) {
		im := image{whole, victimPage}
		tr := im.walk(uint64(tx.Bucket([]byte("plain")).Root()))
		for _, l := range tr.leaves {
			leaves = append(leaves, l.id)
		}
		for id := range lowest(tr, im) {
			parents = append(parents, id)
		}
		if tr.depth < 3 || len(leaves) < 10 {
			t.Fatalf("depth %d, %d leaves", tr.depth, len(leaves))
		}
	})
	moves := func(names ...string) (out []move) {
		for _, name := range names {
			out = append(out, move{name: name})
		}
		return out
	}
	after := map[string][]move{
		"back":            moves("Prev", "Prev", "Next", "Next"),
		"on":              moves("Next", "Next", "Prev"),
		"into it again":   moves("Prev", "Next", "Next", "Prev"),
		"from the start":  moves("First", "Next", "Prev"),
		"from the end":    moves("Last", "Prev", "Next"),
		"in the middle":   {{"Seek", whole[:0]}, {name: "Next"}, {"Seek", []byte("kkkkkkkk0150")}, {name: "Prev"}, {name: "Next"}},
		"back and on end": moves("Prev", "Next", "Next", "Next", "Next", "Prev", "Prev", "Prev"),
	}
	bad := map[string]uint64{
		"a leaf": leaves[len(leaves)/2], "the second leaf": leaves[1], "the last leaf": leaves[len(leaves)-1],
	}
	for i, id := range parents {
		bad[fmt.Sprint("parent ", i)] = id
	}
	for what, page := range bad {
		if err := os.WriteFile(path, inflict(whole, damage{badID, uint16(page - 2), 0, 7}.bytes()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, way := range [][2]string{{"First", "Next"}, {"Last", "Prev"}} {
			for name, moves := range after {
				t.Run(fmt.Sprint(what, " ", way[1], " ", name), func(t *testing.T) {
					view(t, path, nil, func(h *bbolthint.DB, tx *bolt.Tx) {
						b := tx.Bucket([]byte("plain"))
						bare, hinted := b.Cursor(), h.Cursor(b)
						n, o := 0, step(t, 0, move{name: way[0]}, bare, hinted)
						for ; o.key != nil; n++ {
							o = step(t, n, move{name: way[1]}, bare, hinted)
						}
						if o.panicked == "" {
							t.Fatal("no panic")
						}
						for _, m := range moves {
							n++
							step(t, n, m, bare, hinted)
						}
					})
				})
			}
		}
	}
}

// TestCountBeyondFile: branches that claim more children, or a longer page, than
// the file has room for. A scan that ends before is none the wiser, however far
// ahead is looked.
func TestCountBeyondFile(t *testing.T) {
	whole, err := victim()
	if err != nil {
		t.Fatal(err)
	}
	im := image{whole, victimPage}
	path := filepath.Join(fastDir(t), "db")
	branches, events := 0, 0
	for id := uint64(2); id < uint64(len(whole)/victimPage); id++ {
		if im.u16(id*victimPage+8) != 1 || im.u64(id*victimPage) != id {
			continue
		}
		branches++
		for _, kind := range []uint8{badCount, badOverflow, badPos, badKeySize} {
			data := inflict(whole, damage{kind, uint16(id - 2), 0, 1<<31 - 1}.bytes())
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			db := openDB(t, path, &bolt.Options{ReadOnly: true, InitialMmapSize: 2 << 20})
			pull := &puller{far: 5000}
			h, err := bbolthint.Attach(db, pull)
			if err != nil {
				t.Fatal(err)
			}
			err = db.View(func(tx *bolt.Tx) error {
				for _, path := range [][]string{{"plain"}, {"plain", "nested"}, {"values"}} {
					var b *bolt.Bucket
					caught(func(*outcome) {
						b = tx.Bucket([]byte(path[0]))
						for _, name := range path[1:] {
							b = b.Bucket([]byte(name))
						}
					})
					if b == nil {
						continue // the corrupt branch is on the way to it
					}
					bare, hinted := b.Cursor(), h.Cursor(b)
					step(t, 0, move{name: "First"}, bare, hinted)
					for n := range 11 {
						if step(t, n+1, move{name: "Next"}, bare, hinted).panicked != "" {
							break
						}
					}
					// Where the end is known, it is compared with the keys ahead.
					items := 0
					if o := caught(func(*outcome) {
						h.Scan(b, nil, []byte("z"), func(_, _ []byte) error { items++; return os.ErrClosed })
					}); o.panicked != "" || items != 1 {
						t.Errorf("page %d, damage %d: Scan gave %d items, %v", id, kind, items, o)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			events += pull.events
			h.Close()
			db.Close()
		}
	}
	if branches < 3 || events == 0 {
		t.Fatalf("%d branches, %d events", branches, events)
	}
}

// TestTruncatedUnderWalk: pages ahead go missing while a scan is under way. The
// scan doesn't touch them; the program never notices that its hints did. Here
// nobody has asked for faults to be panics.
func TestTruncatedUnderWalk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	const records = 140
	key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
	create(t, path, 4096, func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bucketName)
		return err
	})
	db := openDB(t, path, &bolt.Options{NoSync: true})
	put := func(from, to int) {
		if err := db.Update(func(tx *bolt.Tx) error {
			for i := from; i < to; i++ {
				if err := tx.Bucket(bucketName).Put(key(i), make([]byte, 1500)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put(0, records/2)
	put(records/2, records)
	put(0, 1) // moves the root to a page that is free by now, before the later leaves
	put(0, 1)
	db.Close()

	pull := &puller{}
	view(t, path, pull, func(h *bbolthint.DB, tx *bolt.Tx) {
		_, tr := treeOf(t, tx.Bucket(bucketName))
		highest := uint64(tx.Bucket(bucketName).Root())
		for _, l := range tr.leaves[:20] {
			highest = max(highest, l.id)
		}
		if last := tr.leaves[len(tr.leaves)-1].id; tr.depth != 2 || last <= highest {
			t.Fatalf("depth %d, last leaf %d, cut after %d", tr.depth, last, highest)
		}
		c := h.Cursor(tx.Bucket(bucketName))
		items := 0
		for k, _ := c.First(); k != nil && items < 30; k, _ = c.Next() {
			if items++; items == 10 {
				if err := os.Truncate(path, int64(highest+1)*4096); err != nil {
					t.Fatal(err)
				}
			}
		}
		if items != 30 {
			t.Errorf("%d items", items)
		}
	})
	if pull.events == 0 {
		t.Error("no events")
	}
}

// puller looks far ahead.
type puller struct {
	events int
	far    int // also this far
}

func (p *puller) Emit(event hints.Event) hints.Advice {
	if e, ok := event.(*hints.TreeChildEnter); ok {
		p.events++
		for i := range 151 {
			if i == 150 {
				i = p.far
			}
			e.Children.Child(i)
			e.Children.(hints.Parents).NextParent(i)
			e.Children.(hints.Rests).AppendRest(nil, i, hints.PartAll)
		}
	}
	return hints.Advice{}
}
