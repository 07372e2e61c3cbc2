// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "4096": 4096, "4096B": 4096, "64K": 64 << 10, "64k": 64 << 10, "1.5M": 3 << 19,
		"2GiB": 2 << 30, "2 GB": 2 << 30, "1T": 1 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "1X", "NaN", "Inf", "1e30", "9000000T", "1 2"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := maybeBytes(nil); got != "unknown" {
		t.Errorf("nil: %q", got)
	}
}

func TestChart(t *testing.T) {
	n := int64(1 << 20)
	r := demoReport{
		Records: 10, ValueBytes: 1024, FileBytes: 2 << 20, FileSystem: "ext4", Device: "sda", ReadAheadKB: 128,
		ColdVerifiedBy: "mincore", Rows: 100, Rounds: 3, BaselineMS: 100, MS: 10, Speedup: 10,
		BaselineRead: &n, ReadBytes: &n, CRC32C: "01234567", Equal: true,
	}
	var b bytes.Buffer
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	if bars := strings.Count(b.String(), "█"); bars != barWidth+barWidth/10 {
		t.Errorf("%d blocks in\n%s", bars, b.String())
	}
	for _, want := range []string{"from ext4 on sda with 128 KiB readahead", "10.0 times as fast, same rows", "mincore", "bbolt 1.0 MiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	r.Equal, r.ColdVerifiedBy, r.ReadBytes, r.Device, r.FileSystem = false, "", nil, "", ""
	b.Reset()
	if err := r.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"THE ROWS DIFFER", "does not tell", "predictio unknown"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// Color is for terminals; a buffer is none.
func TestStyle(t *testing.T) {
	if got := styleOf(&bytes.Buffer{}).green("x"); got != "x" {
		t.Errorf("%q", got)
	}
	if got := (style{on: true}).green("x"); got != "\x1b[32mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}
