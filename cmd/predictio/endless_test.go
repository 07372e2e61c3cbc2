// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const asCommand = "PREDICTIO_TEST_AS_COMMAND"

// TestMain lets the test binary be the command, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A branch whose child is itself: bbolt never comes back from it.
func TestPagesThatLeadBackToThemselves(t *testing.T) {
	path := testDatabase(t)
	b := read(t, path)
	pageSize := os.Getpagesize()
	bent := 0
	for at := 0; at+pageSize <= len(b); at += pageSize {
		const branch, flags, count, firstChild = 1, 8, 10, 16 + 8
		if binary.NativeEndian.Uint16(b[at+flags:]) == branch && binary.NativeEndian.Uint16(b[at+count:]) > 0 {
			copy(b[at+firstChild:], b[at:at+8])
			bent++
		}
	}
	if bent == 0 {
		t.Fatal("no branch page in the database")
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"predictio", "bare"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "scan", "--mode", mode, path)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.WaitDelay = time.Second
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || stderr.String() != "predictio: "+path+": damaged: its pages lead back to themselves\n" {
			t.Errorf("mode %s: %v: %s", mode, err, stderr.String())
		}
	}
}
