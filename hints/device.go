// SPDX-License-Identifier: Apache-2.0

package hints

// Device is what a block device's queue says of itself. A field is 0 where the
// system doesn't tell: file systems without a device, or without /sys.
type Device struct {
	Name         string // as in /sys/block, "" where unknown
	MaxRequest   int64  // bytes of the largest useful readahead request
	ReadAhead    int64  // bytes of the kernel's own readahead window
	QueueDepth   int    // requests the queue holds before a submitter sleeps
	Rotational   bool
	ReadAheadCtl string // the file that sets ReadAhead, "" where unknown
}
