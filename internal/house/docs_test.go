// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"slices"
	"testing"
)

// wellKnown are methods of interfaces that explain them: of the standard library,
// and of hints.Event and policy.Stream.
var wellKnown = []string{
	"Error", "Unwrap", "Is", "String", "Len", "Less", "Swap",
	"Kind", "StreamID",
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.program() {
			continue
		}
		for _, d := range f.Decls {
			for _, name := range unexplained(d) {
				t.Errorf("%s: %s has no comment", fset.Position(name.Pos()), name.Name)
			}
		}
	}
}

// unexplained are the exported names that a declaration makes without a comment:
// on the name, or, for constants and variables, on their group.
func unexplained(d ast.Decl) (names []*ast.Ident) {
	check := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if id.IsExported() && !slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
			names = append(names, id)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			check(d.Name, d.Doc)
		} else if receiver(d).IsExported() && !slices.Contains(wellKnown, d.Name.Name) {
			check(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				check(s.Name, s.Doc, d.Doc)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					check(id, s.Doc, s.Comment, d.Doc)
				}
			}
		}
	}
	return names
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) *ast.Ident {
	x := d.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t
		default:
			return ast.NewIdent("_")
		}
	}
}
