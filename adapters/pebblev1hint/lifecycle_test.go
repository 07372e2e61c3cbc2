// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/vfs"

	"github.com/predictio/predictio/adapters/pebblev1hint"
	"github.com/predictio/predictio/hints"
)

// apart runs a test in a process of its own, where a panic of a goroutine ends it
// alone. It returns true in that process.
func apart(t *testing.T) bool {
	t.Helper()
	const env = "PREDICTIO_TEST_APART"
	if os.Getenv(env) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.3000s", err, out)
	}
	return false
}

// TestDatabaseClosedFirst: the database may be closed before the hints, whatever it
// does as it closes. Files are deleted late here, so that events come while it does; and
// a list of tables that is read then would free what the closed database still counts.
func TestDatabaseClosedFirst(t *testing.T) {
	if !apart(t) {
		return
	}
	fs := vfs.NewMem()
	for round := range 20 {
		o := &pebble.Options{FS: fs, Logger: quiet{}, TargetByteDeletionRate: 100_000}
		d := open(t, "db", o, nil)
		for range 3 {
			d.put(t, 0, 10, 1, 100)
		}
		must(t, compact(d.DB, key(0), key(100)))
		d.put(t, 0, 10, 1, 100)
		it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
		must(t, err)
		if !it.First() {
			t.Fatalf("round %d: empty", round)
		}
		must(t, it.Close())
		if err := d.DB.Close(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		must(t, d.h.Close())
	}
}

// TestCloseInEitherOrder: nothing is left open, and closing again does nothing.
func TestCloseInEitherOrder(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, hintsFirst := range []bool{true, false} {
		dir := t.TempDir()
		d := open(t, dir, still(layout{block: 256}), newRecorder(1<<20))
		for range 3 {
			d.put(t, 0, 300, 1, 50)
		}
		d.settle()
		it, err := d.h.NewIter(d, nil, pebblev1hint.ScanOptions{})
		must(t, err)
		for it.First(); it.Valid(); it.Next() {
		}
		if descriptors(t, dir) < 6 {
			t.Errorf("%d descriptors: the hints have opened nothing", descriptors(t, dir))
		}
		must(t, it.Close())
		if hintsFirst {
			must(t, d.h.Close())
			must(t, d.h.Close())
			p := newPair(t, d.h, d, nil, pebblev1hint.ScanOptions{})
			p.move(t, "First", first)
			if p.scan(t, "Next", next) != 300 {
				t.Error("not all rows")
			}
			p.close(t)
			must(t, d.DB.Close())
		} else {
			must(t, d.DB.Close())
			must(t, d.h.Close())
			must(t, d.h.Close())
		}
		if n := descriptors(t, dir); n > 0 {
			t.Errorf("hints first %v: %d tables are still open", hintsFirst, n)
		}
	}
}

// TestBind: once, and not after Close.
func TestBind(t *testing.T) {
	d := open(t, t.TempDir(), still(layout{}), nil)
	if err := d.h.Bind(d.DB, d.dir); !errors.Is(err, pebblev1hint.ErrBound) {
		t.Errorf("a second Bind: %v", err)
	}
	must(t, d.h.Close())
	if err := d.h.Bind(d.DB, d.dir); !errors.Is(err, pebblev1hint.ErrBound) {
		t.Errorf("Bind after Close: %v", err)
	}
	must(t, d.DB.Close())

	h := pebblev1hint.Attach(still(layout{}), nil)
	must(t, h.Close())
	if err := h.Bind(nil, ""); !errors.Is(err, pebblev1hint.ErrBound) {
		t.Errorf("Bind after Close: %v", err)
	}
}

// TestTablesAfterBind: tables that come to be after Bind, in each way, give hints.
func TestTablesAfterBind(t *testing.T) {
	dir := t.TempDir()
	rec := newRecorder(1 << 30)
	d := open(t, filepath.Join(dir, "db"), still(layout{block: 256}), rec)
	defer d.close(t)
	check := func(how string) {
		t.Helper()
		d.settle()
		d.warm(t)
		w := rec.scan(t, d, nil, pebblev1hint.ScanOptions{}, first, next)
		w.all(t, how, d, nil, nil)
	}
	d.put(t, 0, 200, 1, 50)
	check("flushed")
	must(t, compact(d.DB, key(0), key(1000)))
	check("compacted")
	path := filepath.Join(dir, "ingest.sst")
	must(t, writeTable(d.o, path, func(set func(k, v []byte) error) error {
		for i := range 100 {
			if err := set(key(i*2+1), value(i, 60)); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, ingest(d.DB, path))
	check("ingested")
	must(t, excise(d, key(50), key(90)))
	check("excised")
}

// listener counts the events of the user's own listener.
type listener struct {
	mu     sync.Mutex
	counts map[string]int
}

func (l *listener) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[name]++
}

func (l *listener) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[name]
}

// TestOwnListener: the listener of the user's options goes on to hear everything.
func TestOwnListener(t *testing.T) {
	l := &listener{counts: make(map[string]int)}
	o := still(layout{})
	o.EventListener = &pebble.EventListener{
		FlushBegin:    func(pebble.FlushInfo) { l.add("FlushBegin") },
		FlushEnd:      func(pebble.FlushInfo) { l.add("FlushEnd") },
		CompactionEnd: func(pebble.CompactionInfo) { l.add("CompactionEnd") },
		TableCreated:  func(pebble.TableCreateInfo) { l.add("TableCreated") },
		TableDeleted:  func(pebble.TableDeleteInfo) { l.add("TableDeleted") },
		WALCreated:    func(pebble.WALCreateInfo) { l.add("WALCreated") },
	}
	d := open(t, t.TempDir(), o, nil)
	d.put(t, 0, 10, 1, 10)
	d.put(t, 0, 10, 1, 10)
	must(t, compact(d.DB, key(0), key(100)))
	d.close(t)
	for _, name := range []string{"FlushBegin", "FlushEnd", "CompactionEnd", "TableCreated", "TableDeleted", "WALCreated"} {
		if l.count(name) == 0 {
			t.Errorf("no %s", name)
		}
	}
}

// errorLog keeps what is logged as an error.
type errorLog struct {
	quiet
	mu    sync.Mutex
	lines []string
}

func (l *errorLog) Errorf(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, a...))
}

func (l *errorLog) Infof(format string, a ...any) { l.Errorf(format, a...) }

// TestBackgroundErrorsAreLogged: as they are without hints, if the user doesn't listen to
// them, and told to the user who does.
func TestBackgroundErrorsAreLogged(t *testing.T) {
	for name, own := range map[string]*pebble.EventListener{"no listener": nil, "another listener": {
		FlushEnd: func(pebble.FlushInfo) {},
	}} {
		t.Run(name, func(t *testing.T) {
			log := &errorLog{}
			faults := &faultFS{FS: vfs.NewMem()}
			o := still(layout{})
			o.FS, o.Logger, o.EventListener = faults, log, own
			d := open(t, "db", o, nil)
			must(t, d.Set(key(1), nil, pebble.NoSync))
			faults.fail(".sst", "create")
			done, err := d.AsyncFlush()
			must(t, err)
			for i := 0; ; i++ {
				log.mu.Lock()
				said := strings.Contains(strings.Join(log.lines, "\n"), errFault.Error())
				log.mu.Unlock()
				if said {
					break
				}
				if i > 1000 {
					t.Fatal("nothing was logged")
				}
				wait()
			}
			faults.heal()
			<-done
			d.close(t)
		})
	}
	var heard error
	var mu sync.Mutex
	faults := &faultFS{FS: vfs.NewMem()}
	o := still(layout{})
	o.FS = faults
	o.EventListener = &pebble.EventListener{BackgroundError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		heard = err
	}}
	d := open(t, "db", o, hints.Discard)
	must(t, d.Set(key(1), nil, pebble.NoSync))
	faults.fail(".sst", "create")
	done, err := d.AsyncFlush()
	must(t, err)
	for i := 0; ; i++ {
		mu.Lock()
		ok := errors.Is(heard, errFault)
		mu.Unlock()
		if ok {
			break
		}
		if i > 1000 {
			t.Fatal("nothing was heard")
		}
		wait()
	}
	faults.heal()
	<-done
	d.close(t)
}
