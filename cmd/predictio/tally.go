// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/crc32"

	"github.com/predictio/predictio"
)

// checkEvery is how many rows are read between two looks at whether to stop.
const checkEvery = 256

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tally adds up rows. Its checksum runs at memory's speed, so that reading is
// what is measured.
type tally struct {
	rows, keyBytes, valueBytes int64
	crc                        uint32
}

func (t *tally) add(k, v []byte) {
	t.rows++
	t.keyBytes += int64(len(k))
	t.valueBytes += int64(len(v))
	t.crc = crc32.Update(crc32.Update(t.crc, castagnoli, k), castagnoli, v)
}

func (t *tally) sum() string { return fmt.Sprintf("%08x", t.crc) }

// prefetchReport is what became of the predictions. Counts are of requests, but
// for useful and wasted, which count extents.
type prefetchReport struct {
	Off         bool   `json:"off,omitempty"`          // by PREDICTIO=off
	PassThrough string `json:"pass_through,omitempty"` // why the adapter gave no hints
	Backend     string `json:"backend"`
	Events      uint64 `json:"events"`
	Offered     uint64 `json:"offered"`
	Accepted    uint64 `json:"accepted"`
	Dropped     uint64 `json:"dropped"`
	Failed      uint64 `json:"failed"`
	Resident    uint64 `json:"resident"`
	Bytes       uint64 `json:"bytes"`
	Suppressed  uint64 `json:"suppressed"`
	Useful      uint64 `json:"useful"`
	Late        uint64 `json:"late"`
	Wasted      uint64 `json:"wasted"`
	SweepBytes  uint64 `json:"sweep_bytes"` // part of bytes
	Contended   uint64 `json:"contended"`
}

func (r *prefetchReport) fill(s predictio.Stats) {
	t := s.Total()
	r.Backend, r.Events = s.Backend, t.Events
	r.Offered, r.Accepted, r.Dropped, r.Failed = t.Offered, t.Accepted, t.Dropped, t.Failed
	r.Resident, r.Bytes, r.Suppressed = t.Resident, t.Bytes, t.Suppressed
	r.Useful, r.Late, r.Wasted = t.Useful, t.Late, t.Wasted
	r.SweepBytes, r.Contended = s.Sweep.Bytes, s.Contended
}

// String is the line for people.
func (r *prefetchReport) String() string {
	switch {
	case r.Off:
		return "prefetching is off: " + predictio.EnvVar + "=off"
	case r.PassThrough != "":
		return "nothing was prefetched: " + r.PassThrough
	}
	var sweep string
	if r.SweepBytes > 0 {
		sweep = fmt.Sprintf(", %s of them in sequence", bytesText(int64(r.SweepBytes)))
	}
	return fmt.Sprintf("prefetching: %d events, %d requests (%d cached already, %d dropped, %d failed), %s%s; pages used %d, late %d, wasted %d",
		r.Events, r.Accepted, r.Resident, r.Dropped, r.Failed, bytesText(int64(r.Bytes)), sweep, r.Useful, r.Late, r.Wasted)
}
