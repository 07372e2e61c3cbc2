// SPDX-License-Identifier: Apache-2.0

//go:build linux

package device

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// notes moves the notes to a folder of the test's.
func notes(t *testing.T) {
	was := noteDir
	noteDir = t.TempDir()
	t.Cleanup(func() { noteDir = was })
}

// leave writes the note of a process that changed a setting.
func leave(t *testing.T, r Readahead) {
	t.Helper()
	notes(t)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notePath(), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSetAndRestore(t *testing.T) {
	notes(t)
	ctl := filepath.Join(t.TempDir(), "read_ahead_kb")
	if err := os.WriteFile(ctl, []byte("8192\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := SetReadahead(ctl, 128)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(ctl); string(b) != "128" {
		t.Errorf("set to %q", b)
	}
	for range 2 {
		if err := r.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(ctl); string(b) != "8192" {
		t.Errorf("restored to %q", b)
	}
	if _, err := os.Stat(notePath()); !os.IsNotExist(err) {
		t.Errorf("the note is left: %v", err)
	}
}

func TestRestoreOrphan(t *testing.T) {
	const nobody = 1 << 30 // no process has this id
	t.Run("somebody still measures", func(t *testing.T) {
		leave(t, Readahead{Ctl: "/sys/devices/x/queue/read_ahead_kb", Old: "1", PID: os.Getppid()})
		if err := RestoreOrphan(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a note that names another file is not obeyed", func(t *testing.T) {
		victim := filepath.Join(t.TempDir(), "read_ahead_kb")
		if err := os.WriteFile(victim, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		leave(t, Readahead{Ctl: victim, Old: "y", PID: nobody})
		if err := RestoreOrphan(); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(victim); string(b) != "x" {
			t.Errorf("it was written: %q", b)
		}
	})
	t.Run("a device's setting comes back", func(t *testing.T) {
		ctls, _ := filepath.Glob("/sys/devices/virtual/block/*/queue/read_ahead_kb")
		if len(ctls) == 0 || os.Getuid() != 0 {
			t.Skip("needs root and a virtual block device")
		}
		own, err := os.ReadFile(ctls[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.WriteFile(ctls[0], own, 0) })
		leave(t, Readahead{Ctl: ctls[0], Old: "64", PID: nobody})
		if err := RestoreOrphan(); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(ctls[0]); string(b) != "64\n" {
			t.Errorf("it holds %q", b)
		}
	})
}

func TestJoin(t *testing.T) {
	got := Join([]Range{{0, 4}, {4, 4}, {8, 4}, {16, 4}, {20, 4}}, 8)
	want := []Range{{0, 8}, {8, 4}, {16, 8}}
	if len(got) != len(want) || Bytes(got) != 20 {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
