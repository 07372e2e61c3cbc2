// SPDX-License-Identifier: Apache-2.0

package hints

// Sink takes events. Emit never blocks, never fails and does not allocate on
// its usual path; a Sink is safe for concurrent use. The event and all it
// points to belong to the emitter and are not kept.
//
// The emitter holds a reference ([File.Retain]) to every file that the event
// names while Emit runs.
type Sink interface {
	Emit(Event) Advice
}

// Silent is the Skip of a sink that wants no further events.
const Silent = 1<<31 - 1

// Advice is the sink's answer to the emitter. The zero value asks for the very
// next event.
type Advice struct {
	// Skip is how many children may now be entered without an event (for a KeyScan: how
	// many bytes passed; for a FileAccess, only Silent counts: reads that
	// need not wait are of no interest). A silent, warm walk costs its emitter a countdown.
	Skip int
	// Sticky: Skip holds even if the walk is positioned anew meanwhile.
	Sticky bool
}

// Discard is a Sink that ignores everything and asks not to be told more.
var Discard Sink = discard{}

type discard struct{}

func (discard) Emit(Event) Advice { return Advice{Skip: Silent, Sticky: true} }
