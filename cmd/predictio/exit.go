// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
	"github.com/predictio/predictio/internal/pagecache"
)

// The exit codes, as the root command's help documents them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitNotSupported = 3
	exitInterrupted  = 130
)

// usageError is an error of whoever typed the command.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errNotHere is matched by errors that say that this system can't do it.
var errNotHere = errors.New("not supported here")

// notHere marks an error so, and leaves its text alone.
type notHere struct{ text string }

func (e *notHere) Error() string        { return e.text }
func (e *notHere) Is(target error) bool { return target == errNotHere }

func notHeref(format string, args ...any) error { return &notHere{fmt.Sprintf(format, args...)} }

func exitCode(ctx context.Context, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	}
	for _, unsupported := range []error{
		errNotHere, pagecache.ErrNotSupported, memory.ErrNotSupported, hints.ErrNotSupported, bbolthint.ErrNotSupported,
	} {
		if errors.Is(err, unsupported) {
			return exitNotSupported
		}
	}
	return exitFailed
}

// message is an error in one line.
func message(code int, err error) string {
	if code == exitInterrupted {
		return "interrupted"
	}
	text := strings.TrimPrefix(strings.TrimSpace(err.Error()), "bbolthint: ")
	return strings.ReplaceAll(text, "\n", "; ")
}
