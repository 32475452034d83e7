// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// TestCell writes a candidate with a different value for each component.
func TestCell(t *testing.T) {
	c := key.Candidate{
		Class: topology.PXB, Capability: []key.Count{{Class: topology.MX, Size: 2, Sets: 3}}, Weight: 5,
		Rest: []key.Count{{Class: topology.PIX, Size: 4, Sets: 1}}, Cut: 7, Locality: 8, Score: 9.5, Jobs: 2,
	}
	for _, tc := range []struct {
		of   key.Component
		want string
	}{
		{key.ByClass, "PXB"},
		{key.ByCapability, "MX 3×2"},
		{key.ByWeight, "5"},
		{key.ByRest, "PIX 1×4"},
		{key.ByCut, "7"},
		{key.ByLocality, "8"},
		{key.ByScore, "9.5"},
		{key.ByJobs, "+2"},
		{key.ByOrder, ""},
	} {
		if got := cell(tc.of, c); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.of, got, tc.want)
		}
	}
}
