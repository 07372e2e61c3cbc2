// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// barWidth is the longest bar, in characters.
const barWidth = 50

// print writes the demo's result for people.
func (r *demoReport) print(w io.Writer) error {
	s := styleOf(w)
	var b strings.Builder
	fmt.Fprintf(&b, "bbolt database of %s, %d records with values of %s, inserted in random order\n",
		bytesText(r.FileBytes), r.Records, bytesText(int64(r.ValueBytes)))
	fmt.Fprintf(&b, "%d rows in key order, cold%s, median of %d\n\n", r.Rows, r.where(), r.Rounds)
	longest := max(r.BaselineMS, r.MS)
	r.row(&b, "bbolt", r.BaselineMS, longest, s.dim)
	r.row(&b, "predictio", r.MS, longest, s.green)
	equal := "same rows, same bytes (crc32c " + r.CRC32C + ")"
	if !r.Equal {
		equal = s.red("THE ROWS DIFFER")
	}
	fmt.Fprintf(&b, "\n%s, %s\n", s.bold(fmt.Sprintf("%.1f times as fast", r.Speedup)), equal)
	fmt.Fprintf(&b, "read from storage: bbolt %s, predictio %s\n", maybeBytes(r.BaselineRead), maybeBytes(r.ReadBytes))
	if r.ColdVerifiedBy == "" {
		b.WriteString("this system does not tell whether the file really was cold\n")
	} else {
		fmt.Fprintf(&b, "cold: verified with %s before each run\n", r.ColdVerifiedBy)
	}
	b.WriteString("\nin your program: rt, _ := predictio.Open(predictio.Options{}); h, _ := bbolthint.Attach(db, rt); c := h.Cursor(bucket)\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// where names the storage as far as it is known.
func (r *demoReport) where() string {
	var parts []string
	if r.FileSystem != "" {
		parts = append(parts, r.FileSystem)
	}
	if r.Device != "" {
		parts = append(parts, fmt.Sprintf("%s with %d KiB readahead", r.Device, r.ReadAheadKB))
	}
	if len(parts) == 0 {
		return ""
	}
	return " from " + strings.Join(parts, " on ")
}

func (r *demoReport) row(b *strings.Builder, name string, ms, longest float64, paint func(string) string) {
	width := 1
	if longest > 0 {
		width = max(1, int(ms/longest*barWidth+0.5))
	}
	bar := paint(strings.Repeat("█", width)) + strings.Repeat(" ", barWidth-width)
	fmt.Fprintf(b, "  %-9s  %s %8.1f ms %9.0f rows/s\n", name, bar, ms, float64(r.Rows)/ms*1000)
}
