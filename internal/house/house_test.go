// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/predictio/predictio"

// maxLines bounds a file that is no test.
const maxLines = 500

// file is one Go file of the module, whatever system it is for.
type file struct {
	*ast.File
	name  string // from the module's root, with slashes
	dir   string
	first string // line
	lines int
	test  bool
}

var fset = token.NewFileSet()

// files are all Go files of the module.
func files(t *testing.T) []file {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("%d files: this is not the module", len(all))
	}
	return all
}

var parsed = sync.OnceValues(func() (all []file, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "vendor" || strings.HasPrefix(base, "tmp") || len(base) > 2 && base[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		first, _, _ := strings.Cut(string(src), "\n")
		all = append(all, file{
			File: f, name: rel, dir: path.Dir(rel), first: first,
			lines: strings.Count(string(src), "\n"),
			test:  strings.HasSuffix(rel, "_test.go"),
		})
		return nil
	})
	return all, err
})

// imports are the paths that a file imports; those of ours from the module's root.
func (f file) imports() (ours, others []string) {
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if p == module {
			ours = append(ours, ".")
		} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			ours = append(ours, rest)
		} else {
			others = append(others, p)
		}
	}
	return ours, others
}

// under reports whether a path is one of the trees' roots, or below one.
func under(p string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return p == tree || strings.HasPrefix(p, tree+"/")
	})
}

// standard reports whether a path is of the standard library.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// supports are packages that only tests import: they may import what tests do.
var supports = []string{"internal/testwalk", "internal/house", "runtime/backend/conformance"}

// program is what is a program, or is built into one for a purpose: it may print.
func (f file) program() bool { return under(f.dir, "cmd", "testbeds") }

// layer says what a tree may import. The first that fits decides.
type layer struct {
	tree   string
	ours   []string // trees of ours, its own besides
	others []string // what isn't of the standard library
	banned []string // of the standard library
}

const sys = "golang.org/x/sys"

var layers = []layer{
	{tree: "hints/wire", ours: []string{"hints"}},
	{tree: "hints", others: []string{sys}},
	// os is there for its page size alone.
	{tree: "runtime/policy", ours: []string{"hints", "runtime/governor"}, banned: []string{
		"io", "net", "syscall", "bufio", "sync", "context",
	}},
	{tree: "runtime/governor", ours: []string{"hints"}, banned: []string{
		"io", "net", "syscall", "bufio", "sync", "context", "os", "time",
	}},
	{tree: "runtime/backend", ours: []string{"hints", "internal"}, others: []string{sys}},
	{tree: "runtime", ours: []string{"hints", "internal"}},
	{tree: "internal", others: []string{sys}},
	{tree: "adapters/bbolthint", ours: []string{"hints", "internal"}, others: []string{sys, "go.etcd.io/bbolt"}},
	{tree: "adapters/internal", ours: []string{"hints", "internal"}, others: []string{sys}},
	{tree: "adapters/pebblehint", ours: []string{"hints", "internal", "adapters/internal"}, others: []string{sys, "github.com/cockroachdb/pebble/v2"}},
	{tree: "adapters/pebblev1hint", ours: []string{"hints", "internal", "adapters/internal"}, others: []string{
		sys, "github.com/cockroachdb/pebble", "github.com/golang/snappy", "github.com/klauspost/compress",
	}},
	{tree: "adapters/ggufhint", ours: []string{"hints", "internal"}, others: []string{sys, "github.com/hybridgroup/yzma"}},
	{tree: "adapters/sqlitehint", ours: []string{"hints", "internal"}, others: []string{sys, "github.com/ncruces/go-sqlite3", "modernc.org/sqlite"}},
	{tree: "adapters/lmdbhint", ours: []string{"hints", "internal"}, others: []string{sys, "github.com/PowerDNS/lmdb-go"}},
	// An adapter that nobody has entered here imports no engine.
	{tree: "adapters", ours: []string{"hints", "internal"}, others: []string{sys}},
	{tree: ".", ours: []string{"hints", "runtime"}},
}

func TestImportsRunDownward(t *testing.T) {
	for _, f := range files(t) {
		if f.test || under(f.dir, supports...) {
			continue
		}
		i := slices.IndexFunc(layers, func(l layer) bool { return under(f.dir, l.tree) })
		if i < 0 {
			continue // cmd, testbeds, bpf: on top
		}
		l := layers[i]
		ours, others := f.imports()
		for _, p := range ours {
			if !under(p, append(l.ours, l.tree)...) || under(p, supports...) {
				t.Errorf("%s imports %s", f.name, p)
			}
		}
		for _, p := range others {
			if !standard(p) && !under(p, l.others...) {
				t.Errorf("%s imports %s", f.name, p)
			}
			// sync/atomic takes no lock.
			if under(p, l.banned...) && p != "sync/atomic" {
				t.Errorf("%s imports %s: a pure state machine does not", f.name, p)
			}
		}
	}
}

// A policy imports policies' contract and not each other.
func TestPoliciesAreApart(t *testing.T) {
	const contract = "runtime/policy"
	for _, f := range files(t) {
		if f.test || !under(f.dir, contract) {
			continue
		}
		ours, others := f.imports()
		for _, p := range ours {
			if p != contract && p != "hints" && p != "runtime/governor" {
				t.Errorf("%s imports %s", f.name, p)
			}
		}
		if slices.Contains(others, "os") && f.dir != contract {
			t.Errorf("%s imports os", f.name)
		}
	}
}

// selectors calls fn with each "package.Name" of a file, by the package's path.
func (f file) selectors(fn func(pkg, name string, at token.Pos)) {
	paths := make(map[string]string)
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		paths[name] = p
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && paths[x.Name] != "" {
				fn(paths[x.Name], s.Sel.Name, s.Pos())
			}
		}
		return true
	})
}

func TestPureStateMachinesReadNoClock(t *testing.T) {
	for _, f := range files(t) {
		if f.test || !under(f.dir, "runtime/policy", "runtime/governor") {
			continue
		}
		f.selectors(func(pkg, name string, at token.Pos) {
			clock := pkg == "time" && slices.Contains([]string{
				"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
			}, name)
			if clock || pkg == "os" && name != "Getpagesize" {
				t.Errorf("%s: %s.%s", fset.Position(at), pkg, name)
			}
		})
	}
}

// A library says nothing, ends nothing, and looks behind no type.
func TestLibrariesAreQuietAndSafe(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.program() {
			continue
		}
		_, others := f.imports()
		for _, p := range others {
			switch {
			case p == "C", p == "log", p == "log/slog":
			case p == "unsafe" && !under(f.dir, "adapters/bbolthint"):
			default:
				continue
			}
			t.Errorf("%s imports %s", f.name, p)
		}
		f.selectors(func(pkg, name string, at token.Pos) {
			if pkg == "fmt" && strings.HasPrefix(name, "Print") ||
				pkg == "os" && slices.Contains([]string{"Exit", "Stdout", "Stderr"}, name) {
				t.Errorf("%s: %s.%s", fset.Position(at), pkg, name)
			}
		})
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					t.Errorf("%s: %s", fset.Position(call.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

func TestEveryFileSaysItsLicence(t *testing.T) {
	for _, f := range files(t) {
		const want = "// SPDX-License-Identifier: Apache-2.0"
		if f.first != want && !(ast.IsGenerated(f.File) && under(f.dir, "bpf")) {
			t.Errorf("%s begins with %q, not %q", f.name, f.first, want)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range files(t) {
		if !f.test && !ast.IsGenerated(f.File) && f.lines > maxLines {
			t.Errorf("%s has %d lines, at most %d", f.name, f.lines, maxLines)
		}
	}
}

func TestEveryPackageIsExplained(t *testing.T) {
	explained := make(map[string]bool)
	for _, f := range files(t) {
		if !f.test {
			explained[f.dir] = explained[f.dir] || f.Doc.Text() != ""
		}
	}
	for dir, ok := range explained {
		if !ok {
			t.Errorf("package in %s has no comment", dir)
		}
	}
}
