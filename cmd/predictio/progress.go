// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

// barDelay is how long work must have taken before anybody is told of it.
const barDelay = time.Second

// bar shows progress on a terminal, once the work has taken a while. It is for
// one goroutine at a time.
type bar struct {
	cmd     *cobra.Command
	text    string
	total   int64 // -1: not known
	bytes   bool  // what is counted
	visible bool  // somebody could see it
	started time.Time
	shown   *progressbar.ProgressBar
}

// newBar returns a bar for total steps, or bytes.
func newBar(cmd *cobra.Command, text string, total int64, bytes bool) *bar {
	return &bar{
		cmd: cmd, text: text, total: total, bytes: bytes, started: time.Now(),
		visible: isTerminal(cmd.ErrOrStderr()) && !wantsJSON(cmd),
	}
}

// at says how much is done.
func (b *bar) at(done int64) {
	if !b.visible {
		return
	}
	if b.shown == nil {
		if time.Since(b.started) < barDelay {
			return
		}
		b.shown = progressbar.NewOptions64(b.total,
			progressbar.OptionSetWriter(b.cmd.ErrOrStderr()),
			progressbar.OptionSetDescription(b.text),
			progressbar.OptionShowBytes(b.bytes),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.shown.Set64(done)
}

// end takes the bar away.
func (b *bar) end() {
	if b.shown != nil {
		_ = b.shown.Clear()
		_ = b.shown.Exit()
	}
}
