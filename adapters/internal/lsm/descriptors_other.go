// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package lsm

func maxDescriptors() int { return 0 }
