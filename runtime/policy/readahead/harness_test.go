// SPDX-License-Identifier: Apache-2.0

package readahead

import (
	"fmt"
	"strings"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

const kib = 1 << 10

var policies = []*Policy{Native(), Coalesced(), Files()}

// fataler is a test, or one of its rapid runs.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// harness plays the runtime for one stream, and checks what holds for every event.
type harness struct {
	t        fataler
	file     *hints.File
	stream   *stream
	limits   policy.Limits
	resident bool // all that is asked for is cached
	blind    bool // the backend can't tell

	batch                  policy.Batch
	issued, useful, wasted int
}

func newHarness(t fataler, p *Policy, file *hints.File) *harness {
	return &harness{
		t: t, file: file, stream: p.NewStream().(*stream),
		limits: policy.Limits{Requests: 256, Bytes: 16 << 20},
	}
}

func (h *harness) read(off, n int64, waited bool) []hints.Extent {
	h.t.Helper()
	return h.emit(&hints.FileAccess{Stream: 1, Waited: waited, Extent: hints.Extent{File: h.file, Off: off, Len: n}})
}

func (h *harness) window(off, n int64) []hints.Extent {
	h.t.Helper()
	return h.emit(&hints.ReadaheadWindow{Stream: 1, Window: hints.Extent{File: h.file, Off: off, Len: n}})
}

func (h *harness) emit(e hints.Event) []hints.Extent {
	h.t.Helper()
	b := &h.batch
	b.Limits = h.limits
	b.Reset()
	if a := h.stream.Handle(e, b); a.Skip > 0 && (!h.stream.policy.files || b.HeldRequests > 0) {
		h.t.Fatalf("advice %+v: every access matters", a)
	}
	var bytes int64
	for _, x := range b.Extents {
		if x.Empty() || x.Off < 0 || x.End() > h.file.Size() {
			h.t.Fatalf("%d+%d asked for of a file of %d", x.Off, x.Len, h.file.Size())
		}
		bytes += x.Len
	}
	h.issued += len(b.Extents)
	h.useful += b.Useful
	h.wasted += b.Wasted
	out := h.issued - h.useful - h.wasted
	switch {
	case bytes > 0 && (b.HeldBytes > h.limits.Bytes || bytes > h.limits.Bytes || b.HeldRequests > h.limits.Requests):
		h.t.Fatalf("%d asked for, held %d/%d, limits %+v", bytes, b.HeldRequests, b.HeldBytes, h.limits)
	case h.limits.Pressure && (bytes > 0 || b.HeldRequests > 0):
		h.t.Fatalf("%d asked for, %d held under pressure", bytes, b.HeldRequests)
	case b.HeldBytes < 0 || b.HeldRequests < out || b.HeldRequests == 0 && b.HeldBytes > 0:
		h.t.Fatalf("held %d/%d, outstanding %d", b.HeldRequests, b.HeldBytes, out)
	case b.Useful < 0 || b.Wasted < 0 || out < 0:
		h.t.Fatalf("useful %d, wasted %d, outstanding %d", b.Useful, b.Wasted, out)
	}
	if b.Wants() {
		o := policy.Outcome{Requests: len(b.Extents), Accepted: len(b.Extents), Control: policy.Absent}
		if h.resident {
			o.Resident, o.Control = o.Accepted, policy.Resident
		}
		if h.blind {
			o.Resident = -1
		}
		h.stream.Settle(&o)
	}
	return b.Extents
}

// end ends the stream and checks its account.
func (h *harness) end() int {
	h.t.Helper()
	p := h.stream.policy
	n := h.stream.End()
	if h.useful+h.wasted+n != h.issued {
		h.t.Fatalf("useful %d + wasted %d + outstanding %d, issued %d", h.useful, h.wasted, n, h.issued)
	}
	if *h.stream != (stream{policy: p}) {
		h.t.Fatalf("%+v is not as new", *h.stream)
	}
	h.issued, h.useful, h.wasted = 0, 0, 0
	return n
}

// told says what the last event came to, in KiB; "" if nothing.
func (h *harness) told() string {
	var out strings.Builder
	b := &h.batch
	for i, x := range b.Extents {
		if i == 0 {
			out.WriteString(" fetch")
		}
		fmt.Fprintf(&out, " %s+%s", size(x.Off), size(x.Len))
	}
	if b.Useful > 0 {
		fmt.Fprintf(&out, " useful=%d", b.Useful)
	}
	if b.Wasted > 0 {
		fmt.Fprintf(&out, " wasted=%d", b.Wasted)
	}
	if out.Len() > 0 && b.HeldRequests > 0 {
		fmt.Fprintf(&out, " held=%d/%s", b.HeldRequests, size(b.HeldBytes))
	}
	return out.String()
}

// size is a number of bytes in KiB.
func size(n int64) string {
	if n%kib == 0 {
		return fmt.Sprint(n / kib)
	}
	return fmt.Sprintf("%.2f", float64(n)/kib)
}
