// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/predictio/predictio/testbeds/bench"
)

// database is one on disk: a file of bbolt, or a directory of Pebble.
type database struct {
	path   string
	pebble bool
}

// findDatabase looks what is at a path. Its error says in one line why that is no
// database.
func findDatabase(path string) (database, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return database{path, true}, checkPebble(path)
	}
	return database{path, false}, checkDatabase(path)
}

// files are those of the database.
func (d database) files() ([]string, error) {
	if !d.pebble {
		return []string{d.path}, nil
	}
	return bench.Files(d.path)
}

// makeCold is makeCold for all files.
func (d database) makeCold() (by string, err error) {
	paths, err := d.files()
	if err != nil {
		return "", err
	}
	unknown := false
	for _, path := range paths {
		if by, err = makeCold(path); err != nil {
			return "", err
		}
		unknown = unknown || by == ""
	}
	if unknown {
		by = ""
	}
	return by, nil
}

// look returns how much of the files is cached, which is not known if it is not of
// one of them, and their size.
func (d database) look() (r residency, size int64, err error) {
	paths, err := d.files()
	if err != nil {
		return r, 0, err
	}
	unknown := false
	for _, path := range paths {
		st, err := os.Stat(path)
		if d.pebble && errors.Is(err, fs.ErrNotExist) {
			continue // whoever owns the database has cleaned up
		}
		if err != nil {
			return r, 0, err
		}
		size += st.Size()
		if st.Size() == 0 { // of an empty file, mincore says nothing
			continue
		}
		one := residentOf(path)
		unknown = unknown || one.by == ""
		r = residency{r.bytes + one.bytes, one.by}
	}
	if unknown {
		r = residency{}
	}
	return r, size, nil
}
