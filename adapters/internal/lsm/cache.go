// SPDX-License-Identifier: Apache-2.0

package lsm

import (
	"slices"
	"sync"
)

// blockCache bounds the blocks in memory: what came first goes first.
type blockCache struct {
	mu    sync.Mutex
	bytes int
	queue []cached // head is the oldest
	head  int
}

type cached struct {
	bytes  int
	forget func()
}

// add takes note of a block, and has the oldest ones forgotten if they are too many.
func (c *blockCache) add(bytes int, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, cached{bytes, forget})
	c.bytes += bytes
	for c.bytes > MaxIndexBytes && c.head < len(c.queue)-1 {
		old := c.queue[c.head]
		old.forget()
		c.bytes -= old.bytes
		c.queue[c.head] = cached{}
		c.head++
	}
	if c.head > len(c.queue)/2 {
		c.queue = slices.Delete(c.queue, 0, c.head)
		c.head = 0
	}
}
