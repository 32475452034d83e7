// SPDX-License-Identifier: Apache-2.0

package foreignuse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

var node = gpu.Node{GPUs: []gpu.GPU{{Index: 0, BDF: gpu.BDF{Bus: 1}}, {Index: 1, BDF: gpu.BDF{Bus: 2}}, {Index: 2, BDF: gpu.BDF{Bus: 3}}}}

// on is the GPUs with these indices.
func on(indices ...int) (gpus []gpu.BDF) {
	for _, i := range indices {
		gpus = append(gpus, node.GPUs[i].BDF)
	}
	return gpus
}

func TestOf(t *testing.T) {
	got := Of([]usage.Lease{
		{ID: "aaaaaaaaaaaa", GPUs: on(1, 2), Engine: "docker", User: &usage.User{UID: 7, Name: "ann"}},
		{ID: "bbbbbbbbbbbb", GPUs: on(0), Engine: usage.Kubernetes},
		{ID: "cccccccccccc", GPUs: on(2), Engine: "podman"},
		{ID: "dddddddddddd", GPUs: on(0), Shared: true},
	})
	docker := "in use by lease aaaaaaaaaaaa of ann (docker)"
	want := []Use{{on(0)[0], "in use by lease dddddddddddd"}, {on(1)[0], docker}, {on(2)[0], docker}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := All(node, "why"); len(got) != 3 || got[2] != (Use{on(2)[0], "why"}) {
		t.Errorf("all: %v", got)
	}
}

func TestWithdraw(t *testing.T) {
	vf := 0
	devices := []inventory.Device{
		{ID: "a", GPU: 0, Healthy: true},
		{ID: "b", GPU: 1, Healthy: true},
		{ID: "c", GPU: 2, Code: "vendor", Reason: "broken"},
		{ID: "gone", GPU: -1, Code: "missing"},
		{ID: "b-vf0", GPU: 1, VF: &vf, Healthy: true},
	}
	for name, test := range map[string]struct {
		leased []gpu.BDF
		inUse  []string
		want   string // the code of each device
	}{
		"nobody":                            {nil, nil, "- - vendor missing -"},
		"one is leased":                     {on(0), nil, "leased - vendor missing -"},
		"its virtual functions also":        {on(1), nil, "- leased vendor missing leased"},
		"an unhealthy one keeps its reason": {on(2), nil, "- - vendor missing -"},
		"a pod has it, and docker shares":   {on(0, 1), []string{"a"}, "- leased vendor missing leased"},
		"all":                               {on(0, 1, 2), []string{"b-vf0"}, "leased leased vendor missing -"},
	} {
		var uses []Use
		for _, g := range test.leased {
			uses = append(uses, Use{g, "in use by lease x"})
		}
		var codes []string
		for _, d := range Withdraw(node, devices, uses, test.inUse) {
			code := "-"
			if !d.Healthy {
				code = d.Code
			}
			codes = append(codes, code)
			if d.Code == Leased && d.Reason != "in use by lease x" {
				t.Errorf("%s: the reason is %q", name, d.Reason)
			}
		}
		if got := strings.Join(codes, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	if !devices[0].Healthy {
		t.Error("the devices of the inventory changed")
	}
}

func TestChanges(t *testing.T) {
	uses := func(by string, indices ...int) (list []Use) {
		for _, g := range on(indices...) {
			list = append(list, Use{g, by})
		}
		return list
	}
	for name, test := range map[string]struct {
		before, after []Use
		want          []Change
	}{
		"nothing":         {uses("a", 0), uses("a", 0), nil},
		"a lease":         {nil, uses("a", 0, 1, 2), []Change{{true, "GPUs 0-2 cannot be given to pods: a"}}},
		"its end":         {uses("a", 1), nil, []Change{{false, "GPU 1 can be given to pods again"}}},
		"another lease":   {uses("a", 0, 1), append(uses("b", 0), uses("a", 1)...), []Change{{true, "GPU 0 cannot be given to pods: b"}}},
		"one for another": {uses("a", 0), uses("b", 2), []Change{{false, "GPU 0 can be given to pods again"}, {true, "GPU 2 cannot be given to pods: b"}}},
		"two leases":      {nil, append(uses("z", 0), uses("a", 1)...), []Change{{true, "GPU 0 cannot be given to pods: z"}, {true, "GPU 1 cannot be given to pods: a"}}},
	} {
		if diff := cmp.Diff(test.want, Changes(node, test.before, test.after)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
