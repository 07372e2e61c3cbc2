// SPDX-License-Identifier: Apache-2.0

package governor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
)

// TestGovernor runs testdata/governor: a walk's events, one a line, and what the
// governor makes of each. After a change of its constants: go test -rewrite.
//
//	new [warm] [start=N] [part=keys|all]    a walk after others
//	do                                      what happens to it:
//	  cross N              N children were entered
//	  filled               the window was filled
//	  fetched N hits=H     N requests, of which H were resident; H=? if nobody knows
//	  probe hit|miss       of a silent walk
//	  restart ahead=N      positioned anew, N fetched children not come to; [known]
//	  control hit|miss     a page that nobody fetched was resident, or not
//	  controls N           how many of N fetched children are controls
func TestGovernor(t *testing.T) {
	var g Governor
	datadriven.RunTest(t, "testdata/governor", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			p := Prior{Warm: d.HasArg("warm")}
			d.MaybeScanArgs(t, "start", &p.Start)
			var part string
			if d.MaybeScanArgs(t, "part", &part); part == "all" {
				p.Part = hints.PartAll
			}
			g = New(p)
			return state(&g) + "\n"
		case "do":
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				note := do(t, &g, line)
				fmt.Fprintf(&out, "%-20s -> %s%s\n", line, note, state(&g))
			}
			return out.String()
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

// state says what the governor would have its walk do.
func state(g *Governor) string {
	part := "keys"
	if g.Part() == hints.PartAll {
		part = "all"
	}
	if g.Silent() {
		return fmt.Sprintf("silent, probe after %d, %s", g.Skip(), part)
	}
	return fmt.Sprintf("window %d, refill at %d, %s", g.Window(), g.Refill(g.Window()), part)
}

// do plays one line of a script.
func do(t *testing.T, g *Governor, line string) (note string) {
	t.Helper()
	var n int
	f := strings.Fields(line)
	if len(f) > 1 {
		fmt.Sscan(strings.TrimPrefix(f[1], "ahead="), &n)
	}
	hit := len(f) > 1 && f[1] == "hit"
	switch f[0] {
	case "cross":
		g.Cross(n)
	case "filled":
		g.Filled()
	case "fetched":
		hits := -1
		fmt.Sscan(strings.TrimPrefix(f[2], "hits="), &hits)
		g.Fetched(n, hits)
	case "probe":
		g.Probed(hit)
	case "restart":
		g.Restart(n, len(f) > 2 && f[2] == "known")
	case "control":
		g.Control(hit)
	case "controls":
		controls := 0
		for range n {
			if g.NextControl() {
				controls++
			}
		}
		note = fmt.Sprintf("%d, ", controls)
	default:
		t.Fatalf("unknown event %q", line)
	}
	return note
}

// Whatever happens, the window and the probes keep their bounds.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := New(Prior{
			Warm:  rapid.Bool().Draw(t, "warm"),
			Start: rapid.IntRange(0, startWindow).Draw(t, "start"),
		})
		known := false
		t.Repeat(map[string]func(*rapid.T){
			"cross":  func(t *rapid.T) { g.Cross(rapid.IntRange(0, 1<<30).Draw(t, "n")) },
			"filled": func(*rapid.T) { g.Filled() },
			"fetched": func(t *rapid.T) {
				n := rapid.IntRange(-1, 1024).Draw(t, "requests")
				g.Fetched(n, rapid.IntRange(-1, max(0, n)).Draw(t, "resident"))
			},
			"probed": func(t *rapid.T) { g.Probed(rapid.Bool().Draw(t, "resident")) },
			"restart": func(t *rapid.T) {
				known = rapid.Bool().Draw(t, "known")
				g.Restart(rapid.IntRange(0, MaxWindow).Draw(t, "ahead"), known)
			},
			"control":     func(t *rapid.T) { g.Control(rapid.Bool().Draw(t, "resident")) },
			"nextControl": func(*rapid.T) { g.NextControl() },
			"": func(t *rapid.T) {
				w := g.Window()
				if w < 1 || w > MaxWindow {
					t.Fatalf("window %d", w)
				}
				if r := g.Refill(w); r < 0 || r >= w {
					t.Fatalf("refill at %d of a window of %d: it would never be used up", r, w)
				}
				if s := g.Skip(); s < 1 || s > maxSkip {
					t.Fatalf("skip %d", s)
				}
				if g.credit > maxCredit {
					t.Fatalf("credit %d", g.credit)
				}
				if p := g.Prior(); p.Start < minStartWindow || p.Start > startWindow {
					t.Fatalf("first window %d", p.Start)
				}
			},
		})
	})
}

// A walk over cached pages falls silent, whatever it had to wait for before, and
// then asks ever more rarely; one miss wakes it.
func TestSilence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := New(Prior{})
		for range rapid.IntRange(0, 100).Draw(t, "cold batches") {
			g.Fetched(rapid.IntRange(1, 16).Draw(t, "cold"), 0)
		}
		requests := 0
		for !g.Silent() {
			n := rapid.IntRange(1, 16).Draw(t, "warm")
			g.Fetched(n, n)
			if requests += n; requests > 2*maxCredit {
				t.Fatalf("not silent after %d resident requests", requests)
			}
		}
		for last := 0; last < maxSkip; {
			if g.Skip() < last {
				t.Fatalf("probes after %d, %d before", g.Skip(), last)
			}
			last = g.Skip()
			g.Probed(true)
			if !g.Silent() {
				t.Fatal("a hit woke the walk")
			}
		}
		if g.Probed(true); g.Skip() != maxSkip {
			t.Fatalf("probes after %d, want %d in the end", g.Skip(), maxSkip)
		}
		if g.Probed(false); g.Silent() || g.Window() > startWindow {
			t.Fatalf("silent %v, window %d after a miss", g.Silent(), g.Window())
		}
	})
}

// What nobody knows teaches nothing.
func TestUnknownTeachesNothing(t *testing.T) {
	g := New(Prior{})
	before := g
	for range 1000 {
		g.Fetched(8, -1)
		g.Fetched(0, 0)
	}
	if g != before {
		t.Errorf("%+v, want %+v", g, before)
	}
}

// Walks that end at once make the next first window smaller, and long ones make
// it what it was.
func TestFirstWindowLearns(t *testing.T) {
	g := New(Prior{})
	for range 10 {
		g.Cross(1)
		g.Restart(g.Window(), false)
	}
	if got := g.Prior().Start; got != minStartWindow {
		t.Errorf("first window %d after short walks, want %d", got, minStartWindow)
	}
	for range 10 {
		g.Cross(1000)
		g.Restart(10, false)
	}
	if got := g.Prior().Start; got != startWindow {
		t.Errorf("first window %d after long walks, want %d", got, startWindow)
	}
}
