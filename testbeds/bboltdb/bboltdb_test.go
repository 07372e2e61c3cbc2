// SPDX-License-Identifier: Apache-2.0

package bboltdb

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestGenerate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := Spec{Records: 25_000, MinValue: 10, MaxValue: 3000, Seed: 1}
	if err := Generate(context.Background(), path, s, nil); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		i, sizes := 0, map[int]bool{}
		err := tx.Bucket([]byte(Bucket)).ForEach(func(k, v []byte) error {
			if !bytes.Equal(k, Key(i)) {
				t.Fatalf("key %d is %q", i, k)
			}
			sizes[len(v)] = true
			i++
			return nil
		})
		if i != s.Records || len(sizes) < 100 {
			t.Errorf("%d records of %d sizes", i, len(sizes))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Generate(context.Background(), path, s, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
}

func TestGenerateCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "db")
	err := Generate(ctx, path, Spec{Records: 50_000, MinValue: 10, MaxValue: 10}, func(int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
