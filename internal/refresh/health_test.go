// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestOnHealth: the first look and each change request a refresh; the same look again and a
// look that failed do not.
func TestOnHealth(t *testing.T) {
	host := simtest.Write(t, sim.Tree{"run": sim.Dir{}})
	look := func(codes ...string) health.Look {
		var l health.Look
		for i, code := range codes {
			r := health.Reading{GPU: health.GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}}}
			if code != "" {
				r.Problems = []health.Problem{{Code: code, Text: "words"}}
			}
			l.Readings = append(l.Readings, r)
		}
		return l
	}
	failed := look("", health.Vendor)
	failed.Failed = "no answer"
	for _, step := range []struct {
		name string
		look health.Look
		want bool
	}{
		{"the first", look("", ""), true},
		{"the same", look("", ""), false},
		{"one is unhealthy", look("", health.Vendor), true},
		{"it stays so", look("", health.Vendor), false},
		{"failed", failed, false},
		{"another one", look(health.Vendor, ""), true},
		{"another reason", look(health.PCILink, ""), true},
		{"all are healthy", look("", ""), true},
	} {
		os.Remove(host.Join(stamp))
		changed, err := OnHealth(host, step.look)
		if err != nil || changed != step.want || host.Exists(stamp) != step.want {
			t.Errorf("%s: changed %t (%v), a refresh is requested %t; want %t", step.name, changed, err, host.Exists(stamp), step.want)
		}
	}
}
