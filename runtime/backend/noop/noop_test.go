// SPDX-License-Identifier: Apache-2.0

package noop_test

import (
	"testing"

	"github.com/predictio/predictio/runtime/backend"
	"github.com/predictio/predictio/runtime/backend/conformance"
	"github.com/predictio/predictio/runtime/backend/noop"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) backend.Backend { return new(noop.Backend) })
}

func TestAcceptsAll(t *testing.T) {
	f, _ := conformance.File(t, 1<<16)
	out := new(noop.Backend).Submit(conformance.Pages(f, 5))
	if want := (backend.Outcome{Accepted: 5, Resident: backend.Unknown}); out != want {
		t.Errorf("%+v, want %+v", out, want)
	}
}
