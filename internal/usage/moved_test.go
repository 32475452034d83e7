// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// TestCheckGiven compares what containers were made for with what they would get.
func TestCheckGiven(t *testing.T) {
	a, b, other := gpu.BDF{Bus: 0x43}, gpu.BDF{Bus: 0x83}, gpu.BDF{Bus: 0x99}
	node := func(uuids ...gpu.UUID) gpu.Node {
		return gpu.Node{GPUs: []gpu.GPU{
			{Index: 0, BDF: a, UUID: uuids[0]},
			{Index: 1, BDF: b, UUID: uuids[1], Slices: []gpu.Slice{{Kind: gpu.SliceSGPU, UUID: "part"}, {Kind: gpu.SliceSGPU, UUID: "rest"}}},
		}}
	}
	known, unknown := node("GPU-a", "GPU-b"), node("", "")
	given := func(ids ...string) Given { return Given{GPUs: ids} }
	for name, tc := range map[string]struct {
		node   gpu.Node
		given  Given
		gpus   []gpu.BDF
		slices []string
		want   string
	}{
		"nothing recorded":         {known, Given{}, []gpu.BDF{a}, nil, ""},
		"the same":                 {known, given("GPU-a"), []gpu.BDF{a}, nil, ""},
		"by address":               {known, given(b.String()), []gpu.BDF{b}, nil, ""},
		"in another order":         {known, given("GPU-b", "GPU-a"), []gpu.BDF{a, b}, nil, ""},
		"with more of the user's":  {known, given("GPU-b"), []gpu.BDF{a, b}, nil, ""},
		"another":                  {known, given("GPU-a"), []gpu.BDF{b}, nil, "it was made for GPU 0 (0000:43:00.0), and its device nodes belong to GPU 1 (0000:83:00.0) now"},
		"another, by address":      {unknown, given(a.String()), []gpu.BDF{b}, nil, "it was made for GPU 0 (0000:43:00.0), and its device nodes belong to GPU 1 (0000:83:00.0) now"},
		"one of two":               {known, given("GPU-a", "GPU-b"), []gpu.BDF{b}, nil, "it was made for GPU 0 (0000:43:00.0), and its device nodes belong to no GPU now"},
		"none":                     {known, given("GPU-b"), nil, nil, "it was made for GPU 1 (0000:83:00.0), and its device nodes belong to no GPU now"},
		"UUIDs unknown":            {unknown, given("GPU-a"), []gpu.BDF{a}, nil, ErrUUIDsUnknown.Error()},
		"UUIDs unknown, no device": {unknown, given("GPU-a"), nil, nil, ErrUUIDsUnknown.Error()},
		"gone":                     {known, given("GPU-c"), []gpu.BDF{a}, nil, "GPU GPU-c of the container is not there any more (metax-ctk device list)"},
		"gone, by address":         {unknown, given(other.String()), []gpu.BDF{a}, nil, "GPU 0000:99:00.0 of the container is not there any more (metax-ctk device list)"},
		"its slice":                {known, Given{GPUs: []string{"GPU-b"}, Slices: []string{"part"}}, []gpu.BDF{b}, []string{"part"}, ""},
		"a slice without nodes":    {known, Given{GPUs: []string{"GPU-b"}, Slices: []string{"part"}}, []gpu.BDF{b}, nil, ""},
		"another slice":            {known, Given{GPUs: []string{"GPU-b"}, Slices: []string{"part"}}, []gpu.BDF{b}, []string{"part", "rest"}, "it was made for slice part, and its device nodes belong to slice rest now"},
		"a slice that is gone":     {known, Given{GPUs: []string{"GPU-b"}, Slices: []string{"old"}}, []gpu.BDF{b}, []string{"rest"}, "slice old of the container is not there any more (metax-ctk sgpu list)"},
		"a slice of another GPU":   {known, Given{GPUs: []string{"GPU-b"}, Slices: []string{"part"}}, []gpu.BDF{a}, nil, "it was made for GPU 1 (0000:83:00.0), and its device nodes belong to GPU 0 (0000:43:00.0) now"},
	} {
		c := Container{Facts: Facts{GPUs: tc.gpus, Slices: tc.slices}, Given: tc.given}
		got := ""
		if err := c.CheckGiven(tc.node); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	// A privileged container whose nodes nobody listed has all.
	c := Container{Facts: Facts{Privileged: true}, Given: given("GPU-a")}
	if err := c.CheckGiven(known); err != nil {
		t.Error(err)
	}
	if err := c.CheckGiven(unknown); !errors.Is(err, ErrUUIDsUnknown) {
		t.Errorf("privileged, UUIDs unknown: %v", err)
	}
}

// TestGivenBy reads labels, which count beside a lease, and the older variable.
func TestGivenBy(t *testing.T) {
	lease := map[string]string{LeaseLabel: "0123456789ab"}
	labels := map[string]string{LeaseLabel: "0123456789ab", IDsLabel: "GPU-b,GPU-a", SlicesLabel: "s", ComposeService: "web"}
	env := []string{"A=b", "METAX_GPU_UUIDS=GPU-c,GPU-d"}
	for name, tc := range map[string]struct {
		labels map[string]string
		env    []string
		want   string
	}{
		"labels":     {labels, env, "[GPU-a GPU-b] [s] web"},
		"variable":   {lease, env, "[GPU-c GPU-d] [] "},
		"no lease":   {map[string]string{IDsLabel: "GPU-b"}, env, "[] [] "},
		"other env":  {lease, env[:1], "[] [] "},
		"empty list": {map[string]string{LeaseLabel: "0123456789ab", IDsLabel: ","}, nil, "[] [] "},
	} {
		g := GivenBy(tc.labels, tc.env)
		if got := fmt.Sprintf("%v %v %s", g.GPUs, g.Slices, g.Service); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
