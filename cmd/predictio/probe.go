// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/predictio/predictio/internal/pagecache"
	"github.com/predictio/predictio/testbeds/device"
)

const (
	// probePages is the temp file's size: more than one page, less than the
	// kernel would read ahead of its own accord.
	probePages = 8
	// probeWait is how long a requested page may take to arrive.
	probeWait = 2 * time.Second
)

// probeFile makes a temp file whose pages are on the device. The caller closes
// and removes it.
func probeFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "predictio-doctor-")
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(make([]byte, probePages*pagecache.PageSize)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// probeFetch drops the file, asks for a page and waits until it is there.
func probeFetch(ctx context.Context, f *os.File) probe {
	p := probe{Name: "fadvise"}
	fd, sys := int(f.Fd()), pagecache.System
	if err := pagecache.Evict(f); err != nil {
		p.Detail = "can't drop pages: " + err.Error()
		return p
	}
	dropped, err := sys.NoWait(fd, 0)
	told := err == nil
	if err := sys.WillNeed(fd, 0, pagecache.PageSize); err != nil {
		p.Detail = "can't ask for pages (" + err.Error() + "): plain demand paging is what is left"
		return p
	}
	switch {
	case !told:
		p.OK, p.Detail = true, "accepted; whether pages arrive can't be seen here"
		return p
	case dropped: // readable at once: it was not dropped
		p.OK, p.Detail = true, "accepted, but this file system keeps pages that it was asked to drop: cold runs can't be made here"
		return p
	}
	for deadline := time.Now().Add(probeWait); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if there, err := sys.NoWait(fd, 0); err == nil && there {
			p.OK, p.Detail = true, "a dropped page came back when asked for; any kernel has it"
			return p
		}
	}
	p.Detail = "accepted, but no page came: this file system ignores it"
	return p
}

// probeAnswers tries what tells whether pages are resident.
func probeAnswers(f *os.File) []probe {
	fd, sys := int(f.Fd()), pagecache.System
	cached := probe{Name: "cachestat", OK: true, Detail: "tells what is cached; Linux 6.5 or later"}
	if _, err := sys.Cached(fd, 0, pagecache.PageSize); err != nil {
		cached.OK = false
		cached.Detail = refusal(err, "Linux before 6.5", "sweeps go by the memory budget alone, single pages are asked for with RWF_NOWAIT")
	}
	noWait := probe{Name: "RWF_NOWAIT", OK: true, Detail: "tells whether a page can be read without waiting"}
	if _, err := sys.NoWait(fd, 0); err != nil {
		noWait.OK = false
		noWait.Detail = refusal(err, "Linux before 4.14, or a file system without it", "late prefetches are not counted; without cachestat too, values are fetched unasked")
	}
	mincore := probe{Name: "mincore", OK: true, Detail: "only verifies cold runs, of files we may write: of others it calls everything cached"}
	if _, err := device.Resident(f.Name()); err != nil {
		mincore.OK = false
		mincore.Detail = refusal(err, "or another system", "without cachestat, cold runs can't be verified")
	}
	return []probe{cached, noWait, mincore}
}

// refusal says why a call failed and what follows.
func refusal(err error, missing, follows string) string {
	why := err.Error()
	switch {
	case errors.Is(err, fs.ErrPermission):
		why += ", refused by a container or for a file that is not ours"
	case pagecache.Unsupported(err):
		why += ", " + missing
	}
	return why + ": " + follows
}

// probeSystem looks for the kernel's files about memory.
func probeSystem(root fs.FS) []probe {
	has := func(name string) bool {
		f, err := root.Open(name)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	psi := probe{Name: "PSI", OK: has("proc/pressure/memory"), Detail: "tells when tasks wait for memory"}
	if !psi.OK {
		psi.Detail = "no /proc/pressure/memory: shortage shows only in what is available"
	}
	group := probe{Name: "cgroup", OK: true}
	switch {
	case has("sys/fs/cgroup/cgroup.controllers"):
		group.Detail = "v2: limits of the own group and those above it count"
	case has("sys/fs/cgroup/memory/memory.limit_in_bytes"):
		group.Detail = "v1: limits of the own group and those above it count"
	case has("sys/fs/cgroup/unified/cgroup.controllers"):
		group.Detail = "hybrid, without a memory controller that can be read"
	default:
		group.OK, group.Detail = false, "no memory controller can be read: the machine's memory is the limit"
	}
	return []probe{psi, group}
}
