// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// maxLevels bounds the walk from a control group to the root.
const maxLevels = 64

// Read asks the kernel: /proc/meminfo, the control groups v1 and v2 that this
// process is in, and their pressure.
func Read() (State, error) { return read(os.DirFS("/")) }

// read takes the root directory as a file system, so that tests can lay one out.
func read(root fs.FS) (State, error) {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return State{}, err
	}
	info := fields(b)
	if _, ok := info["MemAvailable"]; !ok {
		return State{}, ErrNotSupported
	}
	s := State{Available: info["MemAvailable"] << 10, Limit: info["MemTotal"] << 10}
	s.Stalled = pressure(root, "proc/pressure/memory")

	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return s, nil // no control groups: the machine is the limit
	}
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			s.narrow(root, "sys/fs/cgroup", part[2], v2)
			s.narrow(root, "sys/fs/cgroup/unified", part[2], v2)
		case hasWord(part[1], "memory"):
			s.narrow(root, "sys/fs/cgroup/memory", part[2], v1)
		}
	}
	return s, nil
}

// version names the files of one version of the memory controller. Its file
// cache is the sum of cache's entries in stat.
type version struct {
	limit, usage, stat, pressure string
	cache                        []string
}

var (
	v1 = version{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "",
		[]string{"total_inactive_file", "total_active_file"}}
	v2 = version{"memory.max", "memory.current", "memory.stat", "memory.pressure",
		[]string{"inactive_file", "active_file"}}
)

// narrow applies the limits of a group and of all above it.
func (s *State) narrow(root fs.FS, mount, group string, v version) {
	group = path.Clean("/" + group)
	for range maxLevels {
		dir := path.Join(mount, group)
		if _, err := fs.Stat(root, dir); err != nil && group != "/" {
			// In a container the group's path is the host's, and its files lie at the
			// mount's root.
			group = "/"
			continue
		}
		limit, ok := number(root, path.Join(dir, v.limit))
		if ok && limit > 0 && limit < s.Limit {
			s.Limit = limit
		}
		if usage, known := number(root, path.Join(dir, v.usage)); ok && known {
			b, _ := fs.ReadFile(root, path.Join(dir, v.stat))
			stat := fields(b)
			for _, name := range v.cache {
				usage -= stat[name]
			}
			s.Available = min(s.Available, max(0, limit-usage))
		}
		if v.pressure != "" {
			s.Stalled = max(s.Stalled, pressure(root, path.Join(dir, v.pressure)))
		}
		if group == "/" {
			return
		}
		group = path.Dir(group)
	}
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// number reads a file of one number, 0 or more; "max" and anything else is not one.
func number(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil && n >= 0
}

// fields reads lines of "name number" or "name: number kB".
func fields(b []byte) map[string]int64 {
	m := make(map[string]int64)
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			m[strings.TrimSuffix(f[0], ":")] = n
		}
	}
	return m
}

// pressure reads the line "some avg10=1.23 ..." of a pressure file.
func pressure(root fs.FS, name string) float64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	for _, f := range strings.Fields(string(b)) {
		if v, ok := strings.CutPrefix(f, "avg10="); ok {
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				return x / 100
			}
			return 0
		}
	}
	return 0
}
