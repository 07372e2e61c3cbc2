// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// result is what a command line gave.
type result struct {
	code           int
	stdout, stderr string
}

// command runs a command line in this process.
func command(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// succeed runs a command line that must work, or is not supported here and need
// not be.
func succeed(t *testing.T, args ...string) result {
	t.Helper()
	r := command(t.Context(), args...)
	if r.code == exitNotSupported && !strings.Contains(os.Getenv("PREDICTIO_REQUIRE"), "pagecache") {
		t.Skip(r.stderr)
	}
	if r.code != exitOK || r.stderr != "" {
		t.Fatalf("predictio %s: exit %d, stderr %q", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// decode parses what --json printed, and wants nothing unknown in it.
func decode(t *testing.T, r result, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in %q", err, r.stdout)
	}
	if strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("more than one line: %q", r.stdout)
	}
}

const testRows = 2000 // of bucket a, with values of 1000 bytes

// testDatabase has a bucket "a", a bucket "b/c" with an empty value in it, and
// a bucket with a slash in its name.
func testDatabase(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		a, err := tx.CreateBucket([]byte("a"))
		if err != nil {
			return err
		}
		for i := range testRows {
			if err := a.Put(fmt.Appendf(nil, "key-%06d", i), bytes.Repeat([]byte{byte(i)}, 1000)); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		c, err := b.CreateBucket([]byte("c"))
		if err != nil {
			return err
		}
		if err := c.Put([]byte("empty"), nil); err != nil {
			return err
		}
		slash, err := b.CreateBucket([]byte("host/name"))
		if err != nil {
			return err
		}
		return slash.Put([]byte("k"), []byte("v"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, name string, b []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
