// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// fails runs a command line that must fail with a code and one line that has all
// the words.
func fails(t *testing.T, code int, words []string, args ...string) {
	t.Helper()
	r := command(t.Context(), args...)
	line, more, _ := strings.Cut(r.stderr, "\n")
	if r.code != code || more != "" || !strings.HasPrefix(line, "predictio: ") || r.stdout != "" {
		t.Errorf("%q: exit %d, want %d; stdout %q, stderr %q", args, r.code, code, r.stdout, r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("%q: %q does not say %q", args, line, w)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	path := testDatabase(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"unknown command", []string{"nonsense"}},
		{"unknown flag: --nonsense (try 'predictio scan --help')", []string{"scan", "--nonsense"}},
		{"at least 1 arg", []string{"scan"}},
		{"neither predictio nor bare", []string{"scan", "--mode", "fast", path}},
		{"--lock-timeout", []string{"scan", "--lock-timeout", "soon", path}},
		{"--lock-timeout", []string{"scan", "--lock-timeout", "-1s", path}},
		{"accepts 1 arg", []string{"warm"}},
		{"--budget", []string{"warm", "--budget", "much", path}},
		{"unknown command", []string{"demo", "now"}},
		{"no such file", []string{"demo", "--dir", filepath.Join(path, "..", "none")}},
		{"not a directory", []string{"demo", "--dir", path}},
		{"not a directory", []string{"doctor", "--dir", path}},
		{"which suite? bbolt, pebble or runtime", []string{"bench"}},
		{"no suite \"disk\": bbolt, pebble or runtime", []string{"bench", "disk"}},
		{"--reps", []string{"bench", "runtime", "--reps", "many"}},
	} {
		fails(t, exitUsage, []string{c.want}, c.args...)
	}
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none"), "no such file"},
		{"folder", dir, "is a directory"},
		{"empty", write(t, "empty", nil), "not a bbolt database: the file is empty"},
		{"text", write(t, "text", bytes.Repeat([]byte("no database\n"), 2000)), "not a bbolt database"},
		{"head", write(t, "head", read(t, testDatabase(t))[:20]), "not a bbolt database"},
		{"device", os.DevNull, "not a regular file"},
	} {
		if c.name == "device" && runtime.GOOS == "windows" {
			continue
		}
		for _, cmd := range []string{"scan", "warm"} {
			fails(t, exitUsage, []string{c.path + ": " + c.want}, cmd, c.path)
		}
	}
}

func TestNoPermission(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root may read everything")
	}
	path := testDatabase(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []string{"scan", "warm"} {
		fails(t, exitUsage, []string{path + ": permission denied"}, cmd, path)
	}
}

func TestNoSuchBucket(t *testing.T) {
	path := testDatabase(t)
	for _, name := range []string{"x", "a/x", "a/key-000001", "b/", "/b", ""} {
		fails(t, exitUsage, []string{path + ": no bucket"}, "scan", path, name)
	}
}

func TestTruncated(t *testing.T) {
	path := testDatabase(t)
	whole := read(t, path)
	for _, size := range []int{len(whole) / 2, 5 * 4096, 2 * 4096, 4096 + 100} {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"predictio", "bare"} {
			fails(t, exitFailed, []string{path + ": "}, "scan", "--mode", mode, path)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A page full of garbage makes bbolt panic or fault; either is one line.
func TestDamaged(t *testing.T) {
	path := testDatabase(t)
	whole := read(t, path)
	pageSize := os.Getpagesize()
	root := len(whole) / 2 / pageSize
	for _, garbage := range []byte{0x00, 0x01, 0x7f, 0xff} {
		b := bytes.Clone(whole)
		for i := root * pageSize; i < (root+20)*pageSize; i++ {
			b[i] = garbage
		}
		bad := write(t, "damaged.db", b)
		for _, mode := range []string{"predictio", "bare"} {
			fails(t, exitFailed, []string{bad + ": damaged: "}, "scan", "--mode", mode, bad)
		}
	}
}

func TestLocked(t *testing.T) {
	path := testDatabase(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fails(t, exitFailed, []string{path, "locked by another process", "--lock-timeout 60ms"}, "scan", "--lock-timeout", "60ms", path)
	if r := command(t.Context(), "warm", path); r.code != exitOK {
		t.Errorf("warm takes no lock, yet: %+v", r)
	}
}

func TestInterrupted(t *testing.T) {
	path := testDatabase(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"scan", path}, {"warm", path}, {"demo", "--dir", dir}, {"doctor", "--dir", dir}} {
		if r := command(ctx, args...); r.code != exitInterrupted || r.stderr != "predictio: interrupted\n" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInterruptedWhileWaitingForTheLock(t *testing.T) {
	path := testDatabase(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r := command(ctx, "scan", "--lock-timeout", "1h", path); r.code != exitInterrupted {
		t.Errorf("%+v", r)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"scan", "--help"}, {"help", "warm"}, {"--version"}} {
		if r := command(t.Context(), args...); r.code != exitOK || r.stdout == "" || r.stderr != "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
