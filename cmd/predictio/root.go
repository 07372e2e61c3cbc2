// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCmd()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	started := false // flags and arguments were right
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = usagef("%w (try '%s --help')", err, cmd.CommandPath())
	}
	code := exitCode(ctx, err)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), message(code, err))
	}
	return code
}

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "predictio",
		Short: "Storage prefetching for Go engines that know what they read next",
		Long: `Storage prefetching for Go engines that know what they read next.

With --json a command prints one JSON object, or one a line; its fields are stable.
Progress goes to a terminal's standard error only. NO_COLOR is respected.
PREDICTIO=off in the environment turns all prefetching off.

Exit codes: 0 done; 1 failed; 2 wrong usage, or input that can't be right: no such
file, not a database; 3 not supported on this system; 130 interrupted.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.AddCommand(newDemoCmd(), newDoctorCmd(), newScanCmd(), newWarmCmd(), newBenchCmd())
	return root
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
