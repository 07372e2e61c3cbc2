// SPDX-License-Identifier: Apache-2.0

package bboltsuite

import (
	"context"
	"hash/maphash"
	"math"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/runtime/backend/noop"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/neighbor"
	"github.com/predictio/predictio/runtime/policy/treechildren"
	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
)

// paperWindow is the window of mode tree, the paper's ungoverned policy, in
// children.
const paperWindow = 64

// cursor is what bbolt's and the hinting cursor have in common.
type cursor interface {
	First() (k, v []byte)
	Last() (k, v []byte)
	Seek([]byte) (k, v []byte)
	Next() (k, v []byte)
	Prev() (k, v []byte)
}

// view is an open database in one mode, inside a read-only transaction.
type view struct {
	bucket *bolt.Bucket
	hinted *bbolthint.DB // nil: bare
	rep    int
	tally
}

func (v *view) cursor() cursor {
	if v.hinted == nil {
		return v.bucket.Cursor()
	}
	return v.hinted.Cursor(v.bucket)
}

// work is a case's work on a view.
type work func(v *view) error

// tally sums what was read, so that it is read, and can be compared.
type tally struct {
	rows int64
	sum  uint64
}

var seed = maphash.MakeSeed()

func (t *tally) key(k []byte) {
	t.rows++
	t.sum = t.sum*31 + maphash.Bytes(seed, k)
}

func (t *tally) pair(k, v []byte) {
	t.key(k)
	t.sum = t.sum*31 + maphash.Bytes(seed, v)
}

// mode builds a bench.Mode for a work.
func mode(name, path string, w work) bench.Mode {
	return bench.Mode{Name: name, Run: func(ctx context.Context, rep int) (bench.Sample, error) {
		return run(ctx, name, path, rep, w)
	}}
}

// runtimeFor returns the runtime of a mode, nil for those without.
func runtimeFor(name string) (*predictio.Runtime, error) {
	var o predictio.Options
	switch name {
	case bench.Predictio:
	case bench.Noop:
		o.Backend = &noop.Backend{}
	case "tree":
		o.Policies = []policy.Policy{treechildren.NewFixed(paperWindow)}
	case "neighbor":
		o.Policies = []policy.Policy{neighbor.Policy{}}
	default:
		return nil, nil
	}
	return predictio.Open(o)
}

// run opens the database in a mode and times the work on it. Opening is not
// timed, but what a mode reads before the work is.
func run(ctx context.Context, name, path string, rep int, w work) (s bench.Sample, err error) {
	options := bolt.Options{ReadOnly: true, Timeout: time.Second}
	start := time.Now()
	var before time.Duration
	switch name {
	case "populate":
		options.MmapFlags = mapPopulate
	case "read-first":
		if err := readAll(ctx, path); err != nil {
			return s, err
		}
	}
	db, err := bolt.Open(path, 0, &options)
	if err != nil {
		return s, err
	}
	defer db.Close()
	if name == "populate" || name == "read-first" {
		before = time.Since(start)
	}
	rt, err := runtimeFor(name)
	if err != nil {
		return s, err
	}
	v := &view{rep: rep}
	if rt != nil {
		defer rt.Close()
		if v.hinted, err = bbolthint.Attach(db, rt); err != nil {
			return s, err
		}
		defer v.hinted.Close()
	}
	err = db.View(func(tx *bolt.Tx) error {
		v.bucket = tx.Bucket([]byte(bboltdb.Bucket))
		start := time.Now()
		err := w(v)
		s.Took = before + time.Since(start)
		return err
	})
	s.Rows, s.Sum = v.rows, v.sum
	if rt != nil {
		total := rt.Stats().Total()
		s.Hints, s.Requests, s.HasHints = total.Events, total.Accepted, true
	}
	return s, err
}

// readAll reads the database into the page cache, whatever its size.
func readAll(ctx context.Context, path string) error {
	return bbolthint.Warm(ctx, path, math.MaxInt64, nil)
}
