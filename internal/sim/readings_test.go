// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadings: made-up readings are plausible, and the same for the same look.
func TestReadings(t *testing.T) {
	for _, name := range append(Names(), "sim:2x2x4") {
		node, err := Node(name)
		if err != nil {
			t.Fatal(err)
		}
		for look := range 30 {
			got := Readings(node, look)
			if d := cmp.Diff(got, Readings(node, look)); d != "" {
				t.Errorf("%s, look %d: %s", name, look, d)
			}
			at := 0
			for _, g := range node.GPUs {
				if !g.Healthy {
					continue
				}
				r := got[at]
				at++
				if g.MemoryMiB == 0 { // split into virtual functions
					r.MemoryUsedMiB, r.MemoryTotalMiB = &g.MemoryMiB, &g.MemoryMiB
				}
				bad := *r.UtilizationPercent < 0 || *r.UtilizationPercent > 100 || *r.MemoryUsedMiB > *r.MemoryTotalMiB || *r.MemoryTotalMiB != g.MemoryMiB ||
					*r.PowerW > *r.PowerLimitW || *r.TemperatureC < 20 || *r.TemperatureC > 100 || r.BDF != g.BDF
				if bad {
					t.Errorf("%s, look %d, GPU %d: %+v", name, look, g.Index, r)
				}
			}
			if at != len(got) {
				t.Errorf("%s, look %d: %d readings, want %d", name, look, len(got), at)
			}
		}
		if cmp.Equal(Readings(node, 0), Readings(node, 5)) {
			t.Errorf("%s: nothing moves", name)
		}
	}
	// Their users have the healthy GPUs.
	degraded, err := Node("c500-8-degraded")
	if err != nil {
		t.Fatal(err)
	}
	if got := Holders(degraded); len(got) != 2 || len(got[0].GPUs) != 4 || len(got[1].GPUs) != 3 || got[0].String() != "container train (simulation)" {
		t.Errorf("held by %+v", got)
	}
	node, err := Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	node.GPUs[0].Healthy = false
	if got := Readings(node, 0); len(got) != 7 || *got[0].LinksUp != 3 {
		t.Errorf("with GPU 0 unhealthy: %+v", got)
	}
}
