// SPDX-License-Identifier: Apache-2.0

package device

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Readahead is a changed kernel readahead setting that waits to be put back.
type Readahead struct {
	Ctl string // the file that holds the setting
	Old string // what it held
	PID int    // who changed it
}

// SetReadahead sets a device's readahead, through its control file, to kb KiB.
// Restore puts the old value back; if this process dies before, the next call for
// any device does, from a note in /run.
func SetReadahead(ctl string, kb int) (*Readahead, error) {
	if err := RestoreOrphan(); err != nil {
		return nil, err
	}
	if ctl == "" {
		return nil, fmt.Errorf("%w: the device's readahead is not known", ErrNotSupported)
	}
	b, err := os.ReadFile(ctl)
	if err != nil {
		return nil, err
	}
	r := &Readahead{Ctl: ctl, Old: strings.TrimSpace(string(b)), PID: os.Getpid()}
	if r.Old == strconv.Itoa(kb) {
		return &Readahead{}, nil
	}
	note, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(notePath(), note, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(ctl, []byte(strconv.Itoa(kb)), 0); err != nil {
		os.Remove(notePath())
		return nil, fmt.Errorf("%w: set readahead: %w", ErrNotSupported, err)
	}
	return r, nil
}

// Restore puts the old value back. Calling it again does nothing.
func (r *Readahead) Restore() error {
	if r == nil || r.Ctl == "" {
		return nil
	}
	if err := os.WriteFile(r.Ctl, []byte(r.Old), 0); err != nil {
		return err
	}
	r.Ctl = ""
	return os.Remove(notePath())
}

// noteDir is a folder that only root can write to, as only root can change the
// setting: what the note says is done as root.
var noteDir = "/run"

func notePath() string { return filepath.Join(noteDir, "predictio-readahead.json") }

// RestoreOrphan puts back what a process that died has changed. It is an error if
// that process still runs.
func RestoreOrphan() error {
	b, err := os.ReadFile(notePath())
	if err != nil {
		return nil
	}
	var r Readahead
	if err := json.Unmarshal(b, &r); err != nil {
		return os.Remove(notePath())
	}
	if r.PID != os.Getpid() && alive(r.PID) {
		return fmt.Errorf("device: process %d is measuring with a changed readahead; wait for it, or remove %s", r.PID, notePath())
	}
	// Only a kernel's own control file may be written by what a note says.
	_, err = strconv.Atoi(r.Old)
	if err != nil || !strings.HasPrefix(filepath.Clean(r.Ctl), "/sys/devices/") || filepath.Base(r.Ctl) != "read_ahead_kb" {
		return os.Remove(notePath())
	}
	return r.Restore()
}

// alive reports whether a process with this id runs.
func alive(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}
