// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"errors"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errFault = errors.New("injected fault")

// faultFS is a file system that fails where it is told to.
type faultFS struct {
	vfs.FS
	mu     sync.Mutex
	suffix string
	op     string // create, open or read; "": nothing
	from   int64  // of reads: the first offset
}

func (f *faultFS) fail(suffix, op string) { f.failFrom(suffix, op, 0) }

func (f *faultFS) failFrom(suffix, op string, from int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.suffix, f.op, f.from = suffix, op, from
}

func (f *faultFS) heal() { f.fail("", "") }

func (f *faultFS) check(name, op string, off int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.op == op && strings.HasSuffix(name, f.suffix) && off >= f.from {
		return errFault
	}
	return nil
}

func (f *faultFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := f.check(name, "open", 0); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fs: f, name: name}, nil
}

type faultFile struct {
	vfs.File
	fs   *faultFS
	name string
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.check(f.name, "read", off); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}
