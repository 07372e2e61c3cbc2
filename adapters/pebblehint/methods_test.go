// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package pebblehint_test

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/predictio/predictio/adapters/pebblehint"
)

// passThrough are the methods of Pebble's iterator that neither move it nor change its
// bounds: ours has them by embedding it.
var passThrough = []string{
	"DebugTree", "Error", "HasPointAndRange", "Key", "LazyValue", "Metrics", "RangeBounds", "RangeKeyChanged",
	"RangeKeys", "ResetStats", "SetContext", "Stats", "Valid", "Value", "ValueAndErr",
}

// TestEveryMoveIsOurs: a method of Pebble's iterator that is not known to stand still is
// one of ours, so that a new version's new method is not passed over. A method that comes
// by embedding is made by the compiler, in no file.
func TestEveryMoveIsOurs(t *testing.T) {
	theirs, ours := reflect.TypeFor[*pebble.Iterator](), reflect.TypeFor[*pebblehint.Iterator]()
	for i := range theirs.NumMethod() {
		name := theirs.Method(i).Name
		m, ok := ours.MethodByName(name)
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
		own := strings.HasSuffix(file, "iterator.go") && strings.Contains(file, "hint/")
		if pass := slices.Contains(passThrough, name); own == pass {
			t.Errorf("%s is ours: %v, in %s; it may be passed through: %v", name, own, file, pass)
		}
	}
	for i := range ours.NumMethod() {
		if name := ours.Method(i).Name; !isMethod(theirs, name) {
			t.Errorf("%s is none of Pebble's", name)
		}
	}
}

func isMethod(t reflect.Type, name string) bool {
	_, ok := t.MethodByName(name)
	return ok
}
