// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func wantsJSON(cmd *cobra.Command) bool {
	asJSON, _ := cmd.Flags().GetBool("json")
	return asJSON
}

// printJSON writes a value as one line.
func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// isTerminal reports whether people see what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// style colors text for a terminal, unless NO_COLOR says not to.
type style struct{ on bool }

func styleOf(w io.Writer) style {
	return style{isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s style) paint(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string  { return s.paint("1", text) }
func (s style) green(text string) string { return s.paint("32", text) }
func (s style) red(text string) string   { return s.paint("31", text) }
func (s style) dim(text string) string   { return s.paint("2", text) }

// bytesText is a size for people.
func bytesText(n int64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n >= gib:
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	case n >= kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	}
	return fmt.Sprintf("%d bytes", n)
}

// maybeBytes is a size that may not be known.
func maybeBytes(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return bytesText(*n)
}

// parseSize reads a size as people write it: 4096, 64K, 1.5GiB. Units are powers
// of 1024.
func parseSize(s string) (int64, error) {
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.ToUpper(strings.TrimSpace(s[len(num):]))
	shift, ok := map[string]uint{
		"": 0, "B": 0, "K": 10, "KB": 10, "KIB": 10, "M": 20, "MB": 20, "MIB": 20,
		"G": 30, "GB": 30, "GIB": 30, "T": 40, "TB": 40, "TIB": 40,
	}[unit]
	x, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || !(x > 0) || x*float64(int64(1)<<shift) >= 1<<62 {
		return 0, fmt.Errorf("%q is not a size such as 64M or 2G", s)
	}
	return int64(x * float64(int64(1)<<shift)), nil
}

// ms is a duration in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
