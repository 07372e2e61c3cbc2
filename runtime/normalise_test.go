// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// TestNormalise runs testdata/normalise, where sizes are in pages ("3p"), bytes
// ("17"), or both ("3p+17").
//
//	file name=a size=10p     registers a file
//	need                     one extent a line: file, offset, length; prints the requests
func TestNormalise(t *testing.T) {
	files := make(map[string]*hints.File)
	datadriven.RunTest(t, "testdata/normalise", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "file":
			var name, size string
			d.ScanArgs(t, "name", &name)
			d.ScanArgs(t, "size", &size)
			files[name] = testwalk.File(t, parseSize(t, size))
			return ""
		case "need":
			r, b, _ := open(t, policies(willneed.Policy{}))
			if d.HasArg("filter") {
				r.recent = newRecent(0)
			}
			var xs []hints.Extent
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				xs = append(xs, hints.Extent{File: files[f[0]], Off: parseSize(t, f[1]), Len: parseSize(t, f[2])})
			}
			r.Emit(need(1, xs...))
			var out strings.Builder
			for _, q := range b.Ranges() {
				for name, f := range files {
					if f.ID() == q.FileID {
						fmt.Fprintf(&out, "%s %s %s\n", name, size(q.Off), size(q.Len))
					}
				}
			}
			c := one(t, r)
			fmt.Fprintf(&out, "offered %d suppressed %d\n", c.Offered, c.Suppressed)
			return out.String()
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

func parseSize(t testing.TB, s string) (n int64) {
	t.Helper()
	if s == "max" {
		return math.MaxInt64
	}
	for part := range strings.SplitSeq(s, "+") {
		digits, isPages := strings.CutSuffix(part, "p")
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if isPages {
			v *= policy.PageSize
		}
		n += v
	}
	return n
}

func size(n int64) string {
	switch p, rest := n/policy.PageSize, n%policy.PageSize; {
	case rest == 0:
		return fmt.Sprintf("%dp", p)
	case p == 0:
		return fmt.Sprint(rest)
	default:
		return fmt.Sprintf("%dp+%d", p, rest)
	}
}

// Whatever is asked for, the requests are sorted, disjoint, whole pages within
// the file, no larger than the device reads at once, and together exactly the
// pages that the extents touch.
func TestNormaliseProperties(t *testing.T) {
	// Small enough for the requests to be submitted before Emit returns.
	sizes := []int64{0, 1, policy.PageSize, 7*policy.PageSize + 13, maxInlineBytes/2 + 1}
	var files []*hints.File
	for _, n := range sizes {
		files = append(files, testwalk.File(t, n))
	}
	r, b, _ := open(t, policies(willneed.Policy{}))
	stream := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hints.Extent {
			f := rapid.SampledFrom(files).Draw(t, "file")
			reach := f.Size() + 2*policy.PageSize
			return hints.Extent{
				File: f,
				Off:  rapid.Int64Range(-1, reach).Draw(t, "off"),
				Len: rapid.OneOf(rapid.Int64Range(-1, 3*policy.PageSize),
					rapid.Int64Range(0, reach), rapid.Just(int64(math.MaxInt64))).Draw(t, "len"),
			}
		}), 0, 40).Draw(t, "extents")

		b.Reset()
		stream++
		r.Emit(need(stream, xs...))

		// Requests come file by file.
		got := b.Ranges()
		for _, f := range files {
			i := slices.IndexFunc(got, func(q record.Range) bool { return q.FileID == f.ID() })
			if i < 0 {
				i = len(got)
			}
			touched := touchedPages(f, xs)
			end := int64(0)
			for ; i < len(got) && got[i].FileID == f.ID(); i++ {
				q := got[i]
				switch largest := f.Device().MaxRequest; {
				case q.Off < end:
					t.Fatalf("request at %d after one that ends at %d", q.Off, end)
				case q.Off%policy.PageSize != 0 || q.Len <= 0 || q.Off+q.Len > f.Size():
					t.Fatalf("%+v is no range of pages of a file of %d bytes", q, f.Size())
				case q.Len%policy.PageSize != 0 && q.Off+q.Len != f.Size():
					t.Fatalf("%+v ends within a page, and not at the end, %d", q, f.Size())
				case largest > 0 && q.Len > largest || largest == 0 && q.Len > defaultRequest:
					t.Fatalf("%+v is larger than %d", q, largest)
				}
				end = q.Off + q.Len
				for p := q.Off / policy.PageSize; p*policy.PageSize < end; p++ {
					if !touched[p] {
						t.Fatalf("page %d was requested and nobody asked for it", p)
					}
					delete(touched, p)
				}
			}
			if len(touched) > 0 {
				t.Fatalf("%d pages were asked for and not requested", len(touched))
			}
			got = slices.DeleteFunc(got, func(q record.Range) bool { return q.FileID == f.ID() })
		}
		if len(got) > 0 {
			t.Fatalf("requests left over: %v", got)
		}
	})
	addsUp(t, "willneed", one(t, r))
}

// touchedPages are the pages of f that the extents touch.
func touchedPages(f *hints.File, xs []hints.Extent) map[int64]bool {
	m := make(map[int64]bool)
	for _, x := range xs {
		if x.File != f || x.Empty() {
			continue
		}
		for p := x.Off / policy.PageSize; p*policy.PageSize < min(x.End(), f.Size()); p++ {
			m[p] = true
		}
	}
	return m
}

func TestRequestsBeyondTheBoundAreDropped(t *testing.T) {
	f := testwalk.File(t, 1<<43)
	r, b, _ := open(t, policies(willneed.Policy{}))
	r.Emit(need(1, hints.Extent{File: f, Len: 1 << 42}, hints.Extent{File: f, Off: 1 << 42, Len: 1}))
	c := one(t, r)
	if c.Accepted > maxRequests || c.Dropped == 0 || b.Total() > maxRequests {
		t.Errorf("%+v, %d submitted, at most %d may be", c, b.Total(), maxRequests)
	}
}

// A file that has grown since it was registered is looked at anew.
func TestGrownFile(t *testing.T) {
	f := file(t, 1)
	path := fmt.Sprintf("/proc/self/fd/%d", f.FD())
	if err := os.Truncate(path, 4*policy.PageSize); err != nil {
		t.Skip(err)
	}
	r, b, _ := open(t, policies(willneed.Policy{}))
	r.Emit(need(1, pages(f, 2, 2)))
	if got := b.Total(); got != 1 {
		t.Errorf("%d requests in the part that has grown, want 1", got)
	}
}
