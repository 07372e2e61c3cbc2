// SPDX-License-Identifier: Apache-2.0

//go:build race

package pebblehint_test

const raceEnabled = true
