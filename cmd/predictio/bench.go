// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/testbeds/bench"
	"github.com/predictio/predictio/testbeds/bench/bboltsuite"
	"github.com/predictio/predictio/testbeds/bench/pebblesuite"
	"github.com/predictio/predictio/testbeds/bench/runtimesuite"
	"github.com/predictio/predictio/testbeds/device"
)

// benchFlags are the flags that all suites share.
type benchFlags struct {
	quick, keep bool
	dir, only   string
	modes       []string
	reps        int
	readAheadKB int
	seed        uint64
}

func newBenchCmd() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench SUITE",
		Short: "Measure against the bare engine, cold and warm",
		Long: `Measure against the bare engine: one line a case and mode, with --json one
object. Runs are interleaved in random order, each from a file that was verified
to be out of the page cache; figures are medians.

As root, the kernel's readahead is set to --read-ahead-kb for the run, the default
of ordinary machines, and put back afterwards; 0 leaves it as it is.

Suites: bbolt, pebble, runtime.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which suite? bbolt, pebble or runtime")
			}
			return fmt.Errorf("no suite %q: bbolt, pebble or runtime", args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	p := cmd.PersistentFlags()
	p.BoolVar(&f.quick, "quick", false, "small databases (some 300 MB), some 2 minutes")
	p.BoolVar(&f.keep, "keep", false, "leave the databases for the next run")
	p.StringVar(&f.dir, "dir", "", "where to make the databases (default: the temp folder)")
	p.StringVar(&f.only, "case", "", "only cases whose name contains this")
	p.StringSliceVar(&f.modes, "mode", nil, "only these modes, beside the baseline")
	p.IntVar(&f.reps, "reps", 0, "repetitions of each case (default: as many as each needs)")
	p.IntVar(&f.readAheadKB, "read-ahead-kb", 128, "kernel readahead during the run; 0: the machine's own")
	p.Uint64Var(&f.seed, "seed", 1, "of the order of runs")
	cmd.AddCommand(
		&cobra.Command{
			Use: "bbolt", Short: "The cursor of bbolt against that of bbolthint", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return benchSuite(cmd, f, bboltsuite.Run) },
		},
		&cobra.Command{
			Use: "pebble", Short: "Pebble, v2 and v1, with pebblehint against its own readahead", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return benchSuite(cmd, f, pebblesuite.Run) },
		},
		&cobra.Command{
			Use: "runtime", Short: "What an event costs", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return runtimesuite.Run(cmd.Context(), runtimesuite.Options{
					Quick: f.quick, Reps: f.reps, Only: f.only, Emit: emitter(cmd, 0),
				})
			},
		},
	)
	return cmd
}

// benchSuite runs a suite with the folder's readahead set, and puts it back.
func benchSuite(cmd *cobra.Command, f benchFlags, run func(context.Context, bench.Options) error) (err error) {
	if f.dir == "" {
		f.dir = os.TempDir()
	}
	kb, restore, err := setReadahead(cmd, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	return run(cmd.Context(), bench.Options{
		Dir: f.dir, Quick: f.quick, Reps: f.reps, Only: f.only, Modes: f.modes, Seed: f.seed, Keep: f.keep,
		Emit:     emitter(cmd, kb),
		Progress: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) },
	})
}

// setReadahead sets the readahead of the folder's device where it may, and returns
// what then holds, in KiB.
func setReadahead(cmd *cobra.Command, f benchFlags) (kb int, restore func() error, err error) {
	nothing := func() error { return nil }
	// Before the device is looked at: a run that died may have left it changed.
	if err := device.RestoreOrphan(); err != nil {
		return 0, nothing, err
	}
	probe, err := os.CreateTemp(f.dir, "predictio-*")
	if err != nil {
		return 0, nothing, err
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	file, err := hints.Register(probe)
	if err != nil {
		return 0, nothing, err
	}
	defer file.Release()
	own := int(file.Device().ReadAhead >> 10)
	if f.readAheadKB == 0 || f.readAheadKB == own {
		return own, nothing, nil
	}
	r, err := device.SetReadahead(file.Device().ReadAheadCtl, f.readAheadKB)
	if errors.Is(err, device.ErrNotSupported) || errors.Is(err, os.ErrPermission) {
		fmt.Fprintf(cmd.ErrOrStderr(), "readahead stays at %d KiB for %s: %v\n", own, filepath.Clean(f.dir), err)
		return own, nothing, nil
	}
	if err != nil {
		return 0, nothing, err
	}
	return f.readAheadKB, r.Restore, nil
}

// emitter prints results: a line each, or an object with --json.
func emitter(cmd *cobra.Command, readAheadKB int) func(bench.Result) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	out := cmd.OutOrStdout()
	return func(r bench.Result) error {
		r.ReadAheadKB = readAheadKB
		if asJSON {
			return json.NewEncoder(out).Encode(r)
		}
		_, err := fmt.Fprintln(out, r)
		return err
	}
}
