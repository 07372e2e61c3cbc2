// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !race

package pebblehint_test

const raceEnabled = false
