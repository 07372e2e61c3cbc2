// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pebblev1hint_test

const raceEnabled = false
