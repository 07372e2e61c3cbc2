// SPDX-License-Identifier: Apache-2.0

package predictio_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/testwalk"
	"github.com/predictio/predictio/runtime"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	nopolicy "github.com/predictio/predictio/runtime/policy/noop"
)

func TestMain(m *testing.M) {
	os.Unsetenv(predictio.EnvVar)
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, o predictio.Options) *predictio.Runtime {
	t.Helper()
	rt, err := predictio.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

func TestOpenDefaults(t *testing.T) {
	rt := open(t, predictio.Options{})
	if rt.Off() || rt.Backend() != "pagecache" || rt.Stats().Backend != "pagecache" {
		t.Errorf("off %v, backend %q", rt.Off(), rt.Backend())
	}
	f := testwalk.File(t, 1<<20)
	x := hints.Extent{File: f, Len: 4096}
	rt.Emit(&hints.WillNeed{Stream: 1, Extents: []hints.Extent{x}})
	rt.Emit(&hints.TreeChildEnter{
		Stream: 2, Start: true, Crossed: 1, Fanout: 10, Dir: hints.Forward,
		Entered: x, Children: hints.ChildList{{File: f, Off: 1 << 16, Len: 4096}},
	})
	for _, name := range []string{"willneed", "treechildren"} {
		if c := rt.Stats().Policies[name]; c.Events != 1 || c.Offered != 1 {
			t.Errorf("%s: %+v, want one event and one request", name, c)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	_, err := predictio.Open(predictio.Options{
		Policies: slices.Repeat([]policy.Policy{nopolicy.Policy{}}, runtime.MaxPolicies+1),
	})
	if !errors.Is(err, runtime.ErrTooManyPolicies) {
		t.Errorf("error %v, want ErrTooManyPolicies", err)
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	b := new(noop.Backend)
	rt := open(t, predictio.Options{Backend: b})
	for range 3 {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
	if a := rt.Emit(&hints.WillNeed{}); a.Skip != hints.Silent {
		t.Errorf("advice %+v after Close, want silence", a)
	}
	if b.Submit([]backend.Request{{}}).Accepted != 0 {
		t.Error("the backend was not closed")
	}
}

func TestOff(t *testing.T) {
	t.Setenv(predictio.EnvVar, "off")
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := new(record.Backend)
	rt := open(t, predictio.Options{Backend: b})
	if !rt.Off() || rt.Backend() != "off" || rt.Stats().Backend != "off" {
		t.Errorf("off %v, backend %q", rt.Off(), rt.Backend())
	}
	f := testwalk.File(t, 1<<20)
	a := rt.Emit(&hints.WillNeed{Extents: []hints.Extent{{File: f, Len: 4096}}})
	if want := (hints.Advice{Skip: hints.Silent, Sticky: true}); a != want {
		t.Errorf("advice %+v, want %+v", a, want)
	}
	if b.Total() != 0 {
		t.Errorf("%d requests", b.Total())
	}
	if b.Submit([]backend.Request{{File: f, Len: 4096}}).Accepted != 0 {
		t.Error("the backend was left open")
	}
	for range 2 {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyOffIsOff(t *testing.T) {
	for _, v := range []string{"", "on", "OFF", "0"} {
		t.Setenv(predictio.EnvVar, v)
		if rt := open(t, predictio.Options{}); rt.Off() {
			t.Errorf("%s=%q turns it off", predictio.EnvVar, v)
		}
	}
}

// brokenBackend can't be closed.
type brokenBackend struct{ noop.Backend }

var errBroken = errors.New("broken")

func (*brokenBackend) Close() error { return errBroken }

func TestErrorOfTheBackendsClose(t *testing.T) {
	rt, err := predictio.Open(predictio.Options{Backend: new(brokenBackend)})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); !errors.Is(err, errBroken) {
		t.Errorf("Close: %v", err)
	}
	t.Setenv(predictio.EnvVar, "off")
	if _, err := predictio.Open(predictio.Options{Backend: new(brokenBackend)}); !errors.Is(err, errBroken) {
		t.Errorf("Open, when off: %v", err)
	}
}

// A program opens one Runtime, says what it will read, and reads.
func ExampleOpen() {
	rt, err := predictio.Open(predictio.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	file, err := hints.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Release()

	rt.Emit(&hints.WillNeed{Stream: hints.NewStream(), Extents: []hints.Extent{
		{File: file, Off: 512 << 10, Len: 64 << 10},
	}})
	fmt.Println(rt.Stats().Policies["willneed"].Offered, "request")
	// Output: 1 request
}

// A backend and policies of one's own choice: here, to see what would be read.
func ExampleOpen_options() {
	seen := new(record.Backend)
	rt, err := predictio.Open(predictio.Options{Backend: seen})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()
	fmt.Println(rt.Backend(), seen.Total())
	// Output: record 0
}
