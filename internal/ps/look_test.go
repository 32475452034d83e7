// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestStrip leaves of a report what the requested sources see now.
func TestStrip(t *testing.T) {
	a, b := gpu.BDF{Bus: 1}, gpu.BDF{Bus: 2}
	leased := &usage.Lease{ID: "aaaaaaaaaaaa", GPUs: []gpu.BDF{a, b}}
	container := &usage.Container{ID: "c", Facts: usage.Facts{GPUs: []gpu.BDF{a}}}
	process := []usage.Process{{PID: 1, GPUs: []gpu.BDF{b}}}
	report := func() lease.Report {
		return lease.Report{
			State: lease.State{Queue: []lease.Ticket{{ID: "t"}}},
			Holders: []usage.Holder{
				{GPUs: []gpu.BDF{a, b}, Lease: leased},
				{GPUs: []gpu.BDF{a, b}, Lease: leased, Container: container},
				{GPUs: []gpu.BDF{a, b}, Lease: leased, Processes: process},
				{GPUs: []gpu.BDF{b}, Stale: true, Container: container},
			},
			Closed: []lease.Closed{{Why: "over"}},
		}
	}
	want := report()
	want.Holders = want.Holders[:3]
	if d := cmp.Diff(want, strip(report(), true)); d != "" {
		t.Error(d)
	}
	want = lease.Report{Holders: []usage.Holder{
		{GPUs: []gpu.BDF{a}, Container: container}, {GPUs: []gpu.BDF{b}, Processes: process},
	}}
	if d := cmp.Diff(want, strip(report(), false)); d != "" {
		t.Error(d)
	}
}
