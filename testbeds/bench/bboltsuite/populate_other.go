// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bboltsuite

// mapPopulate: there is no such flag here.
const mapPopulate = 0
