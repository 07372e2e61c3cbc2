// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/policy"
)

// TestReads runs testdata/*: reads of a file, and what the policy of that name makes of
// them. Numbers are KiB. After a change: go test -rewrite.
//
//	file SIZE                                     a new file, and a new stream
//	limits [bytes=N] [requests=N] [pressure]
//	cache cold|warm|blind-warm                    what is asked for is cached or not; blind: only questions tell
//	do                                            what happens to the stream:
//	  OFF+LEN [xN] [down] [step=N] [cached]       N reads, step (of LEN) apart; cached: without waiting
//	  window OFF+LEN                              the engine predicts it
//	  end
//
// Reads that come to nothing are not shown, but for the last of several.
func TestReads(t *testing.T) {
	for name, p := range map[string]*Policy{"native": Native(), "coalesced": Coalesced(), "files": Files()} {
		t.Run(name, func(t *testing.T) {
			var h *harness
			datadriven.RunTest(t, "testdata/"+name, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "file":
					var n int64
					fmt.Sscan(d.CmdArgs[0].Key, &n)
					h = newHarness(t, p, testwalk.File(t, n*kib))
				case "limits":
					h.limits = policy.Limits{Requests: 256, Bytes: 16 << 20, Pressure: d.HasArg("pressure")}
					d.MaybeScanArgs(t, "requests", &h.limits.Requests)
					if d.MaybeScanArgs(t, "bytes", &h.limits.Bytes) {
						h.limits.Bytes *= kib
					}
				case "cache":
					h.resident, h.blind = d.HasArg("warm") || d.HasArg("blind-warm"), d.HasArg("blind-warm")
				case "do":
					var out strings.Builder
					for line := range strings.Lines(d.Input) {
						do(h, strings.TrimSpace(line), &out)
					}
					return out.String()
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
				return ""
			})
		})
	}
}

// do plays one line of a script.
func do(h *harness, line string, out *strings.Builder) {
	var off, n, step int64
	times, dir, waited := 1, int64(1), true
	words := strings.Fields(line)
	switch words[0] {
	case "end":
		fmt.Fprintf(out, "end: wasted %d\n", h.end())
		return
	case "window":
		fmt.Sscanf(words[1], "%d+%d", &off, &n)
		h.window(off*kib, n*kib)
		fmt.Fprintf(out, "window %d+%d:%s\n", off, n, h.told())
		return
	}
	fmt.Sscanf(words[0], "%d+%d", &off, &n)
	step = n
	for _, w := range words[1:] {
		fmt.Sscanf(w, "x%d", &times)
		fmt.Sscanf(w, "step=%d", &step)
		if w == "down" {
			dir = -1
		}
		waited = waited && w != "cached"
	}
	for i := range times {
		h.read(off*kib, n*kib, waited)
		if told := h.told(); told != "" || i == times-1 {
			if told == "" {
				told = " -"
			}
			fmt.Fprintf(out, "%d+%d:%s\n", off, n, told)
		}
		off += dir * step
	}
}

func TestNames(t *testing.T) {
	for i, want := range []string{"readahead", "readahead-coalesced", "filescan"} {
		p := policies[i]
		kinds := 2
		if p.files {
			kinds = 1
		}
		if p.Name() != want || len(p.Kinds()) != kinds || p.Kinds()[0] != hints.KindFileAccess {
			t.Errorf("%s %v, want %s", p.Name(), p.Kinds(), want)
		}
	}
}

func TestOtherEvents(t *testing.T) {
	file := testwalk.File(t, 1<<20)
	for _, p := range policies {
		h := newHarness(t, p, file)
		for _, e := range []hints.Event{
			&hints.WillNeed{}, &hints.FileAccess{}, &hints.ReadaheadWindow{},
			&hints.FileAccess{Extent: hints.Extent{File: file, Off: 1 << 20, Len: 1}},
			&hints.ReadaheadWindow{Window: hints.Extent{File: file, Off: 1 << 20, Len: 1}},
		} {
			if xs := h.emit(e); len(xs) > 0 || h.batch.HeldRequests > 0 {
				t.Errorf("%s: %v of an event that names no byte", p.Name(), xs)
			}
		}
		if *h.stream != (stream{policy: p}) {
			t.Errorf("%s has learned from it: %+v", p.Name(), *h.stream)
		}
	}
}

// A stream whose events name several files, as those of a process do, mixes none.
func TestFilesAreApart(t *testing.T) {
	a, b := testwalk.File(t, 1<<20), testwalk.File(t, 1<<20)
	for _, p := range policies {
		h := newHarness(t, p, nil)
		for i := range int64(2 * needReads) {
			if h.file = a; i%2 == 1 {
				h.file = b
			}
			xs := h.read(i*32*kib, 32*kib, true)
			if third := i/2 == needReads-1; third != (len(xs) == 1) || third && xs[0].File != h.file {
				t.Errorf("%s: %v for read %d of %d", p.Name(), xs, i, h.file.ID())
			}
		}
	}
}

func TestHandleDoesNotAllocate(t *testing.T) {
	file := testwalk.File(t, 1<<34)
	for _, p := range policies {
		s := p.NewStream()
		b := policy.Batch{Limits: policy.Limits{Requests: 256, Bytes: 16 << 20}, Extents: make([]hints.Extent, 0, 16)}
		read := &hints.FileAccess{Waited: true, Extent: hints.Extent{File: file, Len: 32 * kib}}
		point := &hints.FileAccess{Waited: true, Extent: hints.Extent{File: file, Len: 4 * kib}}
		window := &hints.ReadaheadWindow{Window: hints.Extent{File: file, Off: 8 << 30, Len: 64 * kib}}
		o := policy.Outcome{Requests: 1, Accepted: 1}
		fetched := 0
		if n := testing.AllocsPerRun(10_000, func() {
			for _, e := range [...]hints.Event{read, point, window} {
				s.Handle(e, &b)
				if b.Wants() {
					fetched++
					s.Settle(&o)
				}
				b.Reset()
			}
			read.Extent.Off += read.Extent.Len
			point.Extent.Off = (point.Extent.Off + 1<<30 + 1<<20) % (8 << 30)
			window.Window.Off += window.Window.Len
		}); n != 0 {
			t.Errorf("%s: %v allocations an event", p.Name(), n)
		}
		if fetched < 40 {
			t.Errorf("%s fetched %d times: this shows nothing", p.Name(), fetched)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	file := testwalk.File(b, 1<<40)
	for _, p := range policies {
		b.Run(p.Name(), func(b *testing.B) {
			h := newHarness(b, p, file)
			h.batch.Limits = h.limits
			e := &hints.FileAccess{Waited: true, Extent: hints.Extent{File: file, Len: 32 * kib}}
			for b.Loop() {
				h.stream.Handle(e, &h.batch)
				h.batch.Reset()
				e.Extent.Off = (e.Extent.Off + e.Extent.Len) % (1 << 39)
			}
		})
	}
}
