// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/predictio/predictio/adapters/bbolthint"
)

// warmReport is what warm --json prints. Sizes are in bytes; what the system does
// not tell is left out.
type warmReport struct {
	File           string  `json:"file"`
	FileBytes      int64   `json:"file_bytes"`
	ResidentBefore *int64  `json:"resident_before_bytes,omitempty"`
	ResidentAfter  *int64  `json:"resident_after_bytes,omitempty"`
	ReadBytes      *int64  `json:"read_bytes,omitempty"` // from storage
	MS             float64 `json:"ms"`
}

func newWarmCmd() *cobra.Command {
	var budget string
	cmd := &cobra.Command{
		Use:   "warm FILE",
		Short: "Read a bbolt database into the page cache",
		Long: `Read a bbolt database into the page cache, in large reads, before something
walks it that no hinting cursor can help: opening without a stored freelist,
bbolt check, bbolt compact, a backup.

A file larger than the budget is not read: its first pages would be pushed out by
its last. No lock is taken, so the database may be in use.

With --json: file, file_bytes, resident_before_bytes, resident_after_bytes,
read_bytes (from storage), ms.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&budget, "budget", "", "largest file to read, as 512M or 4G (default: half of the available memory)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return warm(cmd, args[0], budget) }
	return cmd
}

func warm(cmd *cobra.Command, path, budget string) error {
	var bytes int64
	if budget != "" {
		var err error
		if bytes, err = parseSize(budget); err != nil {
			return usagef("--budget: %w", err)
		}
	}
	if err := checkDatabase(path); err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	r := warmReport{File: path, FileBytes: st.Size(), ResidentBefore: residentOf(path).known()}
	progress := newBar(cmd, "warming", st.Size(), true)
	started := time.Now()
	r.ReadBytes, err = countRead(func() error {
		return bbolthint.Warm(cmd.Context(), path, bytes, func(done, _ int64) { progress.at(done) })
	})
	progress.end()
	if errors.Is(err, bbolthint.ErrOverBudget) {
		return fmt.Errorf("%w; nothing was read (see --budget)", err)
	}
	if err != nil {
		return err
	}
	r.MS, r.ResidentAfter = ms(time.Since(started)), residentOf(path).known()
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), r)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s in %.0f ms, %s read from storage; in the page cache: %s before, %s now\n",
		path, bytesText(r.FileBytes), r.MS, maybeBytes(r.ReadBytes), maybeBytes(r.ResidentBefore), maybeBytes(r.ResidentAfter))
	return err
}
