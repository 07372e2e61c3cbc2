// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && race

package pebblev1hint_test

const raceEnabled = true
