// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestVFIO gives virtual machines GPUs that are bound to vfio-pci, which are four of the node:
// one has an IOMMU group, one none, and two share one.
func TestVFIO(t *testing.T) {
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	node.GPUs = append([]gpu.GPU{}, node.GPUs...)
	for _, i := range []int{2, 5, 6, 7} {
		node.GPUs[i].Mode, node.GPUs[i].Nodes, node.GPUs[i].Healthy = gpu.ModeVFIO, nil, false
	}
	first, second := node.GPUs[2].BDF.String(), node.GPUs[5].BDF.String()
	third, fourth := node.GPUs[6].BDF.String(), node.GPUs[7].BDF.String()
	dir := filepath.Join(t.TempDir(), "host")
	tree := sim.Tree{
		"sys/kernel/iommu_groups/17":                     sim.Dir{},
		"sys/bus/pci/devices/" + first + "/iommu_group":  sim.Link("/sys/kernel/iommu_groups/17"),
		"sys/kernel/iommu_groups/18":                     sim.Dir{},
		"sys/bus/pci/devices/" + third + "/iommu_group":  sim.Link("/sys/kernel/iommu_groups/18"),
		"sys/bus/pci/devices/" + fourth + "/iommu_group": sim.Link("/sys/kernel/iommu_groups/18"),
		"dev/vfio/18": sim.Device{Major: 511, Minor: 1, Perm: 0o600},
		"sys/bus/pci/devices/" + second + "/class": sim.File{Data: "0x038000\n"},
		"dev/vfio/vfio": sim.Device{Major: 10, Minor: 196, Perm: 0o666},
		"dev/vfio/17":   sim.Device{Major: 511, Minor: 0, Perm: 0o600},
	}
	if err := tree.WriteInert(dir); err != nil {
		t.Fatal(err)
	}
	root := simtest.Root(t, dir)
	v := &VFIO{Root: root, EngineRoot: "/tree"}
	if _, err := v.Allocate([]string{first}); err == nil {
		t.Error("a GPU is given before the first look")
	}
	gpus := &Resource{Server: &Server{Resource: protocol.Resource}, Modes: []protocol.Mode{protocol.ModeNative}}
	machines := &Resource{Server: &Server{Resource: protocol.VFIOResource, Backend: v}, VFIO: v}
	n := &Node{Rules: health.DefaultRules, Resources: []*Resource{gpus, machines}, Allocator: a, Log: slog.New(slog.DiscardHandler)}
	n.Options.Mode = protocol.ModeNative
	list := func() (words string) {
		devices, _ := machines.list()
		for _, d := range devices {
			words += fmt.Sprintf("%s %s on %d, ", d.ID, d.Health, d.Topology.Nodes[0].ID)
		}
		return words
	}
	n.See(node, health.FromNode(node), time.Now())
	if want := first + " Healthy on 0, " + second + " Unhealthy on 0, " + third + " Unhealthy on 0, " + fourth + " Unhealthy on 0, "; list() != want {
		t.Errorf("the kubelet is told %s\nwant %s", list(), want)
	}
	if all, _ := gpus.list(); len(all) != 8 {
		t.Errorf("%d whole GPUs are listed", len(all))
	}
	n.SetMode(protocol.ModeSettings{Mode: protocol.ModeSGPU}, time.Now())
	if list() == "" {
		t.Error("in another mode they are gone")
	}
	answer, err := v.Allocate([]string{first})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(answer.Envs)
	for _, d := range answer.Devices {
		got += fmt.Sprintf(" %s=%s(%s)", d.HostPath, d.ContainerPath, d.Permissions)
	}
	if d := cmp.Diff("map[PCI_RESOURCE_METAX-TECH_COM_VFIO-GPU:"+first+"] /tree/dev/vfio/17=/dev/vfio/17(rw) /tree/dev/vfio/vfio=/dev/vfio/vfio(rw)", got); d != "" {
		t.Error(d)
	}
	for id, want := range map[string]string{second: "no IOMMU group", third: "it shares IOMMU group 18 with " + fourth, fourth: "it shares IOMMU group 18 with " + third, "../../x\x1b": `"../../x\x1b" is not a GPU`, string(node.GPUs[0].UUID): "is not a GPU of this node that is bound"} {
		if err := v.PreStart([]string{id}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", id, err, want)
		}
	}
	if v.PreStart([]string{first}) != nil || v.Preferred([]string{first}, nil, 1) != nil {
		t.Error("the GPU cannot be used")
	}
}
