// SPDX-License-Identifier: Apache-2.0

package bbolthint_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/internal/pagecache"
)

// warmDB makes a database of some MiB and closes it.
func warmDB(t *testing.T, pageSize int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "warm.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		for i := range 3000 {
			if err := b.Put([]byte{byte(i >> 8), byte(i)}, make([]byte, 1000)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWarmMakesResident(t *testing.T) {
	path := warmDB(t, 0)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := pagecache.Evict(f); err != nil && !errors.Is(err, pagecache.ErrNotSupported) {
		t.Fatal(err)
	}
	var last, total int64
	err = bbolthint.Warm(context.Background(), path, 0, func(done, of int64) {
		if done <= last {
			t.Errorf("progress went from %d to %d", last, done)
		}
		last, total = done, of
	})
	if errors.Is(err, bbolthint.ErrNotSupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if last != st.Size() || total != st.Size() {
		t.Errorf("progress ended at %d of %d, the file has %d bytes", last, total, st.Size())
	}
	cached, err := pagecache.Resident(int(f.Fd()), st.Size())
	if errors.Is(err, pagecache.ErrNotSupported) {
		t.Skip(err)
	}
	if err != nil || cached < st.Size() {
		t.Errorf("%d of %d bytes are cached, %v", cached, st.Size(), err)
	}
}

func TestWarmRespectsBudget(t *testing.T) {
	path := warmDB(t, 0)
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	called := false
	note := func(int64, int64) { called = true }
	for _, budget := range []int64{st.Size() - 1, 1, -1} {
		err := bbolthint.Warm(context.Background(), path, budget, note)
		if !errors.Is(err, bbolthint.ErrOverBudget) || !strings.Contains(err.Error(), path) {
			t.Errorf("budget %d: %v", budget, err)
		}
	}
	if called {
		t.Error("a file over the budget was read")
	}
	if err := bbolthint.Warm(context.Background(), path, st.Size(), nil); err != nil {
		t.Errorf("a budget of the file's size: %v", err)
	}
}

func TestWarmCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := bbolthint.Warm(ctx, warmDB(t, 0), 1<<40, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestWarmBadInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"missing", filepath.Join(dir, "none"), fs.ErrNotExist},
		{"folder", dir, hints.ErrNotRegular},
		{"device", os.DevNull, hints.ErrNotRegular},
		{"empty", write("empty", nil), bbolthint.ErrNotBbolt},
		{"text", write("text", bytes.Repeat([]byte("not a database\n"), 1000)), bbolthint.ErrNotBbolt},
		{"zeros", write("zeros", make([]byte, 1<<16)), bbolthint.ErrNotBbolt},
		{"short", write("short", make([]byte, 20)), bbolthint.ErrNotBbolt},
	} {
		if err := bbolthint.Warm(context.Background(), c.path, 1<<40, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// One meta page is enough, wherever the second lies, and the two must not be
// mistaken for each other.
func TestFilePageSize(t *testing.T) {
	for _, size := range []int{1024, 4096, 16384, 65536} {
		b, err := os.ReadFile(warmDB(t, size))
		if err != nil {
			t.Fatal(err)
		}
		check := func(damage string, want error) {
			t.Helper()
			got, err := bbolthint.FilePageSize(bytes.NewReader(b))
			if !errors.Is(err, want) || want == nil && got != size {
				t.Errorf("page size %d, %s: %d, %v", size, damage, got, err)
			}
		}
		check("intact", nil)
		clear(b[:32])
		check("first meta page torn", nil)
		b[size+20]++ // the version
		check("unknown version", bbolthint.ErrNotBbolt)
		b[size+20]--
		clear(b[size : size+32])
		check("both torn", bbolthint.ErrNotBbolt)
	}
}

type brokenReader struct{ err error }

func (r brokenReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

func TestFilePageSizeReadError(t *testing.T) {
	broken := errors.New("broken")
	if _, err := bbolthint.FilePageSize(brokenReader{broken}); !errors.Is(err, broken) {
		t.Errorf("%v, want the reader's error", err)
	}
}
