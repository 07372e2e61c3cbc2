// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The two adapters are one: what is generated is as it would be generated now, and there is
// nothing else.
func TestTwins(t *testing.T) {
	const v1 = "../../adapters/pebblev1hint"
	files, err := twins("../../adapters/pebblehint")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("%d files: this is not the adapter", len(files))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(v1, name)); err != nil || string(got) != want {
			t.Errorf("%s is not the twin of v2's, %v: run go generate ./adapters/pebblev1hint", name, err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(v1, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if name := filepath.Base(path); files[name] == "" && !slices.Contains(own, name) {
			t.Errorf("%s has no twin", name)
		}
	}
}
