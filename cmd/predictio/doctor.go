// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/memory"
)

// doctorReport is what doctor --json prints. Sizes are in bytes.
type doctorReport struct {
	Version    string        `json:"version"`
	Go         string        `json:"go"`
	OS         string        `json:"os"`
	Arch       string        `json:"arch"`
	Kernel     string        `json:"kernel,omitempty"`
	PageSize   int           `json:"page_size"`
	Env        string        `json:"env,omitempty"` // PREDICTIO, where set
	Backend    string        `json:"backend"`
	Why        string        `json:"why"` // this backend
	Works      bool          `json:"works"`
	Dir        string        `json:"dir"`
	FileSystem string        `json:"file_system,omitempty"`
	Device     *deviceReport `json:"device,omitempty"`
	Memory     *memoryReport `json:"memory,omitempty"`
	Probes     []probe       `json:"probes"`
}

type deviceReport struct {
	Name       string `json:"name"`
	ReadAhead  int64  `json:"read_ahead_bytes"`
	MaxRequest int64  `json:"max_request_bytes"`
	QueueDepth int    `json:"queue_depth"`
	Rotational bool   `json:"rotational"`
}

type memoryReport struct {
	Available int64   `json:"available_bytes"`
	Limit     int64   `json:"limit_bytes"`
	Stalled   float64 `json:"stalled"` // share of the last ten seconds
	Short     bool    `json:"short"`
}

// probe is one thing that was tried.
type probe struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was seen, or what follows
}

func newDoctorCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine, and why",
		Long: `Say what works on this machine, and why. What prefetching needs is tried on a
small temp file in --dir, not read off the kernel's version. Exits with 3 if
nothing can be prefetched here.

With --json: version, go, os, arch, kernel, page_size, env, backend, why, works,
dir, file_system, device (name, read_ahead_bytes, max_request_bytes, queue_depth,
rotational), memory (available_bytes, limit_bytes, stalled, short), probes (name,
ok, detail).`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&dir, "dir", os.TempDir(), "the folder of the data to be read")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return doctor(cmd, dir) }
	return cmd
}

func doctor(cmd *cobra.Command, dir string) error {
	if st, err := os.Stat(dir); err != nil {
		return usagef("--dir: %w", err)
	} else if !st.IsDir() {
		return usagef("--dir: %s is not a directory", dir)
	}
	r, err := examine(cmd.Context(), dir)
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		err = printJSON(cmd.OutOrStdout(), r)
	} else {
		err = r.print(cmd.OutOrStdout())
	}
	if err == nil && !r.Works {
		err = notHeref("nothing is prefetched: %s", r.Why)
	}
	return err
}

// examine tries everything on a temp file in dir.
func examine(ctx context.Context, dir string) (*doctorReport, error) {
	fs := fileSystemOf(dir)
	r := &doctorReport{
		Version: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernel: kernelRelease(), PageSize: os.Getpagesize(), Env: os.Getenv(predictio.EnvVar),
		Dir: dir, FileSystem: fs.Name,
	}
	if s, err := memory.Read(); err == nil {
		r.Memory = &memoryReport{s.Available, s.Limit, s.Stalled, s.Short()}
	}
	f, err := probeFile(dir)
	if err != nil {
		return nil, fmt.Errorf("a temp file to try things on: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if file, err := hints.Register(f); err == nil {
		if d := file.Device(); d.Name != "" {
			r.Device = &deviceReport{d.Name, d.ReadAhead, d.MaxRequest, d.QueueDepth, d.Rotational}
		}
		file.Release()
	}
	fetches := probeFetch(ctx, f)
	r.Probes = append([]probe{fetches}, probeAnswers(f)...)
	r.Probes = append(r.Probes, probeSystem(os.DirFS("/"))...)

	rt, err := predictio.Open(predictio.Options{})
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	r.Backend = rt.Backend()
	switch {
	case rt.Off():
		r.Why = predictio.EnvVar + "=off is set"
	case fs.InMemory:
		r.Why = dir + " lies in memory (" + fs.Name + "): nothing is ever read from a device there"
	case !fetches.OK:
		r.Why = fetches.Detail
	default:
		r.Works, r.Why = true, "posix_fadvise works from user space, without privilege, and a dropped page came back"
	}
	return r, ctx.Err()
}

func (r *doctorReport) print(w io.Writer) error {
	s := styleOf(w)
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("predictio", "%s, %s, %s/%s", r.Version, r.Go, r.OS, r.Arch)
	line("kernel", "%s, pages of %d bytes", orUnknown(r.Kernel), r.PageSize)
	if r.Env != "" {
		line("environment", "%s=%s", predictio.EnvVar, r.Env)
	}
	line("folder", "%s on %s", r.Dir, orUnknown(r.FileSystem))
	if d := r.Device; d != nil {
		kind := "no moving parts"
		if d.Rotational {
			kind = "rotational by its own account"
		}
		line("device", "%s: readahead %s, largest request %s, queue %d, %s",
			d.Name, bytesText(d.ReadAhead), bytesText(d.MaxRequest), d.QueueDepth, kind)
	} else {
		line("device", "unknown: requests are of 128 KiB at most")
	}
	if m := r.Memory; m != nil {
		short := ""
		if m.Short {
			short = "; short: nothing is prefetched now"
		}
		line("memory", "%s of %s available, tasks waited for memory %.1f%% of the time%s",
			bytesText(m.Available), bytesText(m.Limit), 100*m.Stalled, short)
	} else {
		line("memory", "unknown: no sweeps")
	}
	for _, p := range r.Probes {
		mark := s.green("yes")
		if !p.OK {
			mark = s.red("no ")
		}
		line(p.Name, "%s  %s", mark, p.Detail)
	}
	line("backend", "%s: %s", s.bold(r.Backend), r.Why)
	_, err := io.WriteString(w, b.String())
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
