package occupancy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// What has a slice has something of the GPU that it is a part of.
func TestDevicesOfSlices(t *testing.T) {
	node, err := sim.Node("c500-8-sgpu")
	if err != nil {
		t.Fatal(err)
	}
	root, err := hostfs.New("/")
	if err != nil {
		t.Fatal(err)
	}
	d := occupancy.NewDevices(node, root)
	cut, virtual := node.GPUs[2], node.GPUs[5]
	sgpu, vf := cut.Slices[0], virtual.Slices[1]
	for name, got := range map[string][]gpu.BDF{
		"CDI name":            d.CDI("metax-tech.com/sgpu=" + sgpu.UUID),
		"annotation":          d.Asked(map[string]string{"metax-tech.com/sgpu": sgpu.UUID}, nil),
		"qualified":           d.Asked(map[string]string{"cdi.k8s.io/x": "metax-tech.com/sgpu=" + sgpu.UUID}, nil),
		"its GPU's node":      d.Path(sgpu.Nodes[0]),
		"virtual CDI name":    d.CDI("metax-tech.com/sgpu=" + vf.BDF.String()),
		"virtual annotation":  d.Asked(map[string]string{"metax-tech.com/sgpu": "x," + vf.BDF.String()}, nil),
		"virtual node":        d.Path(vf.Nodes[1]),
		"a stranger":          d.CDI("metax-tech.com/sgpu=nobody"),
		"no name":             d.CDI("metax-tech.com/sgpu="),
		"a malformed request": d.Asked(map[string]string{"metax-tech.com/sgpu": sgpu.UUID + ",a/b"}, nil),
	} {
		var want []gpu.BDF
		switch name {
		case "CDI name", "annotation", "qualified", "its GPU's node":
			want = []gpu.BDF{cut.BDF}
		case "virtual CDI name", "virtual annotation", "virtual node":
			want = []gpu.BDF{virtual.BDF}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHeldSlice(t *testing.T) {
	holders := []occupancy.Holder{
		{Container: &occupancy.Container{ID: "c"}},
		{Lease: &occupancy.Lease{ID: "whole"}},
		{Lease: &occupancy.Lease{ID: "parts", Slices: []string{"a", "b"}, Shared: true}},
	}
	if held := occupancy.HeldSlice(holders, "b"); held == nil || held.Lease.ID != "parts" {
		t.Errorf("b is held by %+v", held)
	}
	if held := occupancy.HeldSlice(holders, "c"); held != nil {
		t.Errorf("c is held by %+v", held)
	}
}
