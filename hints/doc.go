// SPDX-License-Identifier: Apache-2.0

// Package hints is the vocabulary in which a program says what it will read
// next: registered files, byte extents of them, typed events, and the Sink
// that takes the events.
//
// It imports neither the runtime nor any engine, so that an adapter costs its
// user nothing but the engine that the user already has. An adapter emits
// events into a [Sink]; what becomes of them is the runtime's business.
//
// All offsets and lengths are in bytes. Engines' page sizes differ from the
// system's; rounding to pages happens once, in the runtime.
package hints
