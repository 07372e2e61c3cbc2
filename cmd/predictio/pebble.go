// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/predictio/predictio/adapters/pebblehint"
	"github.com/predictio/predictio/testbeds/pebbledb"
)

// pebbleFormats says which databases can be read.
var pebbleFormats = fmt.Sprintf("Pebble's formats %d to %d can be read", pebble.FormatMinSupported, pebble.FormatNewest)

// checkPebble returns an error that says in one line why a directory can't be a Pebble
// database that we read.
func checkPebble(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return usagef("%s: %w", dir, bareCause(err))
	}
	current, manifest, version := false, false, markedVersion{}
	for _, e := range entries {
		name := e.Name()
		current = current || name == "CURRENT"
		manifest = manifest || strings.HasPrefix(name, "marker.manifest.")
		version.see(name)
	}
	switch {
	case version.iteration > 0 && version.format < pebble.FormatMinSupported:
		return usagef("%s: a Pebble database of format %d, too old: %s; Pebble v1 can bring it up to date", dir, version.format, pebbleFormats)
	case version.iteration > 0 && version.format > pebble.FormatNewest:
		return usagef("%s: a Pebble database of format %d, too new: %s", dir, version.format, pebbleFormats)
	case version.iteration > 0, manifest:
		return nil
	case current:
		return usagef("%s: a database of LevelDB, RocksDB or an old Pebble: %s", dir, pebbleFormats)
	}
	return usagef("%s: is a directory, but not a Pebble database", dir)
}

// markedVersion is the format that a directory's marker files tell: of several, the
// one of the last iteration holds.
type markedVersion struct {
	iteration uint64
	format    pebble.FormatMajorVersion
}

// see takes a file's name: marker.format-version.ITERATION.FORMAT.
func (v *markedVersion) see(name string) {
	rest, ok := strings.CutPrefix(name, "marker.format-version.")
	if !ok {
		return
	}
	first, second, _ := strings.Cut(rest, ".")
	iteration, err := strconv.ParseUint(first, 10, 64)
	format, err2 := strconv.ParseUint(second, 10, 32)
	if err == nil && err2 == nil && iteration > v.iteration {
		*v = markedVersion{iteration, pebble.FormatMajorVersion(format)}
	}
}

// lockPebble takes a database's lock, which Pebble wants for reading too, and waits
// for it as long as timeout and ctx allow.
func lockPebble(ctx context.Context, dir string, timeout time.Duration) (*pebble.Lock, error) {
	deadline := time.Now().Add(timeout)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lock, err := pebble.LockDirectory(dir, vfs.Default)
		var file *fs.PathError
		switch {
		case err == nil:
			return lock, nil
		case errors.As(err, &file): // not the lock itself
			return nil, fmt.Errorf("%s: can't be locked, as Pebble wants it for reading too: %w", dir, file.Err)
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%s: locked by another process for longer than --lock-timeout %v", dir, timeout)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(lockPoll, max(time.Millisecond, time.Until(deadline)))):
		}
	}
}

// pebble reads a database of Pebble.
func (s *scanner) pebble(dir string, f scanFlags, r *scanReport) (err error) {
	lock, err := lockPebble(s.ctx, dir, f.lockTimeout)
	if err != nil {
		return err
	}
	defer lock.Close()
	o := &pebble.Options{ReadOnly: true, ErrorIfNotExists: true, Lock: lock, Logger: pebbledb.Quiet{}}
	var hinted *pebblehint.Hints
	if f.mode == modePredictio {
		rt, end, err := r.prefetch()
		if err != nil {
			return err
		}
		defer end()
		hinted = pebblehint.Attach(o, rt)
		defer hinted.Close()
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return pebbleError(dir, err)
	}
	defer db.Close()
	it, err := pebbleIter(db, dir, hinted, r)
	if err != nil {
		return pebbleError(dir, err)
	}
	err = s.rowsOf(it)
	if closed := it.Close(); err == nil && closed != nil {
		err = pebbleError(dir, closed)
	}
	return err
}

// pebbleIterator is what Pebble's and the hinting iterator have in common.
type pebbleIterator interface {
	First() bool
	Next() bool
	Key() []byte
	ValueAndErr() ([]byte, error)
	Close() error
}

func pebbleIter(db *pebble.DB, dir string, hinted *pebblehint.Hints, r *scanReport) (pebbleIterator, error) {
	if hinted == nil {
		return db.NewIter(nil)
	}
	if err := hinted.Bind(db, dir); err != nil {
		r.Prefetch.PassThrough = err.Error() // hinted passes through then
	}
	return hinted.NewIter(db, nil, pebblehint.ScanOptions{})
}

// rowsOf reads all rows, as far as there is no error: that is the iterator's.
func (s *scanner) rowsOf(it pebbleIterator) error {
	for ok := it.First(); ok; ok = it.Next() {
		var v []byte
		if !s.keysOnly {
			var err error
			if v, err = it.ValueAndErr(); err != nil {
				return nil
			}
		}
		if s.add(it.Key(), v); s.rows%checkEvery == 0 {
			s.bar.at(s.rows)
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pebbleError says in one line what Pebble found.
func pebbleError(dir string, err error) error {
	text := strings.TrimPrefix(err.Error(), "pebble: ")
	switch {
	case strings.Contains(text, "comparer name from file"), strings.Contains(text, "merger name from file"):
		return usagef("%s: made by a program with an order of keys or a merger of its own: %s", dir, text)
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%s: damaged: %s", dir, text)
	}
	return fmt.Errorf("%s: %s", dir, text)
}
