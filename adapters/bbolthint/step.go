// SPDX-License-Identifier: Apache-2.0

package bbolthint

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/hints"
)

// The moves in this file visit the same pages in the same order as bbolt's, and
// check what bbolt checks, so that results are the same on any file, a corrupt
// one included.

// page returns a page that the walk was led to. Where bbolt would panic, bbolt is
// asked for that page, and panics.
func (c *Cursor) page(id uint64) *page {
	p := at(c.data, id, c.pageSize)
	if !p.valid(id) {
		bareAt(c.bucket, id).First()
	}
	return p
}

// bareAt returns bbolt's own cursor over the subtree below a page.
func bareAt(b *bolt.Bucket, id uint64) *bolt.Cursor {
	sub, root := *b, *b.InBucket
	setRoot(root.SetRootPage, id)
	sub.InBucket = &root
	return sub.Cursor()
}

// setRoot converts to bbolt's page id type, which has no name out here.
func setRoot[ID ~uint64](set func(ID), id uint64) { set(ID(id)) }

// enter makes p the leaf.
func (c *Cursor) enter(p *page, index int) {
	c.leaf, c.index, c.count = p, index, int(p.count)
}

// push makes p the deepest branch.
func (c *Cursor) push(p *page, index int) {
	c.branches = append(c.branches, ref{p, index, int(p.count)})
}

// follow returns the child that the deepest branch points to.
func (c *Cursor) follow() *page {
	r := &c.branches[len(c.branches)-1]
	return c.page(r.page.branch(uint16(r.index)).id)
}

// current returns the item at the position; nil if it is on none.
func (c *Cursor) current() (key, value []byte) {
	if uint(c.index) >= uint(c.count) { // -1 after the last of none
		return nil, nil
	}
	return item(c.leaf.leaf(uint16(c.index)))
}

func (c *Cursor) root() *page {
	c.branches = c.branches[:0]
	c.leaf, c.index, c.count = nil, 0, 0
	return c.page(uint64(c.bucket.Root()))
}

func (c *Cursor) first() (key, value []byte) {
	c.descendFirst(c.root())
	if c.count == 0 {
		c.settle(fromFirst, c.next)
	}
	return c.current()
}

// settle moves on to the nearest item as a part of being positioned, which is no
// walk and gives no hints.
func (c *Cursor) settle(s start, move func() (key, value []byte)) (key, value []byte) {
	if !c.hint.sticky {
		c.hint.skip = hints.Silent
	}
	key, value = move()
	c.begin(s)
	return key, value
}

// descendFirst goes from p down to its first leaf.
func (c *Cursor) descendFirst(p *page) {
	for !p.isLeaf() {
		c.push(p, 0)
		p = c.follow()
	}
	c.enter(p, 0)
}

func (c *Cursor) last() (key, value []byte) {
	c.descendLast(c.root())
	for len(c.branches) > 0 && c.count == 0 {
		c.settle(fromLast, c.prev)
	}
	return c.current()
}

// descendLast goes from p down to its last leaf.
func (c *Cursor) descendLast(p *page) {
	for !p.isLeaf() {
		c.push(p, int(p.count)-1)
		p = c.follow()
	}
	c.enter(p, int(p.count)-1)
}

// placed reports whether there is a position to move from. A positioning that ended in
// a panic leaves the branches that it came through, as bbolt's does.
func (c *Cursor) placed() bool { return c.leaf != nil || len(c.branches) > 0 }

// next leaves the leaf, which has no further item.
func (c *Cursor) next() (key, value []byte) {
	for c.placed() {
		if c.index < c.count-1 {
			c.index++
			return c.current()
		}
		depth := len(c.branches)
		if !c.up(func(r *ref) bool {
			if r.index >= r.count-1 {
				return false
			}
			r.index++
			return true
		}) {
			c.atEnd()
			return nil, nil
		}
		c.descendFirst(c.across(depth, hints.Forward))
		c.crossed()
		if c.count > 0 {
			return c.current()
		}
	}
	return nil, nil
}

// prev leaves the leaf, which has no item before.
func (c *Cursor) prev() (key, value []byte) {
	depth := len(c.branches)
	switch {
	case !c.placed():
		return nil, nil
	case c.index > 0:
		c.index--
	case c.up(func(r *ref) bool {
		if r.index <= 0 {
			return false
		}
		r.index--
		return true
	}):
		c.descendLast(c.across(depth, hints.Backward))
		c.crossed()
	default:
		// bbolt stays on the first item, so that Next goes on from it.
		c.begin(fromFirst)
		c.first()
		return nil, nil
	}
	return c.current()
}

// up drops the deepest branches until move could step one to a sibling, and
// reports whether one could. If not, all are as they were.
func (c *Cursor) up(move func(*ref) bool) bool {
	for i := len(c.branches) - 1; i >= 0; i-- {
		if move(&c.branches[i]) {
			c.branches = c.branches[:i+1]
			c.index, c.count = 0, 0 // on no item until the next leaf is entered
			return true
		}
	}
	return false
}

// across goes down to the branches above leaves, which are depth long, says that
// the walk goes from the old leaf to the one below, and returns that.
func (c *Cursor) across(depth int, dir hints.Direction) *page {
	for len(c.branches) < depth {
		p := c.follow()
		if p.isLeaf() {
			return p // corrupt: leaves are all at one depth
		}
		index := 0
		if dir == hints.Backward {
			index = int(p.count) - 1
		}
		c.push(p, index)
	}
	c.crossing(c.leaf, dir)
	return c.follow()
}

func (c *Cursor) seek(key []byte) ([]byte, []byte) {
	p := c.root()
	for p.flags == branchFlag {
		c.push(p, 0) // before the search, which may panic, as bbolt does
		if p.count == 0 {
			break
		}
		c.branches[len(c.branches)-1].index = searchBranch(p, key)
		p = c.follow()
	}
	if !p.isLeaf() {
		// Corrupt: bbolt panics, and says so in its own words.
		c.leaf, c.index, c.count = nil, 0, 0
		return c.bare.Seek(key)
	}
	c.enter(p, 0)
	c.index = searchLeaf(p, key)
	if c.index >= c.count {
		return c.settle(fromSeek, c.next)
	}
	return c.current()
}

// searchBranch finds the child that holds key: the last whose own key is not
// larger, or the first.
func searchBranch(p *page, key []byte) int {
	lo, hi, exact := 0, int(p.count), false
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch bytes.Compare(p.branch(uint16(mid)).key(), key) {
		case -1:
			lo = mid + 1
		case 0:
			exact = true
			fallthrough
		default:
			hi = mid
		}
	}
	if !exact && lo > 0 {
		lo--
	}
	return lo
}

// searchLeaf finds the first item whose key is not smaller than key.
func searchLeaf(p *page, key []byte) int {
	lo, hi := 0, int(p.count)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(p.leaf(uint16(mid)).key(), key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
