// SPDX-License-Identifier: Apache-2.0

//go:build !(linux && !android && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x))

package bbolthint

import (
	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/hints"
)

// native: cursors only pass through.
const native = false

type mapping struct{}

func mappingAt(*bolt.Info) *mapping               { return nil }
func at(*mapping, uint64, uint64) *page           { return nil }
func knownFormat(*bolt.Info) bool                 { return false }
func mapsFile(uintptr, *hints.File) (bool, error) { return false, ErrNotSupported }
func (c *Cursor) base() uintptr                   { return 0 }
