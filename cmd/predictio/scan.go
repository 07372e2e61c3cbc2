// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/bbolthint"
)

const (
	modePredictio = "predictio"
	modeBare      = "bare"

	// maxNesting bounds how deep buckets lie in each other: a damaged file may
	// have one that contains itself.
	maxNesting = 100
)

type scanFlags struct {
	cold, keys  bool
	mode        string
	lockTimeout time.Duration
}

// scanReport is what scan --json prints. Sizes are in bytes; what the system does
// not tell is left out.
type scanReport struct {
	File           string          `json:"file"`
	FileBytes      int64           `json:"file_bytes"`
	Mode           string          `json:"mode"`
	Cold           bool            `json:"cold"`
	ColdVerifiedBy string          `json:"cold_verified_by,omitempty"` // cachestat or mincore
	KeysOnly       bool            `json:"keys_only"`
	Buckets        int64           `json:"buckets"`
	Rows           int64           `json:"rows"`
	KeyBytes       int64           `json:"key_bytes"`
	ValueBytes     int64           `json:"value_bytes"` // of what was read
	CRC32C         string          `json:"crc32c"`      // of what was read, in key order
	MS             float64         `json:"ms"`          // with opening the database
	RowsPerS       float64         `json:"rows_per_s"`
	ReadBytes      *int64          `json:"read_bytes,omitempty"` // from storage
	ResidentBefore *int64          `json:"resident_before_bytes,omitempty"`
	ResidentAfter  *int64          `json:"resident_after_bytes,omitempty"`
	Prefetch       *prefetchReport `json:"prefetch,omitempty"` // in mode predictio
}

func newScanCmd() *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan FILE [BUCKET...] | scan DIRECTORY",
		Short: "Read a bbolt or Pebble database in key order and say what it cost",
		Long: `Read a database in key order and say what it cost: rows, bytes, time, what came
from storage, what was in the page cache before and is now. A file is a bbolt
database, a directory one of Pebble (` + pebbleFormats + `).

Without BUCKET, all buckets are read; with it, that bucket and those in it. A
nested bucket is named by its path, with slashes. Pebble has none. The database is
opened for reading, and so waits for a writer's lock, and with Pebble a reader's.

With --json: file, file_bytes, mode, cold, cold_verified_by (cachestat or mincore),
keys_only, buckets, rows, key_bytes, value_bytes, crc32c (of all that was read),
ms, rows_per_s, read_bytes (from storage), resident_before_bytes,
resident_after_bytes, prefetch (off or pass_through: why nothing was prefetched;
backend, events, offered = accepted + dropped, failed, resident, bytes, suppressed,
useful, late, wasted, sweep_bytes, contended).`,
		Args: cobra.MinimumNArgs(1),
	}
	p := cmd.Flags()
	p.BoolVar(&f.cold, "cold", false, "drop the database from the page cache first")
	p.BoolVar(&f.keys, "keys", false, "read keys only, no values")
	p.StringVar(&f.mode, "mode", modePredictio, "predictio, or bare: the engine's own cursor or iterator")
	p.DurationVar(&f.lockTimeout, "lock-timeout", time.Second, "how long to wait for the database's lock")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return scan(cmd, f, args[0], args[1:]) }
	return cmd
}

func scan(cmd *cobra.Command, f scanFlags, path string, buckets []string) error {
	if f.mode != modePredictio && f.mode != modeBare {
		return usagef("--mode: %q is neither predictio nor bare", f.mode)
	}
	if f.lockTimeout < 0 {
		return usagef("--lock-timeout: %v is negative", f.lockTimeout)
	}
	db, err := findDatabase(path)
	if err != nil {
		return err
	}
	if db.pebble && len(buckets) > 0 {
		return usagef("%s: a Pebble database has no buckets", path)
	}
	r := scanReport{File: path, Mode: f.mode, Cold: f.cold, KeysOnly: f.keys}
	if f.cold {
		if r.ColdVerifiedBy, err = db.makeCold(); err != nil {
			return err
		}
	}
	var before residency
	if before, r.FileBytes, err = db.look(); err != nil {
		return err
	}
	r.ResidentBefore = before.known()

	s := scanner{ctx: cmd.Context(), keysOnly: f.keys, bar: newBar(cmd, "reading", -1, false)}
	started := time.Now()
	r.ReadBytes, err = countRead(func() error {
		if db.pebble {
			return guard(path, func() error { return s.pebble(path, f, &r) })
		}
		return watch(path, &s.progress, func() error { return s.open(path, f, buckets, &r) })
	})
	s.bar.end()
	if err != nil {
		return err
	}
	took := time.Since(started)
	r.MS, r.RowsPerS = ms(took), float64(int64(float64(s.rows)/took.Seconds()))
	r.Buckets, r.Rows, r.KeyBytes, r.ValueBytes = s.buckets, s.rows, s.keyBytes, s.valueBytes
	r.CRC32C = s.sum()
	if after, _, err := db.look(); err == nil {
		r.ResidentAfter = after.known()
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd.OutOrStdout(), db)
}

func (r *scanReport) print(w io.Writer, db database) error {
	what := "keys and values"
	if r.KeysOnly {
		what = "keys"
	}
	buckets := ""
	if !db.pebble {
		buckets = fmt.Sprintf(", buckets: %d", r.Buckets)
	}
	_, err := fmt.Fprintf(w, `%d rows%s; %s of %s, crc32c %s
%.1f ms, %.0f rows/s, mode %s
%s read from storage; of %s in the page cache: %s before, %s now
`,
		r.Rows, buckets, bytesText(r.KeyBytes+r.ValueBytes), what, r.CRC32C,
		r.MS, r.RowsPerS, r.Mode,
		maybeBytes(r.ReadBytes), bytesText(r.FileBytes), maybeBytes(r.ResidentBefore), maybeBytes(r.ResidentAfter))
	if err == nil && r.Cold && r.ColdVerifiedBy == "" {
		_, err = fmt.Fprintln(w, "this system does not tell whether the database really was cold")
	}
	if err == nil && r.Prefetch != nil {
		_, err = fmt.Fprintln(w, r.Prefetch)
	}
	return err
}

// scanner reads buckets and adds up what it reads.
type scanner struct {
	ctx      context.Context
	keysOnly bool
	bar      *bar
	hinted   *bbolthint.DB // nil: mode bare

	tally
	buckets  int64
	progress atomic.Int64 // grows as buckets and rows are read
}

// prefetch opens the runtime of a scan, and what end finds of it is reported.
func (r *scanReport) prefetch() (rt *predictio.Runtime, end func(), err error) {
	if rt, err = predictio.Open(predictio.Options{}); err != nil {
		return nil, nil, err
	}
	r.Prefetch = &prefetchReport{Off: rt.Off()}
	return rt, func() {
		rt.Close()
		r.Prefetch.fill(rt.Stats())
	}, nil
}

// open opens the database and reads the named buckets, all if none is named.
func (s *scanner) open(path string, f scanFlags, names []string, r *scanReport) error {
	db, err := openDatabase(s.ctx, path, f.lockTimeout)
	if err != nil {
		return err
	}
	defer db.Close()
	if f.mode == modePredictio {
		rt, end, err := r.prefetch()
		if err != nil {
			return err
		}
		defer end()
		hinted, err := bbolthint.Attach(db, rt)
		if err != nil {
			r.Prefetch.PassThrough = err.Error() // hinted works all the same
		}
		defer hinted.Close()
		s.hinted = hinted
	}
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > r.FileBytes {
			// bbolt would read past its mapping.
			return fmt.Errorf("%s: truncated: %d bytes of %d", path, r.FileBytes, tx.Size())
		}
		if len(names) == 0 {
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return s.bucket(b, 1) })
		}
		for _, name := range names {
			b := findBucket(tx, name)
			if b == nil {
				return usagef("%s: no bucket %q", path, name)
			}
			if err := s.bucket(b, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// bucket reads a bucket and those in it.
func (s *scanner) bucket(b *bolt.Bucket, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("buckets lie in each other more than %d deep", maxNesting)
	}
	s.buckets++
	s.progress.Add(1)
	return s.each(b, func(k, v []byte) error {
		if v == nil { // a bucket: empty values are not nil
			return s.bucket(b.Bucket(k), depth+1)
		}
		if s.keysOnly {
			v = nil
		}
		if s.add(k, v); s.rows%checkEvery == 0 {
			s.progress.Add(1)
			s.bar.at(s.rows)
			return s.ctx.Err()
		}
		return nil
	})
}

func (s *scanner) each(b *bolt.Bucket, fn func(k, v []byte) error) error {
	switch {
	case s.hinted == nil:
		return b.ForEach(fn)
	case !s.keysOnly:
		return s.hinted.ForEach(b, fn)
	}
	// ForEach announces that everything will be read; keys are not everything.
	c := s.hinted.Cursor(b)
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return nil
}
