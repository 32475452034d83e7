// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// The project of the shop, each service with GPUs, by both ways.
func TestGive(t *testing.T) {
	labels := map[string]string{"metax-tech.com/lease": "abc"}
	node := gpu.NewNode("")
	node.Driver, node.Shared = &gpu.Driver{Path: "/opt/mxdriver"}, &gpu.Shared{Nodes: []string{"/dev/mxcd"}}
	one := gpu.GPU{UUID: "GPU-1", Nodes: []string{"/dev/dri/card1"}, GIDs: []uint32{44}}
	all := edits.Container(node, []gpu.GPU{one}, nil).Below("/node")
	for name, given := range map[string]Injection{
		"cdi.json":   {Edits: all.ByName(), Labels: labels},
		"flags.json": {Edits: all.ByValue(), Labels: labels},
	} {
		t.Run(name, func(t *testing.T) {
			p := shop(t)
			requests, err := p.Requests()
			if err != nil {
				t.Fatal(err)
			}
			for service := range requests {
				if err := p.Inject(service, given); err != nil {
					t.Fatal(err)
				}
			}
			golden.Equal(t, "testdata/"+name, write(t, p))
			left, err := read(t, write(t, p)).Requests()
			if err != nil {
				t.Fatal(err)
			}
			for service, r := range left {
				if name == "flags.json" || r.String() != "[GPU-1]" {
					t.Errorf("service %q still asks for %v", service, r)
				}
			}
		})
	}
	if err := shop(t).Inject("none", Injection{}); err == nil {
		t.Error("a service that is not there can be given something")
	}
}

// A variable that the service sets, or unsets, stays.
func TestInjectVariables(t *testing.T) {
	p, err := Read([]byte(`{"name": "p", "services": {"s": {"gpus": [{"count": 1}], "environment": {"A": "mine", "B": null}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Inject("s", Injection{Edits: edits.Edits{GPUEnv: []string{"A=1", "B=2", "C=3=4"}}}); err != nil {
		t.Fatal(err)
	}
	want := object{"A": "mine", "B": nil, "C": "3=4"}
	if d := cmp.Diff(want, p.services["s"]["environment"]); d != "" {
		t.Error(d)
	}
}
