// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// maxSide bounds the goroutines that open tables and read indexes side by side.
	maxSide = 4
	// fewSlow is how many such things are done faster alone.
	fewSlow = 4
)

// side calls fn for each of n things, side by side if more than a few of them are slow:
// have a file to be opened, or a block to be waited for.
func side(n int, slow func(int) bool, fn func(int)) {
	slows := 0
	for i := 0; i < n && slows <= fewSlow; i++ {
		if slow(i) {
			slows++
		}
	}
	if slows <= fewSlow {
		for i := range n {
			fn(i)
		}
		return
	}
	Each(min(maxSide, max(2, runtime.GOMAXPROCS(0))), n, fn, func() {})
}

// Each calls fn for each of n things, from so many goroutines, and meanwhile on the
// caller's; then it waits. A panic of fn, be it the engine's or its comparer's, is raised
// where the caller can catch it.
func Each(goroutines, n int, fn func(int), meanwhile func()) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var panicked atomic.Pointer[any]
	for range goroutines {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	func() {
		defer wg.Wait()
		meanwhile()
	}()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}
