// SPDX-License-Identifier: Apache-2.0

package pebbledb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	pebblev1 "github.com/cockroachdb/pebble"
	"github.com/cockroachdb/pebble/v2"
)

const testRows = 20_000

// specs has every layout and compression in both versions, small, as far as they can be.
func specs() (all []Spec) {
	for _, old := range []bool{false, true} {
		for _, s := range []Spec{
			{Layout: OneLevel, Compression: Snappy}, {Layout: ManyLevels, Compression: Snappy},
			{Layout: OneLevel, Compression: None}, {Layout: OneLevel, Compression: Zstd},
		} {
			s.V1, s.Rows, s.ValueSize, s.Seed = old, testRows, 1024, 1
			if s.check() == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

func generate(t *testing.T, s Spec) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), s.Name())
	if err := Generate(t.Context(), dir, s, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rows iterates over what a database of either version has.
func rows(t *testing.T, dir string, s Spec, fn func(k, v []byte)) {
	t.Helper()
	var it interface {
		First() bool
		Next() bool
		Key() []byte
		Value() []byte
		Close() error
	}
	if s.V1 {
		o := OptionsV1(s.Compression)
		o.ReadOnly = true
		db, err := pebblev1.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if it, err = db.NewIter(nil); err != nil {
			t.Fatal(err)
		}
	} else {
		o := OptionsV2(s.Compression)
		o.ReadOnly = true
		db, err := pebble.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if it, err = db.NewIter(nil); err != nil {
			t.Fatal(err)
		}
	}
	for ok := it.First(); ok; ok = it.Next() {
		fn(it.Key(), it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestGenerate(t *testing.T) {
	for _, s := range specs() {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			dir := generate(t, s)
			n, err := Tables(dir, s)
			if err != nil {
				t.Fatal(err)
			}
			want := [2]int{0, 0}
			if s.Layout == ManyLevels {
				want = [2]int{L0Tables, 1}
			}
			if n[0] != want[0] || n[5] != want[1] || n[6] < 1 || n[1]+n[2]+n[3]+n[4] != 0 {
				t.Errorf("tables in levels: %v", n)
			}
			i, v := 0, newValues(s)
			rows(t, dir, s, func(k, val []byte) {
				if !bytes.Equal(k, Key(i)) || !bytes.Equal(val, v.at(i)) {
					t.Fatalf("row %d is %q, %d bytes", i, k, len(val))
				}
				i++
			})
			if i != s.Rows {
				t.Errorf("%d rows", i)
			}
			var least, most float64 = 0.5, 0.6
			if s.Compression == None {
				least, most = 1, 1.05
			}
			if ratio := float64(tableBytes(t, dir)) / float64(s.Rows*(s.ValueSize+16)); ratio < least || ratio > most {
				t.Errorf("tables are %.3f of the rows", ratio)
			}
			if err := Generate(t.Context(), dir, s, nil); !errors.Is(err, os.ErrExist) {
				t.Errorf("over an existing directory: %v", err)
			}
		})
	}
}

func tableBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tables {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n += st.Size()
	}
	return n
}

// The same spec gives the same tables, byte for byte; another seed does not.
func TestGenerateIsDeterministic(t *testing.T) {
	for _, s := range specs() {
		if s.Layout != ManyLevels {
			continue
		}
		first, second := sums(t, generate(t, s)), sums(t, generate(t, s))
		if first != second {
			t.Errorf("%s: tables differ", s.Name())
		}
		if s.Seed++; sums(t, generate(t, s)) == first {
			t.Errorf("%s: the seed changes nothing", s.Name())
		}
	}
}

// sums is a checksum of the tables, in the order of their numbers.
func sums(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sst" {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", d.Name(), len(b))
		h.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestGenerateCancelled(t *testing.T) {
	for _, at := range []int{1, testRows * 8 / 10, testRows * 95 / 100} { // in L6, L5, L0
		ctx, cancel := context.WithCancel(t.Context())
		s := Spec{Layout: ManyLevels, Compression: Snappy, Rows: testRows, ValueSize: 100}
		dir := filepath.Join(t.TempDir(), "db")
		err := Generate(ctx, dir, s, func(done int) {
			if done >= at {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSpecsThatCantBe(t *testing.T) {
	good := Spec{Layout: OneLevel, Compression: Snappy, Rows: testRows, ValueSize: 100}
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Layout = "flat" },
		func(s *Spec) { s.Compression = "rar" },
		func(s *Spec) { s.V1, s.Compression = true, Zstd },
		func(s *Spec) { s.Rows = 10 },
		func(s *Spec) { s.ValueSize = 1 },
	} {
		s := good
		change(&s)
		if err := Generate(t.Context(), filepath.Join(t.TempDir(), "db"), s, nil); err == nil {
			t.Errorf("%+v was made", s)
		}
	}
}
