// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"maps"
	"testing"
	"testing/fstest"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// machine has 8 GiB, 6 of them available.
var machine = layout{"proc/meminfo": "MemTotal:        8388608 kB\nMemFree:  1 kB\nMemAvailable:    6291456 kB\n"}

// layout is the text of files by name.
type layout map[string]string

// with returns the files of both.
func (l layout) with(more layout) layout {
	all := maps.Clone(l)
	maps.Copy(all, more)
	return all
}

func (l layout) fs() fstest.MapFS {
	root := make(fstest.MapFS)
	for name, text := range l {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestRead(t *testing.T) {
	whole := State{Available: 6 * gib, Limit: 8 * gib}
	for _, tc := range []struct {
		name  string
		files layout
		want  State
	}{
		{"no control groups", nil, whole},
		{"an empty list of groups", layout{"proc/self/cgroup": ""}, whole},
		{"garbage for a list", layout{"proc/self/cgroup": "\x00\n::::\nhello\n0:\n"}, whole},
		{"a group without files", layout{"proc/self/cgroup": "0::/a/b\n"}, whole},
		{"the machine's pressure", layout{
			"proc/pressure/memory": "some avg10=12.50 avg60=0.00 avg300=0.00 total=0\nfull avg10=99.00 avg60=0 avg300=0 total=0\n",
		}, State{6 * gib, 8 * gib, 0.125}},
		{"garbage for pressure", layout{"proc/pressure/memory": "some avg10=much"}, whole},

		{"v2", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "1073741824\n",
			"sys/fs/cgroup/app/memory.current": "805306368\n",
			"sys/fs/cgroup/app/memory.stat":    "anon 1\ninactive_file 134217728\nactive_file 134217728\n",
		}, State{512 * mib, 1 * gib, 0}},
		{"v2 without a limit", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "max\n",
			"sys/fs/cgroup/app/memory.current": "805306368\n",
		}, whole},
		{"v2, the parent's limit", layout{
			"proc/self/cgroup":                   "0::/user/app\n",
			"sys/fs/cgroup/user/app/memory.max":  "max\n",
			"sys/fs/cgroup/user/memory.max":      "2147483648\n",
			"sys/fs/cgroup/user/memory.current":  "1073741824\n",
			"sys/fs/cgroup/user/memory.pressure": "some avg10=50.00 avg60=0 avg300=0 total=1\n",
		}, State{1 * gib, 2 * gib, 0.5}},
		{"v2, the limit above the machine's", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "1099511627776\n",
			"sys/fs/cgroup/app/memory.current": "0\n",
		}, whole},
		{"v2, over its limit", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "1048576\n",
			"sys/fs/cgroup/app/memory.current": "2097152\n",
		}, State{0, 1 * mib, 0}},
		{"v2, usage missing", layout{
			"proc/self/cgroup":             "0::/app\n",
			"sys/fs/cgroup/app/memory.max": "1073741824\n",
		}, State{6 * gib, 1 * gib, 0}},
		{"v2, garbage", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "lots\n",
			"sys/fs/cgroup/app/memory.current": "12\n",
			"sys/fs/cgroup/app/memory.stat":    "inactive_file\nactive_file x\n\n",
		}, whole},
		{"v2, a limit that is none", layout{
			"proc/self/cgroup":                 "0::/app\n",
			"sys/fs/cgroup/app/memory.max":     "-1\n",
			"sys/fs/cgroup/app/memory.current": "12\n",
		}, whole},
		{"v2 in a container: the path is the host's", layout{
			"proc/self/cgroup":             "0::/system.slice/docker-0123.scope\n",
			"sys/fs/cgroup/memory.max":     "1073741824\n",
			"sys/fs/cgroup/memory.current": "536870912\n",
		}, State{512 * mib, 1 * gib, 0}},
		{"v2 in a container: the path leads out", layout{
			"proc/self/cgroup":             "0::/../../other\n",
			"sys/fs/cgroup/memory.max":     "1073741824\n",
			"sys/fs/cgroup/memory.current": "536870912\n",
		}, State{512 * mib, 1 * gib, 0}},

		{"v1", layout{
			"proc/self/cgroup": "12:cpu,cpuacct:/x\n4:memory:/app\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/app/memory.usage_in_bytes": "805306368\n",
			"sys/fs/cgroup/memory/app/memory.stat":           "total_inactive_file 134217728\ntotal_active_file 134217728\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "4294967296\n",
		}, State{512 * mib, 1 * gib, 0}},
		{"v1 with controllers side by side", layout{
			"proc/self/cgroup": "4:cpuset,memory,pids:/app\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/app/memory.usage_in_bytes": "0\n",
		}, State{1 * gib, 1 * gib, 0}},
		{"v1, another controller's name has ours in it", layout{
			"proc/self/cgroup": "4:memoryless:/app\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
		}, whole},
		{"v1 in a container", layout{
			"proc/self/cgroup":                           "4:memory:/docker/0123\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "536870912\n",
		}, State{512 * mib, 1 * gib, 0}},
		{"hybrid: v1 memory beside a unified tree", layout{
			"proc/self/cgroup": "4:memory:/app\n0::/app\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/app/memory.usage_in_bytes": "536870912\n",
			"sys/fs/cgroup/unified/app/memory.pressure":      "some avg10=20.00 avg60=0 avg300=0 total=1\n",
		}, State{512 * mib, 1 * gib, 0.2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(machine.with(tc.files).fs())
			if err != nil || got != tc.want {
				t.Errorf("read() = %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestReadWithoutMeminfo(t *testing.T) {
	if _, err := read(layout{}.fs()); err == nil {
		t.Error("no error although the system does not tell")
	}
}

// Garbage must not look like a shortage: that would stop all prefetching.
func TestGarbageMeminfoIsNoShortage(t *testing.T) {
	for _, text := range []string{"", "MemTotal", "MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal: 8388608 kB\n"} {
		s, err := read(layout{"proc/meminfo": text}.fs())
		if err == nil && s.Short() {
			t.Errorf("%q reads as %+v, which is short", text, s)
		}
	}
}

func TestReadHere(t *testing.T) {
	s, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if s.Limit <= 0 || s.Available < 0 || s.Stalled < 0 || s.Stalled > 1 {
		t.Errorf("%+v makes no sense", s)
	}
}
