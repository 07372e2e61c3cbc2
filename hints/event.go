// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"sync/atomic"
	"time"
)

// Kind is the type of an event; policies are registered by kind.
type Kind uint8

// The kinds of events. NumKinds bounds tables indexed by Kind.
const (
	KindTreeChildEnter Kind = iota
	KindStreamEnd
	KindTensorLayout
	KindLayerStart
	KindFileAccess
	KindProcessExec
	KindProcessExit
	KindReadaheadWindow
	KindWillNeed
	KindKeyScan
	NumKinds
)

// Event is one typed observation. Events are pointers: the emitter owns them,
// may reuse them for its next event, and a sink keeps none of them.
type Event interface {
	// Kind tells the event's type without a type switch.
	Kind() Kind
	// StreamID names the sequence that the event belongs to, so that a policy
	// can keep state between its events. 0 is the stream that all share.
	StreamID() uint64
}

var lastStream atomic.Uint64

// NewStream returns a stream id that is unique in this process and never 0.
func NewStream() uint64 { return lastStream.Add(1) }

// Direction of a walk.
type Direction int8

const (
	Forward  Direction = 1  // in key order
	Backward Direction = -1 // against it
)

// Origin says how a walk started, and so how much of its tree it may read.
type Origin uint8

const (
	// FromSeek: somewhere inside the tree; it may stop after a few records.
	FromSeek Origin = iota
	// FromEnd: at the first or last record; perhaps a full sweep.
	FromEnd
	// Again: as FromEnd, and this tree was read from end to end before in this
	// process.
	Again
	// Certain: the caller has said that everything will be read.
	Certain
)

// TreeChildEnter says that an ordered walk is about to enter a leaf of a tree.
// The emitter sends it just before it touches the leaf.
type TreeChildEnter struct {
	Stream uint64
	Parent Extent // the branch that was followed; zero if unknown
	Index  int    // position of the entered child in travel order, 0 = first to be visited
	Fanout int    // children of Parent
	Dir    Direction
	Origin Origin
	// Start marks the first event after the walk was positioned anew: nothing
	// that was said of this stream's frontier holds any longer.
	Start bool
	// KnownEnd: Children stop exactly where the walk will stop.
	KnownEnd bool
	// Crossed counts the children entered since the stream's last event, this
	// one included.
	Crossed int
	// Visited is how many bytes of the tree this walk has entered since Start,
	// and TreeBytes an estimate of the whole tree's; 0 where unknown.
	Visited   int64
	TreeBytes int64
	// LeftTail is the last page of the child just left where that is no part of the
	// child's head and holds no key, else empty. Whether it is resident tells, at no cost to
	// anyone, whether the program reads values or only keys.
	LeftTail Extent
	// Entered is the head of the entered child.
	Entered  Extent
	Children Children
}

// KeyScan says that a scan in key order over sorted runs, such as the levels of an
// LSM tree, is about to read on. The emitter sends it before the scan is positioned,
// and then as often as the answer asks for it. For this event, Advice.Skip counts
// bytes of what was taken from Ahead; Silent and Sticky together hold for every scan of
// the store until Misses changes.
type KeyScan struct {
	Stream uint64
	// Store names what is scanned: what one scan of it teaches serves the next.
	Store uint64
	// Start marks the first event after the scan was positioned anew: nothing that was
	// taken for it before will be read.
	Start bool
	// KnownEnd: Ahead ends where the scan will end.
	KnownEnd bool
	// Want is how many bytes the program has said that it will read from here; 0: it
	// has said nothing.
	Want int64
	// Passed is how many bytes, of those taken since Start, the scan has left behind.
	Passed int64
	// Reads counts how often the engine has read from the store's files since the
	// store was opened, and Misses how many of these had to wait for storage: facts
	// that the emitter sees for nothing. Where it can't see the second, both are the same.
	Reads, Misses uint64
	Ahead         Ahead
}

// StreamEnd says that a walk is over: what was learned of the stream is filed, and
// nothing more is fetched for it. Its id may name the emitter's next walk.
type StreamEnd struct{ Stream uint64 }

// WillNeed says that plain extents will be read soon, in this order.
type WillNeed struct {
	Stream  uint64
	Extents []Extent
}

// TensorLayout says where a model's tensor lies.
type TensorLayout struct {
	Stream uint64 // one for each model
	Model  string
	Tensor string
	Extent Extent
	Layer  int // -1 for tensors of no layer
	Role   string
}

// LayerStart says that a model's execution enters a layer.
type LayerStart struct {
	Stream uint64
	Model  string
	Layer  int
}

// FileAccess says that a part of a file is being read.
type FileAccess struct {
	Stream uint64 // one for each process, or for each file that a program reads
	PID    int    // 0: this process
	Extent Extent
	Waited bool          // it is known not to be in the page cache
	When   time.Duration // monotonic; 0 where nobody looked
}

// ProcessExec says that a process has replaced its program.
type ProcessExec struct {
	Stream uint64
	PID    int
	Path   string
	Args   []string
}

// ProcessExit says that a process has ended.
type ProcessExit struct {
	Stream uint64
	PID    int
}

// ReadaheadWindow carries the prediction of an engine's own readahead.
type ReadaheadWindow struct {
	Stream uint64
	Window Extent
}

func (*TreeChildEnter) Kind() Kind  { return KindTreeChildEnter }
func (*StreamEnd) Kind() Kind       { return KindStreamEnd }
func (*WillNeed) Kind() Kind        { return KindWillNeed }
func (*KeyScan) Kind() Kind         { return KindKeyScan }
func (*TensorLayout) Kind() Kind    { return KindTensorLayout }
func (*LayerStart) Kind() Kind      { return KindLayerStart }
func (*FileAccess) Kind() Kind      { return KindFileAccess }
func (*ProcessExec) Kind() Kind     { return KindProcessExec }
func (*ProcessExit) Kind() Kind     { return KindProcessExit }
func (*ReadaheadWindow) Kind() Kind { return KindReadaheadWindow }

func (e *TreeChildEnter) StreamID() uint64  { return e.Stream }
func (e *StreamEnd) StreamID() uint64       { return e.Stream }
func (e *WillNeed) StreamID() uint64        { return e.Stream }
func (e *KeyScan) StreamID() uint64         { return e.Stream }
func (e *TensorLayout) StreamID() uint64    { return e.Stream }
func (e *LayerStart) StreamID() uint64      { return e.Stream }
func (e *FileAccess) StreamID() uint64      { return e.Stream }
func (e *ProcessExec) StreamID() uint64     { return e.Stream }
func (e *ProcessExit) StreamID() uint64     { return e.Stream }
func (e *ReadaheadWindow) StreamID() uint64 { return e.Stream }
