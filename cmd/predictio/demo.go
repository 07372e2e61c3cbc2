// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	bolt "go.etcd.io/bbolt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/adapters/bbolthint"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/testbeds/bboltdb"
	"github.com/predictio/predictio/testbeds/bench"
)

// demoSpec is what a demo reads.
type demoSpec struct {
	records, value int // value in bytes
	rows           int // of the scan, fewer on slow storage
}

// usualDemo has values of some pages, as documents and blobs have: with tiny ones, a
// fast device is at its limit of requests before the difference can be seen whole.
var usualDemo = demoSpec{records: 10_000, value: 20 << 10, rows: 1 << 11}

// space is what the database takes at most while it is made, in bytes.
func (s demoSpec) space() int64 { return int64(s.records) * int64(s.value) * 5 / 2 }

const (
	demoRounds = 3
	// demoPatience bounds one scan with the bare cursor: a disk with moving parts
	// would need minutes for all rows.
	demoPatience = 5 * time.Second
)

// demoReport is what demo --json prints. Times are medians.
type demoReport struct {
	Records        int     `json:"records"`
	ValueBytes     int     `json:"value_bytes"` // of one record
	FileBytes      int64   `json:"file_bytes"`
	FileSystem     string  `json:"file_system,omitempty"`
	Device         string  `json:"device,omitempty"`
	ReadAheadKB    int64   `json:"read_ahead_kb,omitempty"`
	ColdVerifiedBy string  `json:"cold_verified_by,omitempty"` // cachestat or mincore
	Rows           int     `json:"rows"`
	Rounds         int     `json:"rounds"`
	BaselineMS     float64 `json:"baseline_ms"`
	MS             float64 `json:"ms"`
	Speedup        float64 `json:"speedup"`
	BaselineRead   *int64  `json:"baseline_read_bytes,omitempty"`
	ReadBytes      *int64  `json:"read_bytes,omitempty"`
	CRC32C         string  `json:"crc32c"` // of keys and values
	Equal          bool    `json:"equal"`
}

// errUnequal is what must never happen.
var errUnequal = errors.New("the two cursors gave different rows: please report this")

func newDemoCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Scan a cold database with and without, and compare",
		Long: `Make a bbolt database of some 230 MB as long use makes them, and read a part of it
in key order, cold, with bbolt's cursor and with the hinting one. Rounds are
interleaved, the file is dropped from the page cache before each run and that is
verified, and both must give the same rows. It needs no root, and leaves nothing
behind.

With --json: records, value_bytes, file_bytes, file_system, device, read_ahead_kb,
cold_verified_by (cachestat or mincore), rows, rounds, baseline_ms, ms, speedup,
baseline_read_bytes, read_bytes, crc32c, equal.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&dir, "dir", "", "where to make the database (default: a temp folder on a real device)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return demo(cmd, dir, usualDemo) }
	return cmd
}

// demo makes a database and shows the difference on it.
func demo(cmd *cobra.Command, dir string, d demoSpec) error {
	if os.Getenv(predictio.EnvVar) == "off" {
		return usagef("%s=off is set: there would be nothing to show", predictio.EnvVar)
	}
	dir, err := demoDir(dir, d.space())
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, "predictio-demo-")
	if err != nil {
		return usagef("%w", err)
	}
	defer os.RemoveAll(temp)
	path := filepath.Join(temp, "demo.db")

	spec := bboltdb.Spec{Records: d.records, MinValue: d.value, MaxValue: d.value, Seed: 1}
	making := newBar(cmd, "making a database", int64(d.records), false)
	err = bboltdb.Generate(cmd.Context(), path, spec, func(done int) { making.at(int64(done)) })
	making.end()
	if err != nil {
		return err
	}
	r := demoReport{Records: d.records, ValueBytes: d.value, FileSystem: fileSystemOf(temp).Name, Rounds: demoRounds}
	if file, err := hints.Open(path); err == nil {
		device := file.Device()
		r.FileBytes, r.Device, r.ReadAheadKB = file.Size(), device.Name, device.ReadAhead>>10
		file.Release()
	}
	run := demoRun{path: path, from: d.records / 4, rows: d.rows, bar: newBar(cmd, "reading", 2*demoRounds+1, false)}
	err = run.run(cmd.Context(), &r)
	run.bar.end()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		err = printJSON(out, r)
	} else {
		err = r.print(out)
	}
	if err == nil && !r.Equal {
		err = errUnequal
	}
	return err
}

// demoDir is the folder to use: the wanted one, or the first with a device under
// it, since where a temp folder lies in memory there is nothing to fetch.
func demoDir(wanted string, space int64) (string, error) {
	candidates := []string{os.TempDir(), "/var/tmp", "."}
	if wanted != "" {
		if st, err := os.Stat(wanted); err != nil {
			return "", usagef("--dir: %w", err)
		} else if !st.IsDir() {
			return "", usagef("--dir: %s is not a directory", wanted)
		}
		candidates = []string{wanted}
	}
	var memory, full string
	for _, dir := range candidates {
		fs := fileSystemOf(dir)
		switch {
		case fs.InMemory:
			memory = fmt.Sprintf("%s lies in memory (%s): nothing is ever read from a device there; name a folder on a disk with --dir", dir, fs.Name)
		case fs.Free > 0 && fs.Free < space:
			full = fmt.Sprintf("%s has %s left, the demo takes up to %s; name another folder with --dir", dir, bytesText(fs.Free), bytesText(space))
		default:
			return dir, nil
		}
	}
	if full != "" {
		return "", errors.New(full)
	}
	return "", notHeref("%s", memory)
}

// demoRun measures one scan with both cursors.
type demoRun struct {
	path       string
	from, rows int
	bar        *bar
	runs       int64
}

func (d *demoRun) run(ctx context.Context, r *demoReport) error {
	// The first run is for the pace of this storage, and is not counted.
	first, err := d.cold(ctx, r, nil)
	if err != nil {
		return err
	}
	d.rows = int(first.rows)
	r.Rows, r.CRC32C, r.Equal = d.rows, first.sum(), true

	var took [2][]time.Duration
	var read [2][]int64
	for round := range demoRounds {
		for turn := range 2 {
			i := (round + turn) % 2 // 1: predictio
			var rt *predictio.Runtime
			if i == 1 {
				// A new one each time: nothing learned in an earlier round may help.
				if rt, err = predictio.Open(predictio.Options{}); err != nil {
					return err
				}
			}
			run, err := d.cold(ctx, r, rt)
			if rt != nil {
				rt.Close()
			}
			if err != nil {
				return err
			}
			took[i] = append(took[i], run.took)
			if run.read != nil {
				read[i] = append(read[i], *run.read)
			}
			r.Equal = r.Equal && run.tally == first.tally
		}
	}
	r.BaselineMS, r.MS = ms(bench.Median(took[0])), ms(bench.Median(took[1]))
	r.Speedup = bench.Ratio(r.BaselineMS, r.MS)
	if len(read[0])+len(read[1]) == 2*demoRounds {
		bare, hinted := bench.Median(read[0]), bench.Median(read[1])
		r.BaselineRead, r.ReadBytes = &bare, &hinted
	}
	return nil
}

// demoScan is what one scan gave.
type demoScan struct {
	tally
	took time.Duration
	read *int64
}

// cold evicts the file and scans it, with bbolt's own cursor if rt is nil.
func (d *demoRun) cold(ctx context.Context, r *demoReport, rt *predictio.Runtime) (s demoScan, err error) {
	d.bar.at(d.runs)
	d.runs++
	if r.ColdVerifiedBy, err = makeCold(d.path); err != nil {
		return s, err
	}
	db, err := openDatabase(ctx, d.path, time.Second)
	if err != nil {
		return s, err
	}
	defer db.Close()
	var hinted *bbolthint.DB
	if rt != nil {
		if hinted, err = bbolthint.Attach(db, rt); err != nil {
			return s, err
		}
		defer hinted.Close()
	}
	s.read, err = countRead(func() error {
		return db.View(func(tx *bolt.Tx) error {
			started := time.Now()
			defer func() { s.took = time.Since(started) }()
			b := tx.Bucket([]byte(bboltdb.Bucket))
			if hinted != nil {
				return d.scan(ctx, hinted.Cursor(b), &s.tally, 0)
			}
			return d.scan(ctx, b.Cursor(), &s.tally, demoPatience)
		})
	})
	return s, err
}

type cursor interface {
	Seek(key []byte) (k, v []byte)
	Next() (k, v []byte)
}

// scan reads the rows, and stops early when patience, if not 0, is at its end and
// how many rows to read is still open.
func (d *demoRun) scan(ctx context.Context, c cursor, t *tally, patience time.Duration) error {
	started := time.Now()
	for k, v := c.Seek(bboltdb.Key(d.from)); k != nil && t.rows < int64(d.rows); k, v = c.Next() {
		if t.add(k, v); t.rows%checkEvery != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.runs == 1 && patience > 0 && time.Since(started) > patience {
			break
		}
	}
	return nil
}
