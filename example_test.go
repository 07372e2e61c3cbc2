// SPDX-License-Identifier: Apache-2.0

//go:build linux

package predictio_test

import (
	"fmt"

	"github.com/predictio/predictio"
	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
	"github.com/predictio/predictio/runtime/policy/willneed"
)

// Policies and the backend can be chosen, here one that only records.
func ExampleOptions() {
	requests := &record.Backend{}
	rt, err := predictio.Open(predictio.Options{
		Backend:  requests,
		Policies: []policy.Policy{willneed.Policy{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()

	f, err := hints.Open("example_test.go")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Release()
	// Two extents that overlap, given back to front: one request comes of it.
	rt.Emit(&hints.WillNeed{Extents: []hints.Extent{
		{File: f, Off: 500, Len: 100},
		{File: f, Off: 0, Len: 550},
	}})
	for _, r := range requests.Ranges() {
		fmt.Println("request at", r.Off)
	}
	// Output: request at 0
}

// Stats says what was predicted and what became of it.
func ExampleRuntime_Stats() {
	rt, err := predictio.Open(predictio.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close()
	s := rt.Stats()
	for _, name := range []string{"treechildren", "willneed"} {
		fmt.Println(name, s.Policies[name].Offered)
	}
	// Output:
	// treechildren 0
	// willneed 0
}
