// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"errors"
	"fmt"
)

var (
	// ErrFormat: the file is no table, or one of a version not known here.
	ErrFormat = errors.New("sstindex: not a known table format")
	// ErrCorrupt: the table is damaged, or larger than a bound of this package.
	ErrCorrupt = errors.New("sstindex: corrupt table")
	// ErrPartition: the index has no such partition.
	ErrPartition = errors.New("sstindex: no such partition")
)

const (
	// MaxBlock bounds a block that is read, compressed or not.
	MaxBlock = 16 << 20
	// MaxEntries bounds the entries of one index block.
	MaxEntries = 1 << 20

	// tailSize is what Open reads at once. The properties take about 1 KiB and the
	// top index block rarely more than 8.
	tailSize = 16 << 10
	// maxFilterName bounds a policy's name: known ones have 30 bytes.
	maxFilterName = 1 << 10
	// maxPooled bounds the buffers that are kept for the next read.
	maxPooled = 256 << 10
	// maxRatio and freeExpansion bound what a block may claim to decompress to, so
	// that a few hostile bytes can't make us allocate all of MaxBlock.
	maxRatio      = 256
	freeExpansion = 4 << 20
)

// corrupt says in what way a table is damaged.
func corrupt(reason string) error { return fmt.Errorf("%w: %s", ErrCorrupt, reason) }

// maxContents is to what size a stored block may decompress.
func maxContents(stored int) int { return min(MaxBlock, freeExpansion+maxRatio*stored) }
