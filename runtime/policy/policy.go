// SPDX-License-Identifier: Apache-2.0

// Package policy is the contract of prediction: a policy turns events into
// extents to prefetch. Policies are pure state machines. They do no I/O, read no
// clock and take no lock: the runtime calls each stream of each policy from one
// goroutine at a time, executes what was asked, and tells what came of it.
package policy

import (
	"os"

	"github.com/predictio/predictio/hints"
)

// PageSize is the system's page size in bytes: what one request brings at least.
var PageSize = int64(os.Getpagesize())

// MaxExtents bounds what one event may ask for; Add refuses the rest.
const MaxExtents = 1024

// Policy makes streams. NewStream may be called from several goroutines.
type Policy interface {
	// Name is a short stable name, as in statistics and on command lines.
	Name() string
	// Kinds are the events it wants to see.
	Kinds() []hints.Kind
	// NewStream returns the state for a sequence of events with one stream id.
	NewStream() Stream
}

// Stream is one policy's state for one sequence of events.
type Stream interface {
	// Handle takes one event and adds to b what should be fetched.
	Handle(e hints.Event, b *Batch) hints.Advice
	// Settle is called after Handle if b asked for anything, with what became of
	// it; its advice replaces Handle's.
	Settle(o *Outcome) hints.Advice
	// End is called when the stream is over or its place is taken; it returns how
	// many requested extents nobody came to read. The Stream is then as new.
	End() (wasted int)
}

// Limits is what the runtime grants a stream at this moment.
type Limits struct {
	// Requests and Bytes are how much may be in flight for this stream in all,
	// what it has outstanding included.
	Requests int
	Bytes    int64
	// SweepBytes is how much a sweep may bring into memory; 0 forbids sweeps.
	SweepBytes int64
	// Pressure: memory is short, nothing should be fetched.
	Pressure bool
}

// Sweep asks for a file to be read from one end to the other, in the background.
type Sweep struct {
	File     *hints.File
	Off, Len int64 // bytes
}

// Batch collects what a stream wants of one event, and what it learned from it.
type Batch struct {
	Limits Limits

	// Extents to fetch, in the order of need.
	Extents []hints.Extent
	// Overlap: the program reads by system calls, and a worker runs while it waits in one.
	// (One that waits in a page fault keeps its processor.) So large batches need not be
	// submitted on its time.
	Overlap bool
	// Sweep, if its File is set, is started unless one runs for this stream.
	Sweep Sweep
	// SweepTo is how far the sweep may go for now, as an offset; it waits there. 0
	// leaves that as it is, at first the end.
	SweepTo int64
	// StopSweep ends the one that runs.
	StopSweep bool
	// Control is an extent whose residency the policy wants to know before anything
	// is fetched: whether the program has read it. Late is one that was fetched and
	// is about to be read; that it has not arrived is counted.
	Control, Late hints.Extent
	// Arrived, set by the runtime, reports whether the first page of an extent can be
	// read without waiting. It costs a system call.
	Arrived func(hints.Extent) Answer

	// Useful and Wasted count extents of earlier batches that the event shows to
	// have been read, and to have been for nothing.
	Useful, Wasted int
	// HeldRequests and HeldBytes are what is still outstanding after this event,
	// this batch included: asked for and not yet read by the program.
	HeldRequests int
	HeldBytes    int64
}

// Reset empties the batch for the next event and keeps its memory and its limits.
func (b *Batch) Reset() {
	b.Extents, b.Overlap = b.Extents[:0], false
	b.Sweep.File, b.SweepTo, b.StopSweep = nil, 0, false
	b.Control.File, b.Late.File = nil, nil
	b.Useful, b.Wasted = 0, 0
	b.HeldRequests, b.HeldBytes = 0, 0
}

// Add asks for an extent. It reports false, and asks for nothing, if the extent
// is empty or the batch is full.
func (b *Batch) Add(e hints.Extent) bool {
	if e.Empty() || len(b.Extents) >= MaxExtents {
		return false
	}
	b.Extents = append(b.Extents, e)
	return true
}

// Empty reports whether the batch asks for nothing and tells nothing.
func (b *Batch) Empty() bool {
	return !b.Wants() && b.Useful|b.Wasted|b.HeldRequests == 0
}

// Wants reports whether the batch asks for anything.
func (b *Batch) Wants() bool {
	return len(b.Extents) > 0 || b.Sweep.File != nil || b.SweepTo > 0 || b.StopSweep || b.Control.File != nil || b.Late.File != nil
}

// Answer is what the runtime found out about an extent.
type Answer uint8

const (
	NotKnown Answer = iota // not asked, or the system does not say
	Absent                 // not all of it is there
	Resident               // all of it is
)

// Outcome says what became of a batch.
type Outcome struct {
	// Requests is how many requests the extents came to after those asked for a
	// moment ago were left out and neighbours were joined; Accepted is how many
	// of them the backend took.
	Requests, Accepted int
	// Resident is how many of the accepted were cached already; -1: not known.
	Resident int
	// Failed is how many of the accepted the system refused.
	Failed int
	// Control answers the batch's question.
	Control Answer
	// Sweeping: a sweep of this stream is under way.
	Sweeping bool
}
