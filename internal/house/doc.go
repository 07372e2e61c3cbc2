// SPDX-License-Identifier: Apache-2.0

// Package house holds the house rules as tests: who may import whom, what no
// library package does, and that everything exported is explained.
package house
