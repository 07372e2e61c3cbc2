// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// MaxFiles bounds the table of registered files.
const MaxFiles = 4096

var (
	// ErrTooManyFiles is returned by Register and Open when MaxFiles files are
	// registered.
	ErrTooManyFiles = errors.New("hints: too many registered files")
	// ErrNotRegular is returned for directories, pipes, sockets and devices.
	ErrNotRegular = errors.New("hints: not a regular file")
	// ErrNotSupported is returned where the operating system lacks what
	// registration needs.
	ErrNotSupported = errors.New("hints: not supported on this system")
)

// File is a registered file: a descriptor of its own, so that nobody's close or
// finalizer can take it away under a request, and what a backend needs to know
// of the file. Registering the same file twice gives the same File.
//
// A File is counted: Register and Open return it with one reference, Release
// gives one back, and the last one closes the descriptor. All methods are safe
// for concurrent use.
type File struct {
	id     uint32
	fd     int
	dev    uint64
	ino    uint64
	device Device
	size   atomic.Int64
	refs   atomic.Int32 // 0: closed; never rises again
}

var table = fileTable{files: make(map[fileKey]*File)}

// fileTable is all registered files, and the devices that they are on.
type fileTable struct {
	sync.Mutex
	files   map[fileKey]*File
	lastID  uint32
	devices map[uint64]knownDevice
}

const (
	maxDevices = 64
	// deviceAge is how long what a device says of itself is believed: asking opens a
	// dozen files, and a database may register hundreds at once.
	deviceAge = time.Second
)

type knownDevice struct {
	Device
	asked time.Time
}

// device describes a device. The caller holds the lock.
func (t *fileTable) device(dev uint64) Device {
	now := time.Now()
	if d, ok := t.devices[dev]; ok && now.Sub(d.asked) < deviceAge {
		return d.Device
	}
	if t.devices == nil || len(t.devices) >= maxDevices {
		t.devices = make(map[uint64]knownDevice)
	}
	d := deviceOf(dev)
	t.devices[dev] = knownDevice{d, now}
	return d
}

type fileKey struct{ dev, ino uint64 }

// Register registers an open file, duplicating its descriptor; f stays the
// caller's and may be closed at once. Beware of files that the process locks with
// fcntl(2): closing any descriptor of such a file, a File's too, drops the process's
// locks on it. flock(2), as bbolt uses it on Linux, is not affected.
//
// Register returns ErrNotRegular,
// ErrTooManyFiles, ErrNotSupported, or the error of the system call that failed.
func Register(f *os.File) (*File, error) {
	if f == nil {
		return nil, fmt.Errorf("hints: register: %w", os.ErrInvalid)
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("hints: register %s: %w", f.Name(), err)
	}
	var file *File
	var regErr error
	if err := rc.Control(func(fd uintptr) { file, regErr = register(int(fd)) }); err != nil {
		return nil, fmt.Errorf("hints: register %s: %w", f.Name(), err)
	}
	if regErr != nil {
		return nil, fmt.Errorf("hints: register %s: %w", f.Name(), regErr)
	}
	return file, nil
}

// RegisterFD is Register for those who have a descriptor and no *os.File; it stays
// theirs. It returns the errors of Register.
func RegisterFD(fd uintptr) (*File, error) {
	f, err := register(int(fd))
	if err != nil {
		return nil, fmt.Errorf("hints: register descriptor %d: %w", int(fd), err)
	}
	return f, nil
}

// Open opens the file at path for reading and registers it. Its errors are
// those of os.Open and of Register.
func Open(path string) (*File, error) {
	// O_NONBLOCK: a pipe without a writer must be refused, not waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Register(f)
}

func register(fd int) (*File, error) {
	st, err := statFD(fd)
	if err != nil {
		return nil, err
	}
	if !st.regular {
		return nil, ErrNotRegular
	}
	key := fileKey{st.dev, st.ino}

	table.Lock()
	defer table.Unlock()
	if f := table.files[key]; f != nil && f.Retain() {
		f.size.Store(st.size)
		return f, nil
	}
	if len(table.files) >= MaxFiles {
		return nil, ErrTooManyFiles
	}
	own, err := dupFD(fd)
	if err != nil {
		return nil, err
	}
	table.lastID++
	f := &File{id: table.lastID, fd: own, dev: st.dev, ino: st.ino, device: table.device(st.dev)}
	f.size.Store(st.size)
	f.refs.Store(1)
	table.files[key] = f
	return f, nil
}

// Retain takes a reference and reports whether it could: a File whose last
// reference was released stays closed.
func (f *File) Retain() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back. The last one closes the descriptor. Releasing
// more often than retaining panics: it would close a stranger's descriptor.
func (f *File) Release() {
	switch n := f.refs.Add(-1); {
	case n > 0:
	case n == 0:
		table.Lock()
		// A new File may have taken the key since the count fell to zero.
		if key := (fileKey{f.dev, f.ino}); table.files[key] == f {
			delete(table.files, key)
		}
		table.Unlock()
		closeFD(f.fd)
	default:
		panic("hints: File released more often than retained")
	}
}

// ID is unique among the files of this process and never reused.
func (f *File) ID() uint32 { return f.id }

// FD is the File's own descriptor, valid while the caller holds a reference.
// Nobody but Release may close it.
func (f *File) FD() int { return f.fd }

// Identity returns the device and inode numbers, as stat(2) gives them.
func (f *File) Identity() (dev, ino uint64) { return f.dev, f.ino }

// Device describes the block device below the file; its zero value where none
// is known.
func (f *File) Device() Device { return f.device }

// MaxRequest is the device's largest useful request in bytes, 0 where unknown.
func (f *File) MaxRequest() int64 { return f.device.MaxRequest }

// QueueDepth is how many requests the device's queue holds before a submitter has
// to wait, 0 where unknown.
func (f *File) QueueDepth() int { return f.device.QueueDepth }

// Size is the file's size in bytes as it was last seen.
func (f *File) Size() int64 { return f.size.Load() }

// Refresh asks the system for the size again, and returns it. The caller holds
// a reference. A file that can't be asked keeps its last size.
func (f *File) Refresh() int64 {
	if st, err := statFD(f.fd); err == nil {
		f.size.Store(st.size)
	}
	return f.size.Load()
}
