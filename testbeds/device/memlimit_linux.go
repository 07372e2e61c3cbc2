// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryLimit is a control group with a memory limit that this process has
// entered.
type MemoryLimit struct {
	dir  string
	home string // cgroup.procs of the group it came from
}

// EnterMemoryLimit puts this process under a memory limit, page cache included,
// until Leave. It needs root and a memory controller, v1 or v2; its error matches
// ErrNotSupported otherwise.
func EnterMemoryLimit(bytes int64) (*MemoryLimit, error) {
	var errs []string
	for _, v := range []struct{ mount, limit, controller string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory"},
		{"/sys/fs/cgroup", "memory.max", ""},
	} {
		own, err := ownGroup(v.controller)
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		home := filepath.Join(v.mount, own, "cgroup.procs")
		// In a container the group's path may be the host's: no way back, no way in.
		if f, err := os.OpenFile(home, os.O_WRONLY, 0); err != nil {
			errs = append(errs, err.Error())
			continue
		} else {
			f.Close()
		}
		dir := filepath.Join(v.mount, fmt.Sprintf("predictio-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			errs = append(errs, err.Error())
			continue
		}
		m := &MemoryLimit{dir: dir, home: home}
		if err := os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.FormatInt(bytes, 10)), 0); err != nil {
			os.Remove(dir)
			errs = append(errs, err.Error())
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			os.Remove(dir)
			errs = append(errs, err.Error())
			continue
		}
		return m, nil
	}
	return nil, fmt.Errorf("%w: memory limit: %s", ErrNotSupported, strings.Join(errs, "; "))
}

// Leave goes back to the group that the process came from.
func (m *MemoryLimit) Leave() error {
	if err := os.WriteFile(m.home, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return err
	}
	return os.Remove(m.dir)
}

// ownGroup returns this process's group for a v1 controller, or "" for v2.
func ownGroup(controller string) (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && f[1] == controller {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("no control group of controller %q", controller)
}
