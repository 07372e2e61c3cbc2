// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblev1hint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/vfs"

	"github.com/predictio/predictio/adapters/pebblev1hint"
)

// damages are what may befall a table's file.
var damages = map[string]func(t tester, path string, rng *rand.Rand){
	"truncated": func(t tester, path string, rng *rand.Rand) {
		must(t, os.Truncate(path, rng.Int64N(sizeOf(t, path))))
	},
	"empty":   func(t tester, path string, _ *rand.Rand) { must(t, os.Truncate(path, 0)) },
	"missing": func(t tester, path string, _ *rand.Rand) { must(t, os.Remove(path)) },
	"footer": func(t tester, path string, rng *rand.Rand) {
		flip(t, path, sizeOf(t, path)-1-rng.Int64N(50))
	},
	"index": func(t tester, path string, rng *rand.Rand) { // or what else is at the end
		size := sizeOf(t, path)
		for range 20 {
			flip(t, path, size-60-rng.Int64N(size/4))
		}
	},
	"data": func(t tester, path string, rng *rand.Rand) {
		flip(t, path, rng.Int64N(sizeOf(t, path)*3/4))
	},
	"zeros": func(t tester, path string, _ *rand.Rand) {
		size := sizeOf(t, path)
		must(t, os.Truncate(path, 0))
		must(t, os.Truncate(path, size))
	},
}

func sizeOf(t tester, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func flip(t tester, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatalf("%v", err)
	}
	b[0] ^= 0x5a
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatalf("%v", err)
	}
}

// story is all that a program sees of a database, as text. Its readers are those of it
// functions: bare or hinted.
func story(db *pebble.DB, newIter func() (mover, error), get func(k []byte) string) (lines []string) {
	say := func(format string, a ...any) {
		line := fmt.Sprintf(format, a...)
		if i := strings.Index(line, "\n"); i >= 0 {
			line = line[:i] // the rest are traces
		}
		lines = append(lines, line)
	}
	walk := func(name string, most int, start, step func(mover) any) {
		it, err := newIter()
		if err != nil {
			say("%s: %v", name, err)
			return
		}
		out, panicked := attempt(it, start)
		for n := 0; ; n++ {
			say("%s %d: %s", name, n, out)
			valid := false
			if attempt(it, func(it mover) any { valid = it.Valid(); return nil }); !valid || panicked || n > most {
				break
			}
			out, panicked = attempt(it, step)
		}
		var closed error
		out, panicked = attempt(it, func(it mover) any { closed = it.Close(); panic(fmt.Sprint(closed)) })
		say("%s: closed, %s %v", name, out, panicked)
	}
	walk("forward", 2000, first, next)
	walk("backward", 2000, last, prev)
	for i := 0; i < 1000; i += 97 {
		walk(fmt.Sprint("from ", i), 30, seekGE(key(i)), next)
		walk(fmt.Sprint("before ", i), 30, seekLT(key(i)), prev)
		say("get %d: %s", i, get(key(i)))
	}
	return lines
}

// stories are those of two copies of a database, the one read bare and the other with
// hints.
func stories(t tester, dirs [2]string, options func() *pebble.Options) {
	t.Helper()
	var all [2][]string
	for i, dir := range dirs {
		o := options()
		h := pebblev1hint.Attach(o, newHostile(1))
		if i == 0 {
			o = options()
		}
		db, err := pebble.Open(dir, o)
		if err != nil {
			all[i] = []string{err.Error()}
		} else if i == 0 {
			all[i] = story(db, func() (mover, error) { return db.NewIter(nil) }, func(k []byte) string {
				v, c, err := db.Get(k)
				if err == nil {
					err = c.Close()
				}
				return fmt.Sprintf("%q, %v", v, err)
			})
		} else {
			_ = h.Bind(db, dir) // without a list of tables all is passed through
			all[i] = story(db, func() (mover, error) { return h.NewIter(db, nil, pebblev1hint.ScanOptions{}) }, func(k []byte) string {
				r := h.MultiGet(db, [][]byte{k, k})[1]
				return fmt.Sprintf("%q, %v", r.Value, r.Err)
			})
		}
		if err == nil {
			must(t, h.Close())
			db.Close() // it may have been hurt
		}
		for j := range all[i] {
			all[i][j] = strings.ReplaceAll(all[i][j], dir, "DIR")
			all[i][j] = strings.ReplaceAll(all[i][j], `""`, "[]") // no value, in either way
		}
	}
	if len(all[0]) != len(all[1]) {
		t.Errorf("bare %d lines, hinted %d", len(all[0]), len(all[1]))
	}
	for i := range min(len(all[0]), len(all[1])) {
		if all[0][i] != all[1][i] {
			t.Fatalf("bare   %s\nhinted %s", all[0][i], all[1][i])
		}
	}
}

// TestDamagedTables: results and errors are those of the bare database on an identical
// copy.
func TestDamagedTables(t *testing.T) {
	for kind, format := range blockFormats {
		base := t.TempDir()
		o := still(layout{block: 128, index: 200, filter: true})
		o.FormatMajorVersion = format
		d := open(t, filepath.Join(base, "whole"), o, nil)
		d.put(t, 0, 500, 1, 20)
		must(t, compact(d.DB, key(0), key(1000)))
		d.put(t, 0, 1000, 3, 20)
		d.put(t, 1, 1000, 3, 20)
		nums := d.numbers(t)
		d.close(t)
		for name, damage := range damages {
			t.Run(kind+"/"+name, func(t *testing.T) {
				for round := range rounds(3) {
					dirs := [2]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
					for _, dir := range dirs {
						copyDir(t, d.dir, dir)
						damage(t, filepath.Join(dir, filepath.Base(d.path(nums[round]))), rand.New(rand.NewPCG(uint64(round), uint64(len(name)))))
					}
					stories(t, dirs, func() *pebble.Options {
						o := still(layout{block: 128, index: 200, filter: true})
						o.FormatMajorVersion = format
						leaveAlone(o)
						o.ReadOnly = true
						o.Logger = mute{}
						return o
					})
				}
			})
		}
	}
}

// TestFaultyFileSystem: errors of a file system are the engine's, and no others: those
// that only we meet are swallowed.
func TestFaultyFileSystem(t *testing.T) {
	base := t.TempDir()
	d := open(t, filepath.Join(base, "whole"), still(layout{block: 128, index: 200, filter: true}), nil)
	d.put(t, 0, 1000, 3, 20)
	d.put(t, 1, 1000, 3, 20)
	d.close(t)
	for name, fault := range map[string]func(f *faultFS){
		"nothing":   func(*faultFS) {},
		"open":      func(f *faultFS) { f.fail(".sst", "open") },
		"read":      func(f *faultFS) { f.fail(".sst", "read") },
		"late read": func(f *faultFS) { f.failFrom(".sst", "read", 20_000) },
	} {
		t.Run(name, func(t *testing.T) {
			dirs := [2]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
			for _, dir := range dirs {
				copyDir(t, d.dir, dir)
			}
			stories(t, dirs, func() *pebble.Options {
				o := still(layout{block: 128, index: 200, filter: true})
				f := &faultFS{FS: vfs.Default}
				fault(f)
				o.FS, o.Logger = f, mute{}
				leaveAlone(o)
				o.ReadOnly = true
				return o
			})
		})
	}
}

// TestEmptyTableFile: nothing of it can be asked for, and is not.
func TestEmptyTableFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	d := open(t, dir, still(layout{block: 128}), nil)
	d.put(t, 0, 1000, 3, 20)
	path := d.path(d.numbers(t)[0])
	d.close(t)
	must(t, os.Truncate(path, 0))
	o := still(layout{block: 128})
	leaveAlone(o)
	o.ReadOnly, o.Logger = true, mute{}
	rec := newRecorder(1 << 20)
	if !opensDamaged {
		return
	}
	d = open(t, dir, o, rec)
	defer d.close(t)
	p := newPair(t, d.h, d, nil, pebblev1hint.ScanOptions{})
	p.move(t, "First", first)
	p.move(t, "Last", last)
	p.close(t)
	d.h.MultiGet(d, [][]byte{key(3), key(4)})
	rec.lastWalk(t) // says what is wrong
}

// TestInMemory: a file system without descriptors is passed through, without hints and
// without errors.
func TestInMemory(t *testing.T) {
	o := still(layout{block: 128, filter: true})
	o.FS = vfs.NewMem()
	rec := newRecorder(1 << 20)
	d := open(t, "db", o, rec)
	d.put(t, 0, 500, 1, 20)
	d.put(t, 0, 500, 2, 20)
	d.settle()
	everything(t, d, [][]byte{key(0), key(1), key(499), key(1000)})
	for _, w := range rec.walks {
		if len(w.extents) > 0 {
			t.Errorf("%d extents", len(w.extents))
		}
	}
	if len(rec.wills) > 0 {
		t.Errorf("%d extents of reads", len(rec.wills))
	}
	d.close(t)
}
