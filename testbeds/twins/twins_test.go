// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const root = "../.."

// What is generated is as it would be generated now.
func TestTwins(t *testing.T) {
	files, err := twins(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("%d files: this is not the module", len(files))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s is not the twin of v2's, %v: run make generate", name, err)
		}
	}
}

// The adapter for v1 has nothing else but its own files.
func TestNoStrangers(t *testing.T) {
	files, err := twins(root)
	if err != nil {
		t.Fatal(err)
	}
	const dir = "adapters/pebblev1hint"
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == ".go" && files[dir+"/"+name] == "" && !slices.Contains(own, name) {
			t.Errorf("%s/%s has no twin", dir, name)
		}
	}
}
