// SPDX-License-Identifier: Apache-2.0

package keyscan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

var outcomes = map[string]func(*policy.Outcome){
	"absent": absent, "resident": resident, "unknown": unknown,
	"failed": failed, "dropped": dropped, "recent": recent,
}

// TestScans runs testdata/*: scripts of scans over made-up runs. After a change of the
// policy's constants: go test -rewrite.
//
//	policy [blind]           a new policy and its first stream; blind: waits can't be seen
//	do                       what happens to it, one thing a line; "N x" before it: so often
//	  runs N total=SIZE [index=N]
//	                         the next scans read N runs, once N indexes have arrived
//	  outcome absent|resident|unknown|failed|dropped|recent
//	                         what becomes of requests from now on
//	  limits [bytes=SIZE] [pressure]
//	  store N                the next scans are of this store
//	  under-way SIZE         a new stream meets a scan that has come so far, unseen
//	  start [known] [want=SIZE] [reads=N] [waits=N]
//	                         a scan begins; the engine has read since the last event
//	  pass SIZE|all|none [reads=N] [waits=N]
//	                         it goes on by so much
//	  go [reads=N] [waits=N] it goes on as far as it was told to
//	  new                    another stream takes over
//	  end                    the stream ends
//
// Sizes are in bytes: "64k", "1m". Each event's line says how many bytes were asked for, how
// many bytes and extents came, what is held, the window, and the advice.
func TestScans(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") {
			t.Skip()
		}
		var h *harness
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				h = newHarness(t)
				h.blind = d.HasArg("blind")
				return ""
			case "do":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					times, what := 1, line
					if n, rest, ok := strings.Cut(line, " x "); ok {
						fmt.Sscan(n, &times)
						what = rest
					}
					for range times {
						note := h.do(t, what)
						if note != "" {
							fmt.Fprintf(&out, "%-22s -> %s\n", what, note)
						}
					}
				}
				return out.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// do plays one line of a script, and says what the stream made of it.
func (h *harness) do(t *testing.T, line string) (note string) {
	t.Helper()
	f := strings.Fields(line)
	args := make(map[string]string)
	for _, a := range f[1:] {
		key, value, _ := strings.Cut(a, "=")
		args[key] = value
	}
	number := func(key string) (n int64) {
		if s, ok := args[key]; ok {
			n = parseSize(t, s)
		}
		return n
	}
	takes, taken := 0, int64(0)
	if h.runs != nil {
		takes, taken = h.runs.takes, h.runs.taken
	}
	h.count(uint64(number("reads")), uint64(number("waits")))
	_, h.limits.Pressure = args["pressure"]
	switch f[0] {
	case "runs":
		h.layout.runs = int(parseSize(t, f[1]))
		h.layout.total, h.layout.index = number("total"), int(number("index"))
		return ""
	case "outcome":
		if h.answer = outcomes[f[1]]; h.answer == nil {
			t.Fatalf("unknown outcome %q", f[1])
		}
		return ""
	case "limits":
		h.limits.Bytes = number("bytes")
		return ""
	case "store":
		h.event.Store = uint64(parseSize(t, f[1]))
		return ""
	case "start":
		_, h.event.KnownEnd = args["known"]
		h.event.Want = number("want")
		takes, taken = 0, 0
		h.start()
	case "under-way":
		h.open()
		h.event.Passed = parseSize(t, f[1])
		r := h.layout
		r.placed, r.taken = true, h.event.Passed
		h.runs, takes, taken = &r, 0, r.taken
		h.emit()
	case "pass":
		switch f[1] {
		case "all":
			h.pass(h.runs.taken)
		case "none":
			h.pass(0)
		default:
			h.pass(parseSize(t, f[1]))
		}
	case "go":
		if h.advice.Skip >= hints.Silent {
			return "silent"
		}
		h.pass(max(blockBytes, int64(h.advice.Skip)))
	case "new":
		h.open()
		return ""
	case "end":
		return fmt.Sprintf("wasted %d", h.end())
	default:
		t.Fatalf("unknown event %q", line)
	}
	return h.describe(takes, taken)
}

// describe says what an event came to, given what had been taken before.
func (h *harness) describe(takes int, taken int64) string {
	var w strings.Builder
	switch n := h.runs.takes - takes; n {
	case 0:
		w.WriteString("no take")
	case 1:
		fmt.Fprintf(&w, "asked %s, got %s in %d", size(h.runs.asked), size(h.runs.taken-taken), len(h.batch.Extents))
	default:
		fmt.Fprintf(&w, "%d takes", n)
	}
	b := &h.batch
	fmt.Fprintf(&w, ", held %d/%s", b.HeldRequests, size(b.HeldBytes))
	if b.Useful > 0 {
		fmt.Fprintf(&w, ", useful %d", b.Useful)
	}
	if b.Wasted > 0 {
		fmt.Fprintf(&w, ", wasted %d", b.Wasted)
	}
	if h.advice.Skip >= hints.Silent {
		w.WriteString(", silent")
		if h.advice.Sticky {
			w.WriteString(" for all")
		}
	} else {
		fmt.Fprintf(&w, ", window %s, skip %s", size(h.stream.window), size(int64(h.advice.Skip)))
	}
	return w.String()
}

// The policy's face to the runtime.
func TestPolicy(t *testing.T) {
	p := New()
	if p.Name() != Name || Name != "keyscan" {
		t.Errorf("name %q", p.Name())
	}
	if k := p.Kinds(); len(k) != 1 || k[0] != hints.KindKeyScan {
		t.Errorf("kinds %v", k)
	}
	if p.NewStream() == p.NewStream() {
		t.Error("two streams are one")
	}
}
