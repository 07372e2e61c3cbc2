// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/runtime/backend/pagecache"
)

// TestFileSystemAlone: the engine's reads of tables are told, and nothing else is; its
// results are the same; nothing is left open.
func TestFileSystemAlone(t *testing.T) {
	dir := t.TempDir()
	o := still(layout{block: 512, filter: true})
	d := open(t, dir, o, nil)
	for i := range 3 {
		d.put(t, i, 3000, 3, 60)
	}
	tables := d.tables(t)
	d.close(t)

	rec := newRecorder(0)
	o = still(layout{block: 512, filter: true})
	o.FS = pebblehint.NewFS(nil, rec)
	d = open(t, dir, o, nil)
	d.warm(t)
	rec.lastWalk(t)
	seen := make(map[tableBlock]bool)
	for _, r := range rec.reads {
		_, ino := r.Extent.File.Identity()
		seen[tableBlock{ino, r.Extent.Off, r.Extent.End()}] = true
		if r.Stream == 0 || r.PID != 0 {
			t.Errorf("a read of stream %d, process %d", r.Stream, r.PID)
		}
	}
	for _, x := range tables {
		for _, b := range x.blocks {
			if !seen[tableBlock{x.ino, b.from, b.to}] {
				t.Fatalf("the read of block %v was not told", b)
			}
		}
	}
	d.close(t)
	if n := descriptors(t, dir); n > 0 {
		t.Errorf("%d tables are still open", n)
	}
}

// TestFileSystems: any inner one works, with any sink.
func TestFileSystems(t *testing.T) {
	rt := newRuntime(t, pagecache.New(pagecache.Options{}))
	defer rt.Close()
	for name, fs := range map[string]vfs.FS{
		"the system's": pebblehint.NewFS(vfs.Default, rt),
		"none":         pebblehint.NewFS(nil, nil),
		"in memory":    pebblehint.NewFS(vfs.NewMem(), rt),
		"hostile":      pebblehint.NewFS(nil, newHostile(8)),
		"twice":        pebblehint.NewFS(pebblehint.NewFS(nil, rt), newHostile(9)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, fs.MkdirAll(dir, 0o777))
			o := still(layout{block: 256, filter: true})
			o.FS = fs
			d := open(t, dir, o, rt)
			for i := range 3 {
				d.put(t, i, 1000, 3, 60)
			}
			must(t, compact(d.DB, key(0), key(9999)))
			d.settle()
			everything(t, d, [][]byte{key(1), key(999), key(1001)})
			d.close(t)
			if n := descriptors(t, dir); n > 0 {
				t.Errorf("%d tables are still open", n)
			}
		})
	}
}

// TestFilesAreWhole: what is read through the file system is what is written, at any
// offset, and errors are the inner's.
func TestFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, still(layout{block: 512}), nil)
	d.put(t, 0, 1000, 1, 60)
	path := d.path(d.numbers(t)[0])
	d.close(t)
	size := sizeOf(t, path)
	plain, err := vfs.Default.Open(path)
	must(t, err)
	defer plain.Close()
	watched, err := pebblehint.NewFS(nil, newHostile(2)).Open(path)
	must(t, err)
	defer watched.Close()
	for _, r := range []span{{0, 0}, {0, 1}, {0, size}, {0, size + 1}, {size - 1, size + 10}, {size, size + 1}, {size + 5, size + 6}, {100, 5000}} {
		a, b := make([]byte, r.to-r.from), make([]byte, r.to-r.from)
		n, err := plain.ReadAt(a, r.from)
		n2, err2 := watched.ReadAt(b, r.from)
		if n != n2 || err != err2 || string(a) != string(b) {
			t.Errorf("%v: %d, %v, want %d, %v", r, n2, err2, n, err)
		}
	}
	if _, err := pebblehint.NewFS(nil, nil).Open(path + "-not"); err == nil {
		t.Error("a file that isn't there was opened")
	}
}
