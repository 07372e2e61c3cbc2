// SPDX-License-Identifier: Apache-2.0

package record

import (
	"math/rand/v2"
	"os"
	"sync"

	"github.com/predictio/predictio/hints"
	"github.com/predictio/predictio/runtime/backend"
)

// Moody returns a Backend that accepts some requests, fails some of those, and says of
// what is cached whatever it likes; the same for the same seed and calls.
func Moody(seed uint64) *Backend {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 3))
	page := int64(os.Getpagesize())
	return &Backend{
		Answer: func(reqs []backend.Request) backend.Outcome {
			mu.Lock()
			defer mu.Unlock()
			n := len(reqs)
			if rng.IntN(2) == 0 {
				n = rng.IntN(n + 1)
			}
			return backend.Outcome{Accepted: n, Failed: rng.IntN(n + 1), Resident: rng.IntN(n+2) - 1}
		},
		Cached: func(_ *hints.File, _, n int64) (int64, bool) {
			mu.Lock()
			defer mu.Unlock()
			return rng.Int64N(n/page + 2), rng.IntN(8) > 0
		},
	}
}
