// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble"
	"go.uber.org/goleak"

	"github.com/predictio/predictio/adapters/pebblev1hint"
	"github.com/predictio/predictio/hints"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// quiet is a logger that says nothing; what is fatal is.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

// mute is a logger for which nothing is fatal, so that damage becomes an error.
type mute struct{ quiet }

func (mute) Fatalf(string, ...any) {}

// span is [from, to) of a file.
type span struct{ from, to int64 }

// ---- Comparers.

func splitSuffixed(k []byte) int {
	if i := bytes.IndexByte(k, '@'); i >= 0 {
		return i
	}
	return len(k)
}

func compareSuffixes(a, b []byte) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) - len(b)
	}
	return bytes.Compare(b, a)
}

func compareSuffixed(a, b []byte) int {
	i, j := splitSuffixed(a), splitSuffixed(b)
	if c := bytes.Compare(a[:i], b[:j]); c != 0 {
		return c
	}
	return compareSuffixes(a[i:], b[j:])
}

func separateSuffixed(dst, a, b []byte) []byte {
	pa, pb := a[:splitSuffixed(a)], b[:splitSuffixed(b)]
	if bytes.Equal(pa, pb) {
		return append(dst, a...)
	}
	n := len(dst)
	if dst = pebble.DefaultComparer.Separator(dst, pa, pb); bytes.Equal(dst[n:], pa) {
		return append(dst[:n], a...)
	}
	return dst
}

func succeedSuffixed(dst, a []byte) []byte {
	pa, n := a[:splitSuffixed(a)], len(dst)
	if dst = pebble.DefaultComparer.Successor(dst, pa); bytes.Equal(dst[n:], pa) {
		return append(dst[:n], a...)
	}
	return dst
}

// ---- Databases.

// database is an open one.
type database struct {
	*pebble.DB
	dir string
	o   *pebble.Options
	h   *pebblev1hint.Hints
}

// open opens a database in dir with hints into sink.
func open(t tester, dir string, o *pebble.Options, sink hints.Sink) *database {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet{}
	}
	d := &database{dir: dir, o: o, h: pebblev1hint.Attach(o, sink)}
	db, err := pebble.Open(dir, o)
	must(t, err)
	d.DB = db
	must(t, d.h.Bind(db, dir))
	return d
}

// close closes the hints, then the database.
func (d *database) close(t tester) {
	t.Helper()
	must(t, d.h.Close())
	must(t, d.DB.Close())
}

// settle waits until the hints know of all tables.
func (d *database) settle() { d.h.Settle() }

// still are options of a database that changes only when it is told to.
func still(l layout) *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, DisableAutomaticCompactions: true,
		MemTableSize: 16 << 20, L0CompactionThreshold: 1000, L0StopWritesThreshold: 2000,
		Logger: quiet{},
	}
	l.set(o)
	return o
}

func key(i int) []byte { return fmt.Appendf(nil, "key-%06d", i) }

// value is noise: it doesn't get smaller.
func value(i, n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	v := make([]byte, n)
	rand.NewChaCha8(seed).Read(v)
	return v
}

// put writes rows [from, to) at a step, with values of n bytes, and flushes them.
func (d *database) put(t tester, from, to, step, n int) {
	t.Helper()
	for i := from; i < to; i += step {
		must(t, d.Set(key(i), value(i, n), pebble.NoSync))
	}
	must(t, d.Flush())
}

// path is the name of a table's file.
func (d *database) path(num uint64) string { return filepath.Join(d.dir, fmt.Sprintf("%06d.sst", num)) }

// copyDir copies the files of a closed database.
func copyDir(t tester, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(to, 0o777))
	must(t, os.CopyFS(to, os.DirFS(from)))
}

// warm opens every table.
func (d *database) warm(t tester) {
	t.Helper()
	it, err := d.NewIter(nil)
	must(t, err)
	for it.First(); it.Valid(); it.Next() {
	}
	must(t, it.Close())
}

// descriptors is how many table files this process has open.
func descriptors(t tester, dir string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	for _, e := range list {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil &&
			strings.HasPrefix(name, dir) && strings.Contains(name, ".sst") {
			n++
		}
	}
	return n
}

// ---- Sinks.

// hostile answers at random and takes what it wants.
type hostile struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newHostile(seed uint64) *hostile { return &hostile{rng: rand.New(rand.NewPCG(seed, 1))} }

func (s *hostile) Emit(e hints.Event) hints.Advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := e.(*hints.KeyScan); ok && e.Ahead != nil {
		for range s.rng.IntN(4) {
			sizes := []int64{0, 1, -1, math.MinInt64, 5000, 100_000, 1 << 30, math.MaxInt64}
			e.Ahead.Take(nil, sizes[s.rng.IntN(len(sizes))])
		}
	}
	skips := []int{0, 0, 1, -1, math.MinInt, 100, 100_000, hints.Silent, math.MaxInt}
	return hints.Advice{Skip: skips[s.rng.IntN(len(skips))], Sticky: s.rng.IntN(2) == 0}
}

// numbers are those of the files that hold the tables.
func (d *database) numbers(t tester) (nums []uint64) {
	t.Helper()
	levels, err := d.SSTables()
	must(t, err)
	for _, l := range levels {
		for _, x := range l {
			nums = append(nums, uint64(x.BackingSSTNum))
		}
	}
	return nums
}

// rounds is how often to do what takes time: the race detector makes it ten times as long.
func rounds(n int) int {
	if raceEnabled {
		return max(1, n/6)
	}
	return n
}
