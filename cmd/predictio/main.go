// SPDX-License-Identifier: Apache-2.0

// Command predictio shows what prefetching does to a database, and helps to use
// it: demo, doctor, scan, warm, bench.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that has seen enough (| head) is a failed write, which lets a command
	// clean up, and not a death in the middle.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean end; a second one must not wait for it.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
