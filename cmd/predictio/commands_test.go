// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"

	"github.com/predictio/predictio"
)

func TestWarm(t *testing.T) {
	path := testDatabase(t)
	var r warmReport
	decode(t, succeed(t, "warm", "--json", "--budget", "1G", path), &r)
	if st, err := os.Stat(path); err != nil || r.FileBytes != st.Size() || r.File != path {
		t.Errorf("%+v, %v", r, err)
	}
	if r.ResidentAfter != nil && *r.ResidentAfter != r.FileBytes {
		t.Errorf("%d of %d bytes are cached", *r.ResidentAfter, r.FileBytes)
	}
	if text := succeed(t, "warm", "--budget", "1G", path); !strings.HasPrefix(text.stdout, path+": ") {
		t.Errorf("%q", text.stdout)
	}
	fails(t, exitFailed, []string{path, "larger than the budget", "1024"}, "warm", "--budget", "1K", path)
}

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	r := command(t.Context(), "doctor", "--json", "--dir", dir)
	var report doctorReport
	decode(t, r, &report)
	if (r.code == exitOK) != report.Works || r.code != exitOK && r.code != exitNotSupported {
		t.Errorf("exit %d, works %v: %s", r.code, report.Works, r.stderr)
	}
	if report.Why == "" || len(report.Probes) == 0 || report.Dir != dir || report.PageSize != os.Getpagesize() {
		t.Errorf("%+v", report)
	}
	for _, p := range report.Probes {
		if p.Name == "" || p.Detail == "" {
			t.Errorf("%+v says nothing", p)
		}
	}
	text := command(t.Context(), "doctor", "--dir", dir)
	for _, p := range report.Probes {
		if !strings.Contains(text.stdout, p.Name) {
			t.Errorf("%q is not in %q", p.Name, text.stdout)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDoctorOff(t *testing.T) {
	t.Setenv(predictio.EnvVar, "off")
	r := command(t.Context(), "doctor", "--json", "--dir", t.TempDir())
	var report doctorReport
	decode(t, r, &report)
	if r.code != exitNotSupported || report.Works || report.Backend != "off" || report.Env != "off" {
		t.Errorf("exit %d: %+v", r.code, report)
	}
}

func TestProbeSystem(t *testing.T) {
	file := &fstest.MapFile{}
	for _, c := range []struct {
		name        string
		root        fs.FS
		psi, cgroup bool
		detail      string
	}{
		{"nothing", fstest.MapFS{}, false, false, "no memory controller"},
		{"v1", fstest.MapFS{"sys/fs/cgroup/memory/memory.limit_in_bytes": file}, false, true, "v1"},
		{"v2", fstest.MapFS{"sys/fs/cgroup/cgroup.controllers": file, "proc/pressure/memory": file}, true, true, "v2"},
	} {
		p := probeSystem(c.root)
		if p[0].OK != c.psi || p[1].OK != c.cgroup || !strings.Contains(p[1].Detail, c.detail) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// A small demo: that it measures the right thing, not how fast it is.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	if fileSystemOf(dir).InMemory {
		fails(t, exitNotSupported, []string{"lies in memory", "--dir"}, "demo", "--dir", dir)
		t.Skip("the temp folder lies in memory")
	}
	small := func(args ...string) result {
		var r result
		var out strings.Builder
		root := newRootCmd()
		for _, cmd := range root.Commands() {
			if cmd.Name() == "demo" {
				cmd.RunE = func(cmd *cobra.Command, _ []string) error {
					return demo(cmd, dir, demoSpec{records: 4000, value: 1000, rows: 1000})
				}
			}
		}
		root.SetArgs(args)
		root.SetOut(&out)
		err := root.ExecuteContext(t.Context())
		if r.code = exitCode(t.Context(), err); r.code == exitNotSupported && os.Getenv("PREDICTIO_REQUIRE") == "" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.stdout = out.String()
		return r
	}
	var r demoReport
	decode(t, small("demo", "--json"), &r)
	if !r.Equal || r.Rows != 1000 || r.Records != 4000 || r.MS <= 0 || r.BaselineMS <= 0 || r.Speedup <= 0 {
		t.Errorf("%+v", r)
	}
	if r.BaselineRead != nil && *r.BaselineRead == 0 {
		t.Error("a cold scan read nothing from storage")
	}
	if text := small("demo").stdout; !strings.Contains(text, "times as fast, same rows") || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDemoOff(t *testing.T) {
	t.Setenv(predictio.EnvVar, "off")
	fails(t, exitUsage, []string{"PREDICTIO=off"}, "demo", "--dir", t.TempDir())
}

func TestDemoNeedsSpace(t *testing.T) {
	if fs := fileSystemOf(t.TempDir()); fs.InMemory || fs.Free == 0 {
		t.Skip("not known, or in memory")
	}
	if _, err := demoDir(t.TempDir(), 1<<60); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("%v", err)
	}
}
