// SPDX-License-Identifier: Apache-2.0

// Package governor decides how far ahead one ordered walk should be fetched. It
// is a pure state machine: crossings and outcomes go in, a window comes out.
//
// Its unit is a child of a tree, mostly a leaf page. A walk starts small, since
// it may end after a few records; doubles its window while what it fetches was
// not there yet; falls silent when all was there; and then probes, rarer and
// rarer, for the place where the cache ends.
package governor

import "github.com/predictio/predictio/hints"

const (
	// MaxWindow bounds a window, in children. 256 reached the limit of a device
	// with a queue of 256; more only makes the submitter wait.
	MaxWindow = 256

	startWindow    = 8  // of a walk that may end at once; 16 and 32 measured worse
	minStartWindow = 1  // after walks that ended within their first window
	knownWindow    = 16 // first window of a walk whose end is known: nothing is wasted

	// The window's cap rises with the children used, so that short walks waste
	// little: 32 up to 64 used, 64 up to 256, then MaxWindow. It doubles up to 64, and
	// grows by a batch at a time from there: what a burst of heads puts into the
	// device's queue, the rests of nearer children would have to wait behind.
	shortUsed, shortCap = 64, 32
	midUsed, midCap     = 256, 64

	smallBatch, largeBatch = 8, 16 // children fetched at once, below and from midUsed

	// Credit is what keeps a walk active: each fetched request that was not
	// resident earns creditMiss, each resident one costs 1, and at 0 the walk
	// falls silent. A walk starts with startCredit, which one small window of
	// residents uses up; maxCredit bounds how long a warm stretch costs.
	startCredit, creditMiss, maxCredit = 4, 8, 256

	minSkip, maxSkip = 8, 64 // children between two probes of a silent walk

	// controlEvery leaves one in this many children without its last page, to see
	// whether the program still reads values.
	controlEvery = 32
)

// Governor is one walk's state. The zero value is not ready: use New.
type Governor struct {
	silent bool
	used   int // children entered since the walk started or woke
	window int // children
	start  int // first window, children: shrinks on waste
	credit int // requests
	skip   int // children between probes when silent
	part   hints.Part
	growth int  // of the window at the last fill, children, once it grows by batches
	known  bool // the walk's end is known
	// until counts the fetched children until the next control.
	until int
}

// Prior is what earlier walks over the same file have learned; its zero value
// says nothing.
type Prior struct {
	Warm  bool
	Start int        // first window, children; 0: the default
	Part  hints.Part // what earlier walks read of a child
}

// New returns a governor for a walk.
func New(p Prior) Governor {
	g := Governor{start: p.Start, part: p.Part, skip: minSkip, until: controlEvery}
	if g.start == 0 {
		g.start = startWindow
	}
	if g.silent = p.Warm; g.silent {
		g.skip = maxSkip / 2 // one probe that confirms it is enough
	}
	g.activate()
	return g
}

// Prior is what this walk has to tell to those after it.
func (g *Governor) Prior() Prior { return Prior{g.silent, g.start, g.part} }

// Restart says that the walk was positioned anew. ahead is how many fetched
// children it never came to: many of them, and the next first window is smaller.
func (g *Governor) Restart(ahead int, knownEnd bool) {
	switch {
	case g.silent:
	case ahead > g.used:
		g.start = max(minStartWindow, g.start/2)
	case g.used >= 2*g.start:
		g.start = min(startWindow, 2*g.start)
	}
	g.known = knownEnd
	g.activate()
}

func (g *Governor) activate() {
	g.used, g.credit, g.window, g.growth = 0, startCredit, g.start, 0
	if g.known {
		g.window = knownWindow
	}
}

// Cross says that n children were entered.
func (g *Governor) Cross(n int) { g.used = min(g.used+n, 1<<30) }

// Silent reports whether the walk is silent, and so wants one probe an event.
func (g *Governor) Silent() bool { return g.silent }

// Part is how much of each child to fetch.
func (g *Governor) Part() hints.Part { return g.part }

// Window is how many children may be ahead of the walk at most.
func (g *Governor) Window() int { return g.window }

// Refill is the number of children ahead at or below which a window of the given
// size, the governor's or a smaller one, should be filled again.
func (g *Governor) Refill(window int) int { return window - min(g.batch()+g.growth, window) }

func (g *Governor) batch() int {
	if g.used < midUsed && !g.known {
		return smallBatch
	}
	return largeBatch
}

// Filled says that the window was filled, so that the next may be larger.
func (g *Governor) Filled() {
	limit := MaxWindow
	switch {
	case g.known:
	case g.used < shortUsed:
		limit = shortCap
	case g.used < midUsed:
		limit = midCap
	}
	was := g.window
	if was < midCap {
		g.window = min(limit, 2*was)
		return
	}
	g.window = min(limit, was+largeBatch)
	g.growth = g.window - was
}

// Fetched says how many requests a batch came to and how many of them were
// resident; resident < 0 means that nobody knows, and teaches nothing.
func (g *Governor) Fetched(requests, resident int) {
	if requests <= 0 || resident < 0 {
		return
	}
	g.credit = min(maxCredit, g.credit+creditMiss*(requests-resident)) - resident
	if g.credit <= 0 {
		g.silent, g.skip = true, minSkip
	}
}

// Probed says whether a silent walk's probe found its child resident. A miss
// wakes the walk on a small credit: one cold page in a warm file costs little.
func (g *Governor) Probed(resident bool) {
	if resident {
		g.skip = min(maxSkip, 2*g.skip)
		return
	}
	g.silent = false
	g.activate()
}

// Skip is how many children a silent walk may enter until its next probe.
func (g *Governor) Skip() int { return g.skip }

// NextControl counts one fetched child and reports whether it is a control: one
// that is fetched without its last page. Only walks that fetch all have any;
// where only key pages are fetched, every child is its own control.
func (g *Governor) NextControl() bool {
	if g.part != hints.PartAll {
		return false
	}
	if g.until--; g.until > 0 {
		return false
	}
	g.until = controlEvery
	return true
}

// Control says whether a child's last page, which was not fetched, was resident
// once the program had left the child: whether the program reads values.
func (g *Governor) Control(resident bool) {
	if resident {
		g.part = hints.PartAll
	} else {
		g.part = hints.PartKeys
	}
	g.until = controlEvery
}
