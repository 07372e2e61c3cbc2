// SPDX-License-Identifier: Apache-2.0

//go:build !race

package keyscan

import (
	"testing"
)

func TestHandleDoesNotAllocate(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(h *harness)
		step func(h *harness, i int)
	}{
		{"scan", func(h *harness) { h.answer = absent }, func(h *harness, _ int) {
			h.count(4, 1)
			h.pass(max(blockBytes, int64(h.advice.Skip)))
		}},
		{"starts", func(h *harness) { h.answer = absent }, func(h *harness, _ int) {
			*h.runs = h.layout
			h.count(4, 1)
			h.event.Start, h.event.Passed = true, 0
			h.emit()
		}},
		{"silent store", func(h *harness) { h.answer = resident }, func(h *harness, _ int) {
			h.count(4, 0)
			h.event.Start = true
			h.emit()
		}},
		{"pressure", func(h *harness) { h.answer = absent }, func(h *harness, i int) {
			h.count(4, 1)
			h.limits.Pressure = i%5 == 0
			h.pass(1 << 20)
		}},
		{"ends", func(h *harness) { h.answer = unknown }, func(h *harness, _ int) {
			h.end()
			*h.runs = h.layout
			h.count(4, 1)
			h.event.Start, h.event.Passed = true, 0
			h.emit()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHarness(t)
			h.layout.total = fileBytes
			tc.set(h)
			h.start()
			i := 0
			step := func() { i++; tc.step(h, i) }
			for range 100 { // until the batch has its size
				step()
			}
			if n := testing.AllocsPerRun(200, step); n != 0 {
				t.Errorf("%v allocations an event", n)
			}
		})
	}
}
