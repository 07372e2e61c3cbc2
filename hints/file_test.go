// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hints

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// tempFile returns an open file with the given contents.
func tempFile(t testing.TB, contents string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mustRegister(t testing.TB, f *os.File) *File {
	t.Helper()
	file, err := Register(f)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// readAll reads through a File's own descriptor.
func readAll(t testing.TB, f *File) string {
	t.Helper()
	buf := make([]byte, f.Size())
	n, err := unix.Pread(f.FD(), buf, 0)
	if err != nil {
		t.Fatalf("read through the registered descriptor: %v", err)
	}
	return string(buf[:n])
}

func registered() int {
	table.Lock()
	defer table.Unlock()
	return len(table.files)
}

func TestRegisteredFileOutlivesTheOriginal(t *testing.T) {
	f := tempFile(t, "contents")
	file := mustRegister(t, f)
	defer file.Release()
	if file.FD() == int(f.Fd()) {
		t.Fatal("the descriptor was not duplicated")
	}
	f.Close()
	os.Remove(f.Name())
	if got := readAll(t, file); got != "contents" {
		t.Errorf("read %q after the original was closed and removed", got)
	}
}

func TestRegisterLeavesTheOriginalAlone(t *testing.T) {
	f := tempFile(t, "contents")
	mustRegister(t, f).Release()
	if b, err := io.ReadAll(f); err != nil || string(b) != "contents" {
		t.Errorf("the caller's file gives %q, %v after Release", b, err)
	}
}

func TestRegisteredDescriptorIsCloseOnExec(t *testing.T) {
	file := mustRegister(t, tempFile(t, "x"))
	defer file.Release()
	flags, err := unix.FcntlInt(uintptr(file.FD()), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: a child process would inherit it", flags, err)
	}
}

func TestSameFileIsRegisteredOnce(t *testing.T) {
	f := tempFile(t, "x")
	link := f.Name() + ".link"
	if err := os.Link(f.Name(), link); err != nil {
		t.Fatal(err)
	}
	a := mustRegister(t, f)
	b := mustRegister(t, f)
	c, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	if a != b || a != c {
		t.Errorf("one file gave three: %p %p %p", a, b, c)
	}
	other := mustRegister(t, tempFile(t, "x"))
	if other == a || other.ID() == a.ID() {
		t.Error("two files gave one")
	}
	other.Release()
	for range 3 {
		if !a.Retain() {
			t.Fatal("closed while references are left")
		}
		a.Release()
		a.Release()
	}
	if a.Retain() {
		t.Error("Retain succeeded after the last Release")
	}
}

func TestIDsAreNotReused(t *testing.T) {
	f := tempFile(t, "x")
	a := mustRegister(t, f)
	a.Release()
	b := mustRegister(t, f)
	defer b.Release()
	if a == b || a.ID() == b.ID() {
		t.Errorf("a closed file's id %d came back", a.ID())
	}
}

func TestReleaseTooOftenPanics(t *testing.T) {
	file := mustRegister(t, tempFile(t, "x"))
	file.Release()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	file.Release()
}

func TestTableIsBounded(t *testing.T) {
	f := tempFile(t, "x")
	known := mustRegister(t, tempFile(t, "y"))
	defer known.Release()

	table.Lock()
	var strangers []fileKey
	for ino := uint64(1); len(table.files) < MaxFiles; ino++ {
		key := fileKey{dev: ^uint64(0), ino: ino}
		table.files[key] = &File{}
		strangers = append(strangers, key)
	}
	table.Unlock()
	defer func() {
		table.Lock()
		defer table.Unlock()
		for _, key := range strangers {
			delete(table.files, key)
		}
	}()

	if _, err := Register(f); !errors.Is(err, ErrTooManyFiles) {
		t.Errorf("error %v, want ErrTooManyFiles", err)
	}
	again, err := Open(fdPath(known))
	if err != nil || again != known {
		t.Errorf("a known file in a full table: %v, %v", again, err)
	} else {
		again.Release()
	}
}

// fdPath is a path of a registered file.
func fdPath(f *File) string { return filepath.Join("/proc/self/fd", strconv.Itoa(f.FD())) }

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	before := registered()
	for _, path := range []string{dir, pipe, os.DevNull} {
		// A pipe without a writer would hang an Open that waits.
		if f, err := Open(path); !errors.Is(err, ErrNotRegular) || f != nil {
			t.Errorf("Open(%s) = %v, %v, want ErrNotRegular", path, f, err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Register(r); !errors.Is(err, ErrNotRegular) {
		t.Errorf("an anonymous pipe: %v, want ErrNotRegular", err)
	}
	if after := registered(); after != before {
		t.Errorf("%d files registered, %d before", after, before)
	}
}

func TestRegisterBadInput(t *testing.T) {
	if _, err := Register(nil); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("nil: %v", err)
	}
	f := tempFile(t, "x")
	f.Close()
	if _, err := Register(f); err == nil {
		t.Error("a closed file was registered")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestSizeIsRefreshed(t *testing.T) {
	f := tempFile(t, "12345")
	file := mustRegister(t, f)
	defer file.Release()
	if file.Size() != 5 {
		t.Errorf("size %d, want 5", file.Size())
	}
	for _, size := range []int64{9, 2, 0} {
		if err := os.Truncate(f.Name(), size); err != nil {
			t.Fatal(err)
		}
		if got := file.Refresh(); got != size || file.Size() != size {
			t.Errorf("Refresh() = %d, Size() = %d, want %d", got, file.Size(), size)
		}
	}
	if err := os.Truncate(f.Name(), 7); err != nil {
		t.Fatal(err)
	}
	if again := mustRegister(t, f); again.Size() != 7 {
		t.Errorf("size %d after registering anew, want 7", again.Size())
	}
	file.Release()
}

func TestIdentityIsThatOfStat(t *testing.T) {
	f := tempFile(t, "x")
	file := mustRegister(t, f)
	defer file.Release()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if dev, ino := file.Identity(); dev != uint64(st.Dev) || ino != st.Ino {
		t.Errorf("identity %d:%d, want %d:%d", dev, ino, st.Dev, st.Ino)
	}
}

func TestDevice(t *testing.T) {
	file := mustRegister(t, tempFile(t, "x"))
	defer file.Release()
	d := file.Device()
	if d == (Device{}) {
		t.Skip("the file system of the temporary directory has no device in /sys")
	}
	if d.Name == "" || d.ReadAheadCtl == "" {
		t.Errorf("%+v: a device without a name or its control file", d)
	}
	if _, err := os.Stat(d.ReadAheadCtl); err != nil {
		t.Error(err)
	}
	if d.MaxRequest < d.ReadAhead || d.QueueDepth < 0 {
		t.Errorf("%+v: the largest request is below the readahead window", d)
	}
}

func TestDeviceOfNone(t *testing.T) {
	if d := deviceOf(unix.Mkdev(4000, 1<<18)); d != (Device{}) {
		t.Errorf("%+v for a device that is not there", d)
	}
}

// A file that was registered anew while the last reference was given back keeps
// its place in the table.
func TestReleaseLeavesTheSuccessorAlone(t *testing.T) {
	f := tempFile(t, "x")
	old := mustRegister(t, f)
	table.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		old.Release() // waits for the table
	}()
	for old.refs.Load() > 0 {
		runtime.Gosched()
	}
	successor := new(File)
	key := fileKey{old.dev, old.ino}
	table.files[key] = successor
	table.Unlock()
	<-done
	table.Lock()
	defer table.Unlock()
	if table.files[key] != successor {
		t.Error("the successor was taken from the table")
	}
	delete(table.files, key)
}

// Registering and releasing from many goroutines: the descriptor is that of the
// file for as long as a reference is held.
func TestConcurrentRegister(t *testing.T) {
	f := tempFile(t, "contents")
	before := registered()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				file, err := Register(f)
				if err != nil {
					t.Error(err)
					return
				}
				if !file.Retain() {
					t.Error("Retain failed on a file that is held")
				}
				if got := readAll(t, file); got != "contents" {
					t.Errorf("read %q", got)
				}
				file.Release()
				file.Release()
			}
		})
	}
	wg.Wait()
	if after := registered(); after != before {
		t.Errorf("%d files registered, %d before", after, before)
	}
}
