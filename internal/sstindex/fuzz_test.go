// SPDX-License-Identifier: Apache-2.0

package sstindex

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/golang/snappy"
)

//go:generate go test -run ^TestSeeds$ -seeds

var seeds = flag.Bool("seeds", false, "write the fuzzers' seed corpora")

// onlySnappy decompresses what can be fuzzed without fuzzing C.
func onlySnappy(indicator byte, src []byte, max int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if indicator != 1 || err != nil || n > max {
		return nil, errors.New("no")
	}
	return snappy.Decode(nil, src)
}

// walk opens a table, asks it everything, and returns the first error.
func walk(file []byte) error {
	r := bytes.NewReader(file)
	x, err := Open(r, int64(len(file)), onlySnappy)
	if err != nil {
		return err
	}
	if g := x.Region(); g.Off < 0 || g.Len < 0 || g.End() != int64(len(file)) {
		return fmt.Errorf("%w: region %v", errWrong, g)
	}
	if _, h, ok := x.Filter(); ok {
		if _, e := x.ReadBlock(r, h); e != nil {
			err = e
		}
	}
	for p := range x.Partitions() {
		if i := x.SeekPartition(x.PartitionSeparator(p), bytes.Compare); i < 0 || i > x.Partitions() {
			return fmt.Errorf("%w: partition %d", errWrong, i)
		}
		_ = x.Partition(p)
		b, e := x.Load(r, p)
		if e != nil {
			err = e
			continue
		}
		if e := ask(b, x.Region().Off); e != nil {
			return e
		}
	}
	if x.Memory() < indexOverhead {
		return fmt.Errorf("%w: memory", errWrong)
	}
	return err
}

var errWrong = errors.New("a wrong answer")

// ask asks an index block everything: its data blocks must be in order, below limit.
func ask(b *Block, limit int64) error {
	end := int64(0)
	for i := range b.Len() {
		h := b.Handle(i)
		if h.Off < end || h.Len < trailerLen || h.End() > limit {
			return fmt.Errorf("%w: block %d at %v, behind %d, below %d", errWrong, i, h, end, limit)
		}
		end = h.End()
		if s := b.Separator(i); cap(s) != len(s) {
			return fmt.Errorf("%w: separator %d can be appended to", errWrong, i)
		}
		if j := b.Seek(b.Separator(i), bytes.Compare); j < 0 || j > b.Len() {
			return fmt.Errorf("%w: found %d of %d", errWrong, j, b.Len())
		}
	}
	return nil
}

// resum makes a table's checksums right, so that they don't stop the fuzzer: those
// of the footer, of metaindex and index, and of the partitions.
func resum(file []byte) []byte {
	b := bytes.Clone(file)
	f, err := kind(b)
	if err != nil {
		return b
	}
	fb := b[len(b)-f.len:]
	if f.len >= footerCRC {
		at := f.len - magicLen - versionLen - crcLen
		le(fb[at:], mask(update(update(0, fb[:at]), fb[at+crcLen:])))
	}
	fix := func(h Handle) {
		c := b[h.Off : h.End()-4]
		le(b[h.End()-4:h.End()], mask(update(0, c)))
	}
	if f, err = parseFooter(b, int64(len(b))); err != nil {
		return b
	}
	fix(f.meta)
	fix(f.index)
	if x, err := Open(bytes.NewReader(b), int64(len(b)), onlySnappy); err == nil && x.twoLevel {
		for p := range x.Partitions() {
			fix(x.Partition(p))
		}
	}
	return b
}

func le(b []byte, v uint32) {
	for i := range 4 {
		b[i] = byte(v >> (8 * i))
	}
}

func FuzzOpen(f *testing.F) {
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, b := range [][]byte{file, resum(file)} {
			if err := walk(b); errors.Is(err, errWrong) || err != nil && !known(err) {
				t.Error(err)
			}
		}
	})
}

// known reports whether an error is one that a damaged file may give.
func known(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) }

const fuzzLimit = 1 << 20

func FuzzRowBlock(f *testing.F) { fuzzBlock(f, false) }

func FuzzColumnarBlock(f *testing.F) { fuzzBlock(f, true) }

func fuzzBlock(f *testing.F, columnar bool) {
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBlock(data, columnar, fuzzLimit)
		if err == nil {
			err = ask(&b, fuzzLimit)
		}
		if _, e := findFilter(data, columnar, fuzzLimit); e != nil && !known(e) {
			t.Error(e)
		}
		if err != nil && !known(err) {
			t.Error(err)
		}
	})
}

// TestSeeds writes the seed corpora, if told to, or checks that all are accepted.
func TestSeeds(t *testing.T) {
	n := map[string]int{}
	seed := func(target string, data []byte) {
		n[target]++
		dir := filepath.Join("testdata", "fuzz", target)
		must(t, os.MkdirAll(dir, 0o755))
		text := "go test fuzz v1\n[]byte(" + strconv.Quote(string(data)) + ")\n"
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("seed-%02d", n[target])), []byte(text), 0o644))
	}
	if !*seeds {
		seed = func(string, []byte) {}
	}
	for _, h := range hows() {
		if h.xxhash || h.compress != "snappy" && h.compress != "none" || h.v1 && h.format > int(sstable.TableFormatPebblev1) {
			continue
		}
		for _, s := range []shape{
			{rows: rows(3), block: 150, index: 1 << 20},
			{rows: rows(5), block: 50, index: 40},
		} {
			if h.compress == "snappy" && s.index > 40 {
				continue
			}
			file := build(t, s, h)
			if err := walk(file); err != nil {
				t.Error(h.name, err)
			}
			seed("FuzzOpen", file)
		}
	}
	seed("FuzzOpen", table(magicLevelDB, 0, make([]byte, 100), stored(offsets(nil, 0), 0), stored(rowIndex([]string{"k"}, 0, 95), 0)))
	for _, s := range [][]string{{}, {"a"}, {"a", "a"}, {"", "a", "b", "bbbbbbbbbbbbbbbbb"}} {
		var at []uint64
		for i := range s {
			at = append(at, uint64(i)*70_000, 60_000+uint64(i))
		}
		for columns, data := range map[bool][]byte{false: rowIndex(s, at...), true: columnar(s, at...)} {
			b, err := parseBlock(data, columns, fuzzLimit)
			must(t, err)
			must(t, ask(&b, fuzzLimit))
			seed(map[bool]string{false: "FuzzRowBlock", true: "FuzzColumnarBlock"}[columns], data)
		}
	}
	for _, version := range []sstable.TableFormat{sstable.TableFormatPebblev4, sstable.TableFormatPebblev7} {
		file := build(t, shape{rows: rows(3), block: 1, index: 1 << 20}, how{format: int(version), compress: "none", filter: true})
		f, err := parseFooter(file, int64(len(file)))
		must(t, err)
		s := store{end: int64(len(file)), checksum: f.checksum}
		for _, h := range []Handle{f.meta, f.index} {
			data, err := s.read(io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file))), h)
			must(t, err)
			seed(map[bool]string{false: "FuzzRowBlock", true: "FuzzColumnarBlock"}[f.columnar], data)
		}
	}
}
