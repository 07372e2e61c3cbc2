// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/predictio/predictio/adapters/bbolthint"
)

// lockPoll is how often a lock is tried while somebody may interrupt.
const lockPoll = 200 * time.Millisecond

// checkDatabase returns an error that says in one line why path can't be a bbolt
// database.
func checkDatabase(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("%s: no such file", path)
	case err != nil:
		return usagef("%s: %w", path, bareCause(err))
	case st.IsDir():
		return usagef("%s: is a directory, not a bbolt database", path)
	case !st.Mode().IsRegular(): // a pipe would be waited for
		return usagef("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return usagef("%s: %w", path, bareCause(err))
	}
	defer f.Close()
	if st.Size() == 0 {
		return usagef("%s: not a bbolt database: the file is empty", path)
	}
	if _, err := bbolthint.FilePageSize(f); errors.Is(err, bbolthint.ErrNotBbolt) {
		return usagef("%s: not a bbolt database", path)
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, bareCause(err))
	}
	return nil
}

// bareCause is an error without the call and the path, which the caller says.
func bareCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// openDatabase opens a database for reading, and waits for its lock as long as
// timeout and ctx allow.
func openDatabase(ctx context.Context, path string, timeout time.Duration) (*bolt.DB, error) {
	deadline := time.Now().Add(timeout)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		left := max(time.Millisecond, time.Until(deadline)) // to bbolt, 0 is for ever
		db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: min(lockPoll, left)})
		switch {
		case err == nil:
			return db, nil
		case !errors.Is(err, berrors.ErrTimeout):
			return nil, fmt.Errorf("%s: %w", path, bareCause(err))
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%s: locked by another process for longer than --lock-timeout %v", path, timeout)
		}
	}
}

// guard calls fn and turns what bbolt does on a damaged file, a panic or a fault
// in its mapping, into an error. fn must not start goroutines that read the file.
func guard(path string, fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			err = damaged(path, r)
		}
	}()
	return fn()
}

const (
	// endlessGrowth is how much memory a walk may take without coming to a record.
	endlessGrowth = 256 << 20 // bytes
	endlessLook   = 100 * time.Millisecond
)

// watch calls fn on another goroutine, in a guard, and gives up on it if it takes
// ever more memory while progress stands still: in a damaged file whose pages lead
// back to themselves, bbolt goes down for ever. fn then goes on, so the process
// must end soon.
func watch(path string, progress *atomic.Int64, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- guard(path, fn) }()
	tick := time.NewTicker(endlessLook)
	defer tick.Stop()
	last, heap := progress.Load(), heapBytes()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if now := progress.Load(); now != last {
				last, heap = now, heapBytes()
			} else if heapBytes() > heap+endlessGrowth {
				return fmt.Errorf("%s: damaged: its pages lead back to themselves", path)
			}
		}
	}
}

func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func damaged(path string, panicked any) error {
	var fault interface {
		runtime.Error
		Addr() uintptr
	}
	if e, ok := panicked.(error); ok && errors.As(e, &fault) {
		return fmt.Errorf("%s: damaged: a page that the database refers to can't be read", path)
	}
	text, _, _ := strings.Cut(fmt.Sprint(panicked), "\n")
	return fmt.Errorf("%s: damaged: %s", path, text)
}

// findBucket returns the bucket at a path of names with slashes between. Names
// may have slashes in them; the first way to read the path that leads to a bucket
// counts.
func findBucket(parent interface{ Bucket([]byte) *bolt.Bucket }, path string) *bolt.Bucket {
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		b := parent.Bucket([]byte(path[:i]))
		if b != nil && i < len(path) {
			b = findBucket(b, path[i+1:])
		}
		if b != nil {
			return b
		}
	}
	return nil
}
