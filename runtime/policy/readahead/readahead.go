// SPDX-License-Identifier: Apache-2.0

// Package readahead is the paper's policy migration: readahead by offset, moved out of
// an engine. It follows the sequences of reads in one open file, several at once, and
// fetches windows ahead of each. There are three policies:
//
//   - Native grows its windows as Pebble does, so that moving the policy changes nothing.
//   - Coalesced detects sequences likewise, and asks for few, large windows, before they
//     are needed.
//   - Files is for programs whose call sites can't be changed, and which read through a
//     file system of ours. It must find out alone when to keep silent: it waits for reads
//     that wait. It also follows sequences that run down.
//
// A read that continues nothing makes a candidate, and no more. The candidate becomes a
// sequence, with windows, at its third read; until then it can't push out a sequence.
package readahead

import (
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/policy"
)

const (
	// MaxSequences bounds the sequences followed in one stream, and the candidates.
	MaxSequences = 4
	// needReads is how many reads make a sequence, the one that fetches included.
	needReads = 3
	// firstWindow, in bytes, is doubled with each window up to maxNative or maxCoalesced.
	firstWindow, maxNative, maxCoalesced = 64 << 10, 256 << 10, 8 << 20
	// engineGap is how many bytes an engine's scan may leave out: blocks in its own
	// cache. In a file that anybody reads, only gapReads times what is read, at most
	// filesGap: point reads look into small indexes, again and again.
	engineGap, filesGap, gapReads = 256 << 10, 64 << 10, 1
	// maxWarm is how often in a row Files must see that the cache needs no help.
	maxWarm = 3
	// maxWindows bounds what is remembered of a sequence's windows. Our own are two at
	// most; an engine's may be in pieces.
	maxWindows = 4
)

// Policy makes one stream an open file. Use Native, Coalesced or Files.
type Policy struct {
	name string
	most int64 // bytes of the largest window
	gap  int64 // bytes that a sequence may leave out
	// pebble: detect, and place windows, as Pebble does where the others know better.
	pebble bool
	// files: sequences may run down, and only reads that waited make one.
	files bool
}

// Native returns Pebble's policy: 64 KiB after two sequential reads, then twice as much
// each time that a read leaves the last window, up to 256 KiB. There Pebble hands over to
// the kernel's readahead, which keeps one window ahead; so do we.
func Native() *Policy {
	return &Policy{name: "readahead", most: maxNative, gap: engineGap, pebble: true}
}

// Coalesced returns the policy with windows that double up to 8 MiB, each requested when
// half of the one before has been read.
func Coalesced() *Policy {
	return &Policy{name: "readahead-coalesced", most: maxCoalesced, gap: engineGap}
}

// Files returns the policy for programs that only read files: Coalesced in both
// directions, from the third read that waits until what it fetches proves to be cached.
func Files() *Policy {
	return &Policy{name: "filescan", most: maxCoalesced, gap: filesGap, files: true}
}

// Name returns "readahead", "readahead-coalesced" or "filescan".
func (p *Policy) Name() string { return p.name }

// Kinds returns FileAccess, and for engines ReadaheadWindow.
func (p *Policy) Kinds() []hints.Kind {
	if p.files {
		return []hints.Kind{hints.KindFileAccess}
	}
	return []hints.Kind{hints.KindFileAccess, hints.KindReadaheadWindow}
}

// NewStream returns the state of an open file.
func (p *Policy) NewStream() policy.Stream { return &stream{policy: p} }
