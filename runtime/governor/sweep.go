// SPDX-License-Identifier: Apache-2.0

package governor

import (
	"math"

	"github.com/predictio/predictio/hints"
)

// Sweep is how a walk that reads most of a file should be helped: at some point
// reading the file from one end to the other beats fetching leaf by leaf, since
// a device reads far more bytes a second in large requests.
type Sweep uint8

const (
	// NoSweep: fetch leaves.
	NoSweep Sweep = iota
	// PacedSweep: with each leaf, also a few pages of the file in sequence. It
	// wastes little if the walk ends.
	PacedSweep
	// FullSweep: read the file in the background as fast as the device can.
	FullSweep
)

// PacedPages is how many pages in sequence a paced sweep adds to each leaf.
const PacedPages = 8

// The part of the file that a walk must have read before it is taken for a
// sweep. Too early ruins partial scans (one of a fifth of the file took five
// times as long), too late gains little.
const (
	againAt   = 0.01 // walked from end to end before
	fromEndAt = 0.08 // started at the first or last record
	seekAt    = 0.33 // started in the middle
)

// minTreeShare is the part of the file that the walked tree must hold: of a small
// bucket in a large file, a sweep would read mostly strangers.
const minTreeShare = 0.5

// A sweep on an uncertain walk's behalf may be this much ahead of it: so many bytes,
// and so many for each byte that the walk has read. A walk that ends wastes no more.
const (
	sweepLead   = 64 << 20
	sweepFactor = 8
)

// SweepTo is how far into the file a full sweep may go for a walk.
func SweepTo(o hints.Origin, visited int64) int64 {
	if o == hints.Certain {
		return math.MaxInt64
	}
	return sweepLead + sweepFactor*visited
}

// Progress is what is known of a walk.
type Progress struct {
	Origin hints.Origin
	// Visited is how much of the tree was entered, TreeBytes an estimate of the
	// whole tree, FileBytes the file's size, and MayRead how much the memory
	// budget lets a sweep read; all in bytes.
	Visited, TreeBytes, FileBytes, MayRead int64
}

// Decide chooses for a walk.
func (p Progress) Decide() Sweep {
	if p.FileBytes <= 0 || p.FileBytes > p.MayRead || float64(p.TreeBytes) < minTreeShare*float64(p.FileBytes) {
		return NoSweep
	}
	share := float64(p.Visited) / float64(p.FileBytes)
	switch {
	case p.Origin == hints.Certain, p.Origin == hints.Again && share >= againAt:
		return FullSweep
	case p.Origin == hints.FromEnd && share >= fromEndAt, p.Origin == hints.FromSeek && share >= seekAt:
		return PacedSweep
	}
	return NoSweep
}
