// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

// testPebble is a database with testRows rows of 1000 bytes in tables, and one more
// in the log.
func testPebble(t *testing.T, change func(*pebble.Options)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pebble")
	o := &pebble.Options{Logger: pebbledb.Quiet{}}
	if change != nil {
		change(o)
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range testRows {
		if err := db.Set(fmt.Appendf(nil, "key-%06d", i), bytes.Repeat([]byte{byte(i)}, 1000), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if i%500 == 499 {
			if err := db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Set([]byte("last"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestScanPebble(t *testing.T) {
	dir := testPebble(t, nil)
	var crc uint32
	for i := range testRows {
		crc = crc32.Update(crc, castagnoli, fmt.Appendf(nil, "key-%06d", i))
		crc = crc32.Update(crc, castagnoli, bytes.Repeat([]byte{byte(i)}, 1000))
	}
	crc = crc32.Update(crc, castagnoli, []byte("last"))
	for _, mode := range []string{"predictio", "bare"} {
		var r scanReport
		decode(t, succeed(t, "scan", "--json", "--mode", mode, dir), &r)
		if r.Rows != testRows+1 || r.Buckets != 0 || r.File != dir || r.FileBytes == 0 || r.ValueBytes != testRows*1000 || r.Mode != mode {
			t.Errorf("%+v", r)
		}
		if want := fmt.Sprintf("%08x", crc); r.CRC32C != want {
			t.Errorf("mode %s: crc32c %s, want %s", mode, r.CRC32C, want)
		}
		if (r.Prefetch != nil) != (mode == "predictio") || r.Prefetch != nil && r.Prefetch.PassThrough != "" {
			t.Errorf("mode %s: prefetch %+v", mode, r.Prefetch)
		}
		decode(t, succeed(t, "scan", "--json", "--keys", "--mode", mode, dir), &r)
		if !r.KeysOnly || r.ValueBytes != 0 || r.KeyBytes != testRows*int64(len("key-000000"))+4 {
			t.Errorf("mode %s, keys: %+v", mode, r)
		}
	}
	text := succeed(t, "scan", dir).stdout
	if !strings.HasPrefix(text, "2001 rows; ") || strings.Contains(text, "buckets") {
		t.Errorf("%q", text)
	}
}

func TestScanPebbleCold(t *testing.T) {
	dir := testPebble(t, nil)
	var r scanReport
	decode(t, succeed(t, "scan", "--json", "--cold", dir), &r)
	if !r.Cold || r.Rows != testRows+1 {
		t.Errorf("%+v", r)
	}
	if r.ColdVerifiedBy != "" && *r.ResidentBefore*1000 > r.FileBytes {
		t.Errorf("%d of %d bytes were cached in a database called cold", *r.ResidentBefore, r.FileBytes)
	}
	if r.ResidentAfter != nil && *r.ResidentAfter == 0 {
		t.Error("nothing is cached after a scan")
	}
}

func TestScanPebbleWhenItIsOff(t *testing.T) {
	t.Setenv(predictio.EnvVar, "off")
	var r scanReport
	decode(t, succeed(t, "scan", "--json", testPebble(t, nil)), &r)
	if !r.Prefetch.Off || r.Prefetch.Events != 0 || r.Rows != testRows+1 {
		t.Errorf("%+v %+v", r, r.Prefetch)
	}
}

// Reading leaves a database as it is.
func TestScanPebbleChangesNothing(t *testing.T) {
	dir := testPebble(t, nil)
	before := contents(t, dir)
	succeed(t, "scan", dir)
	if after := contents(t, dir); after != before {
		t.Errorf("was:\n%s\nis:\n%s", before, after)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		data := read(t, filepath.Join(dir, e.Name()))
		fmt.Fprintf(&b, "%s %d %x\n", e.Name(), len(data), crc32.Checksum(data, castagnoli))
	}
	return b.String()
}

func TestNotAPebbleDatabase(t *testing.T) {
	folder := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, c := range []struct {
		dir  string
		want []string
	}{
		{folder(), []string{"is a directory, but not a Pebble database"}},
		{folder("notes.txt", "MANIFEST"), []string{"is a directory, but not a Pebble database"}},
		{folder("CURRENT", "MANIFEST-000001"), []string{"LevelDB, RocksDB or an old Pebble", "can be read"}},
		{folder("marker.format-version.000001.012", "marker.manifest.000001.MANIFEST-000001"), []string{"format 12, too old", "can be read"}},
		{folder("marker.format-version.000002.999", "marker.format-version.000001.013"), []string{"format 999, too new", "can be read"}},
	} {
		fails(t, exitUsage, append(c.want, c.dir+": "), "scan", c.dir)
	}
	dir := testPebble(t, nil)
	fails(t, exitUsage, []string{dir + ": a Pebble database has no buckets"}, "scan", dir, "a")
}

func TestPebbleWithAnotherOrder(t *testing.T) {
	dir := testPebble(t, func(o *pebble.Options) {
		c := *pebble.DefaultComparer
		c.Name = "my order"
		o.Comparer = &c
	})
	for _, mode := range []string{"predictio", "bare"} {
		fails(t, exitUsage, []string{dir + ": ", "an order of keys", "my order"}, "scan", "--mode", mode, dir)
	}
}

func TestPebbleLocked(t *testing.T) {
	dir := testPebble(t, nil)
	db, err := pebble.Open(dir, &pebble.Options{Logger: pebbledb.Quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fails(t, exitFailed, []string{dir, "locked by another process", "--lock-timeout 60ms"}, "scan", "--lock-timeout", "60ms", dir)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r := command(ctx, "scan", "--lock-timeout", "1h", dir); r.code != exitInterrupted {
		t.Errorf("%+v", r)
	}
}

// Whatever is broken, the answer is one line, and no line of Pebble's own.
func TestPebbleDamaged(t *testing.T) {
	garbage := func(from, to float64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b := read(t, path)
			for i := int(from * float64(len(b))); i < int(to*float64(len(b))); i++ {
				b[i] ^= 0x5a
			}
			must(t, os.WriteFile(path, b, 0o600))
		}
	}
	for _, c := range []struct {
		name, pattern string
		damage        func(t *testing.T, path string)
	}{
		{"table missing", "*.sst", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"table cut off", "*.sst", func(t *testing.T, path string) { must(t, os.Truncate(path, 1000)) }},
		{"table empty", "*.sst", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }},
		{"table's blocks", "*.sst", garbage(0, 0.5)},
		{"table's index and footer", "*.sst", garbage(0.9, 1)},
		{"manifest missing", "MANIFEST-*", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"manifest", "MANIFEST-*", garbage(0, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := testPebble(t, nil)
			paths, err := filepath.Glob(filepath.Join(dir, c.pattern))
			if err != nil || len(paths) == 0 {
				t.Fatal(paths, err)
			}
			c.damage(t, paths[len(paths)-1])
			for _, mode := range []string{"predictio", "bare"} {
				fails(t, exitFailed, []string{dir + ": "}, "scan", "--mode", mode, dir)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
