// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/conformance"
	"github.com/predictio/predictio/runtime/backend/record"
	"github.com/predictio/predictio/runtime/policy"
)

func TestConformance(t *testing.T) {
	for name, answer := range map[string]func([]backend.Request) backend.Outcome{
		"all":     nil,
		"nothing": func([]backend.Request) backend.Outcome { return backend.Outcome{} },
		"a part":  partly(rand.New(rand.NewPCG(1, 2))),
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(*testing.T) backend.Backend { return &record.Backend{Answer: answer} })
		})
	}
}

// partly answers with any outcome that the contract allows.
func partly(r *rand.Rand) func([]backend.Request) backend.Outcome {
	return func(reqs []backend.Request) backend.Outcome {
		n := r.IntN(len(reqs) + 1)
		return backend.Outcome{Accepted: n, Failed: r.IntN(n + 1), Resident: r.IntN(n+2) - 1}
	}
}

func TestKeepsWhatIsAccepted(t *testing.T) {
	f, _ := conformance.File(t, 1<<20)
	b := &record.Backend{Answer: func(reqs []backend.Request) backend.Outcome {
		return backend.Outcome{Accepted: len(reqs) - 1}
	}}
	b.Submit(conformance.Pages(f, 3))
	want := []record.Range{{f.ID(), 0, policy.PageSize}, {f.ID(), policy.PageSize, policy.PageSize}}
	if got := b.Ranges(); !slices.Equal(got, want) || b.Total() != 2 {
		t.Errorf("kept %v, total %d, want %v", got, b.Total(), want)
	}
	b.Reset()
	if len(b.Ranges()) != 0 || b.Total() != 0 {
		t.Error("Reset has not forgotten")
	}
}

func TestPlaysTheCache(t *testing.T) {
	f, _ := conformance.File(t, 1<<20)
	var b record.Backend
	if _, known := b.Resident(f, 0, 1); known {
		t.Error("residency is known to a backend that was told nothing")
	}
	b.Cached = func(_ *hints.File, off, n int64) (int64, bool) { return off / policy.PageSize, true }
	if n, known := b.Resident(f, 3*policy.PageSize, 1); n != 3 || !known {
		t.Errorf("Resident = %d, %v, want what the test plays", n, known)
	}
	if ok, known := b.Arrived(f, 0); ok || !known {
		t.Errorf("Arrived = %v, %v, want known absence", ok, known)
	}
}
