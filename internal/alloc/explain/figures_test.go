package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// TestFigures has another value for each component, as data and as words.
func TestFigures(t *testing.T) {
	counts, rest := []key.Count{{Class: topology.MX, Size: 2, Sets: 3}}, []key.Count{{Class: topology.PIX, Size: 4, Sets: 1}}
	c := key.Candidate{Class: topology.PXB, Capability: counts, Weight: 5, Rest: rest, Cut: 7, Locality: 8, Score: 9.5, Jobs: 2}
	for _, tc := range []struct {
		of   key.Component
		want any
		cell string
	}{
		{key.ByClass, topology.PXB, "PXB"},
		{key.ByCapability, counts, "MX 3×2"},
		{key.ByWeight, 5, "5"},
		{key.ByRest, rest, "PIX 1×4"},
		{key.ByCut, 7, "7"},
		{key.ByLocality, 8, "8"},
		{key.ByScore, 9.5, "9.5"},
		{key.ByJobs, 2, "+2"},
		{key.ByOrder, nil, ""},
	} {
		if diff := cmp.Diff(tc.want, figure(tc.of, c)); diff != "" || cell(tc.of, c) != tc.cell {
			t.Errorf("%v: %q, want %q (-want +got):\n%s", tc.of, cell(tc.of, c), tc.cell, diff)
		}
	}
}
