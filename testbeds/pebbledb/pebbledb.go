// SPDX-License-Identifier: Apache-2.0

// Package pebbledb makes Pebble databases whose tables lie where a benchmark wants
// them: all in the lowest level, or spread over L6, L5 and a hundred tables of L0
// that overlap each other. v2 and v1 come from one Spec.
package pebbledb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Layout says in which levels the tables are.
type Layout string

// The layouts. Every key is in one table only.
const (
	// OneLevel has everything in L6, as after a full compaction.
	OneLevel Layout = "one-level"
	// ManyLevels has 70% of the keys in L6, 20% in L5 and 10% in L0Tables tables of
	// L0, chosen at random. A table of L0 spans a quarter of the key range, so that
	// every key may be in 25 of them: a store that writes faster than it compacts.
	ManyLevels Layout = "many-levels"
)

// L0Tables is how many flushes ManyLevels leaves in L0.
const L0Tables = 100

// Compression is that of all levels.
type Compression string

// The compressions. Snappy is what Pebble takes by default.
const (
	Snappy Compression = "snappy"
	Zstd   Compression = "zstd"
	None   Compression = "none"
)

// Spec describes a database; the same Spec always gives the same keys and values in
// the same tables.
type Spec struct {
	V1          bool // v1.1, not v2
	Layout      Layout
	Compression Compression
	Rows        int
	ValueSize   int // bytes
	Seed        uint64
}

// Name is a directory name that tells the spec.
func (s Spec) Name() string {
	version := 2
	if s.V1 {
		version = 1
	}
	return fmt.Sprintf("pebble%d-%s-%s-%d-%d-%d", version, s.Layout, s.Compression, s.Rows, s.ValueSize, s.Seed)
}

// Key returns the i-th key in key order: 16 bytes.
func Key(i int) []byte { return fmt.Appendf(make([]byte, 0, 16), "key-%012d", i) }

// The levels that are filled, and the size of their tables: what Pebble's own
// compactions make of some 600 MB, whose base level is L5.
const (
	lower, upper         = 6, 5
	lowerTable           = 8 << 20
	upperTable           = 4 << 20
	lowerPart, upperPart = 70, 20 // percent of the keys
	l0Parts              = 4      // of the key range; a table of L0 spans one

	// progressEvery is how many rows are written between two looks at ctx.
	progressEvery = 1024
)

// engine is one version of Pebble, as far as a database is made with it.
type engine interface {
	// table starts a table for a level; the caller fills it in key order.
	table(path string, level int) (table, error)
	// ingest moves finished tables, that don't overlap, into the database.
	ingest(paths []string) error
	// flush writes rows, in one batch, that become one table of L0.
	flush(rows func(set func(k, v []byte) error) error) error
	close() error
}

// table is one that is being written.
type table interface {
	Set(k, v []byte) error
	size() uint64
	Close() error
}

// Generate makes the database in the directory path, which must not exist. progress,
// if not nil, is called with the rows done. A database that could not be finished is
// removed, also when ctx ends. The layout is verified: it is an error if Pebble has
// put a table elsewhere.
func Generate(ctx context.Context, path string, s Spec, progress func(done int)) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	if err := s.check(); err != nil {
		return err
	}
	part := path + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(part)
		}
	}()
	if progress == nil {
		progress = func(int) {}
	}
	g := &generator{Spec: s, ctx: ctx, dir: part, progress: progress, values: newValues(s)}
	if err := g.fill(); err != nil {
		return err
	}
	if err := verify(part, s); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func (s Spec) check() error {
	switch {
	case s.Layout != OneLevel && s.Layout != ManyLevels:
		return fmt.Errorf("pebbledb: layout %q", s.Layout)
	case s.Compression != Snappy && s.Compression != Zstd && s.Compression != None:
		return fmt.Errorf("pebbledb: compression %q", s.Compression)
	case s.V1 && s.Compression == Zstd:
		// v1 can't read zstd with the version of the decoder that v2 brings along.
		return fmt.Errorf("pebbledb: no zstd in v1")
	case s.ValueSize < 16 || s.Rows < 100*L0Tables:
		return fmt.Errorf("pebbledb: %d rows of %d bytes: too few", s.Rows, s.ValueSize)
	}
	return nil
}

// generator fills one database.
type generator struct {
	Spec
	ctx      context.Context
	dir      string
	progress func(done int)
	values   *values
	done     int
	eng      engine
}

func (g *generator) fill() (err error) {
	if g.eng, err = g.open(g.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.eng.close()) }()
	// Ingested tables go as low as nothing overlaps them: the lowest first.
	if err := g.level(lower, lowerTable); err != nil || g.Layout == OneLevel {
		return err
	}
	if err := g.level(upper, upperTable); err != nil {
		return err
	}
	flushes := make([][]int, L0Tables)
	for i := range g.Rows {
		if level, t := g.place(i); level == 0 {
			flushes[t] = append(flushes[t], i)
		}
	}
	for _, rows := range flushes {
		err := g.eng.flush(func(set func(k, v []byte) error) error {
			for _, i := range rows {
				if err := g.row(i, set); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// place says where the i-th key goes: a level, and in L0 which of the tables.
func (g *generator) place(i int) (level, table int) {
	if g.Layout == OneLevel {
		return lower, 0
	}
	h := mix(g.Seed, uint64(i))
	switch percent := h % 100; {
	case percent < lowerPart:
		return lower, 0
	case percent < lowerPart+upperPart:
		return upper, 0
	}
	return 0, i*l0Parts/g.Rows + l0Parts*int(h/100%(L0Tables/l0Parts))
}

// level writes a level's tables and has them ingested.
func (g *generator) level(level int, tableSize uint64) (err error) {
	dir := filepath.Join(g.dir, "ingest")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var (
		t     table
		paths []string
	)
	defer func() {
		if t != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	for i := range g.Rows {
		if at, _ := g.place(i); at != level {
			continue
		}
		if t != nil && t.size() >= tableSize {
			done := t
			t = nil
			if err := done.Close(); err != nil {
				return err
			}
		}
		if t == nil {
			path := filepath.Join(dir, fmt.Sprintf("%06d.sst", len(paths)))
			if t, err = g.eng.table(path, level); err != nil {
				return err
			}
			paths = append(paths, path)
		}
		if err := g.row(i, t.Set); err != nil {
			return err
		}
	}
	done := t
	t = nil
	if err := done.Close(); err != nil {
		return err
	}
	return g.eng.ingest(paths)
}

// row writes the i-th row.
func (g *generator) row(i int, set func(k, v []byte) error) error {
	if err := set(Key(i), g.values.at(i)); err != nil {
		return err
	}
	if g.done++; g.done%progressEvery == 0 || g.done == g.Rows {
		g.progress(g.done)
		return g.ctx.Err()
	}
	return nil
}

// values makes a Spec's values. Half of each is random and half is the same 16 bytes
// over and over, so that a block compresses to some 0.55 of its size, as rows of
// text and numbers do.
type values struct {
	seed   uint64
	random []byte
	buf    []byte
}

func newValues(s Spec) *values {
	const pool = 1 << 20
	v := &values{seed: s.Seed, random: make([]byte, pool+s.ValueSize), buf: make([]byte, s.ValueSize)}
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	for i := range v.random {
		v.random[i] = byte(rng.Uint32())
	}
	for i := range v.buf {
		v.buf[i] = "the same string "[i%16]
	}
	return v
}

// at returns the i-th value, until the next call: it starts with the row's number,
// so that no two are the same.
func (v *values) at(i int) []byte {
	half := len(v.buf) / 2
	from := mix(v.seed+1, uint64(i)) % (1 << 20)
	copy(v.buf[:half], v.random[from:])
	binary.LittleEndian.PutUint64(v.buf, uint64(i))
	return v.buf
}

// mix is a hash of a row's number: the last step of splitmix64.
func mix(seed, i uint64) uint64 {
	x := seed*0x9e3779b97f4a7c15 + i*0xbf58476d1ce4e5b9 + 0x94d049bb133111eb
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
