// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// fileSystem is what lies under a folder; here nothing is known.
type fileSystem struct {
	Name     string
	InMemory bool
	Free     int64
}

func fileSystemOf(string) fileSystem { return fileSystem{} }
func kernelRelease() string          { return "" }
