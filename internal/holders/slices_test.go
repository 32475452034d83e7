// SPDX-License-Identifier: Apache-2.0

package holders_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
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
	d := holders.NewDevices(node, root)
	cut, virtual := node.GPUs[2], node.GPUs[5]
	sgpu, vf := cut.Slices[0], virtual.Slices[1]
	for name, got := range map[string][]gpu.BDF{
		"CDI name":            d.CDI("metax-tech.com/sgpu=" + sgpu.UUID),
		"annotation":          d.Requested(map[string]string{"metax-tech.com/sgpu": sgpu.UUID}, nil),
		"qualified":           d.Requested(map[string]string{"cdi.k8s.io/x": "metax-tech.com/sgpu=" + sgpu.UUID}, nil),
		"its GPU's node":      d.Path(sgpu.Nodes[0]),
		"virtual CDI name":    d.CDI("metax-tech.com/sgpu=" + vf.BDF.String()),
		"virtual annotation":  d.Requested(map[string]string{"metax-tech.com/sgpu": "x," + vf.BDF.String()}, nil),
		"virtual node":        d.Path(vf.Nodes[1]),
		"a stranger":          d.CDI("metax-tech.com/sgpu=nobody"),
		"no name":             d.CDI("metax-tech.com/sgpu="),
		"a malformed request": d.Requested(map[string]string{"metax-tech.com/sgpu": sgpu.UUID + ",a/b"}, nil),
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

// A device of one slice alone means that slice; a device that slices share means none.
func TestSlicesByEvidence(t *testing.T) {
	node, err := sim.Node("c500-8-sgpu")
	if err != nil {
		t.Fatal(err)
	}
	root, err := hostfs.New("/")
	if err != nil {
		t.Fatal(err)
	}
	d := holders.NewDevices(node, root)
	one, two, vf := node.GPUs[2].Slices[0], node.GPUs[2].Slices[1], node.GPUs[5].Slices[1]
	for name, tc := range map[string]struct {
		evidence holders.Evidence
		want     []string
	}{
		"nothing":       {},
		"CDI names":     {holders.Evidence{CDI: []string{"metax-tech.com/sgpu=" + two.UUID, "metax-tech.com/gpu=2", "metax-tech.com/sgpu=nobody"}}, []string{two.UUID}},
		"a VF by path":  {holders.Evidence{Paths: []string{vf.Nodes[0], vf.Nodes[1], "/dev/null"}}, []string{vf.BDF.String()}},
		"a node of all": {holders.Evidence{Paths: one.Nodes}, nil},
		"annotations": {
			holders.Evidence{Annotations: map[string]string{
				"metax-tech.com/sgpu": one.UUID + ",x", "cdi.k8s.io/a": "metax-tech.com/sgpu=" + vf.BDF.String() + ",vendor/class=1", "metax-tech.com/gpu": two.UUID,
			}},
			[]string{vf.BDF.String(), one.UUID},
		},
		"the label":         {holders.Evidence{Label: one.UUID + "," + two.UUID + ",forged", GPUs: []gpu.BDF{node.GPUs[2].BDF}}, []string{two.UUID, one.UUID}},
		"an image's label":  {holders.Evidence{Label: vf.BDF.String() + "," + one.UUID, GPUs: []gpu.BDF{node.GPUs[0].BDF}}, nil},
		"a label of nobody": {holders.Evidence{Label: one.UUID}, nil},
	} {
		want := slices.Clone(tc.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, d.Slices(tc.evidence)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for config, want := range map[string][]string{
		`"metax-tech.com/sgpus": "` + two.UUID + `", "metax-tech.com/gpu": "2"`: {two.UUID},
		`"metax-tech.com/sgpus": "` + two.UUID + `", "metax-tech.com/gpu": "0"`: nil,
	} {
		facts, err := d.Bundle([]byte(`{"annotations": {`+config+`}, "linux": {}}`), true)
		if diff := cmp.Diff(want, facts.Slices); err != nil || diff != "" {
			t.Errorf("%s: %v %s", config, err, diff)
		}
	}
}
