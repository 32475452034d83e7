// SPDX-License-Identifier: Apache-2.0

package koordlet

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/koordinator-sh/koordinator/apis/extension"
	"github.com/koordinator-sh/koordinator/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/publish"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// look is what the plugin knows after a look at a node.
func look(n gpu.Node, before health.State, unhealthy ...int) publish.Facts {
	look := health.FromNode(n)
	for _, i := range unhealthy {
		look.Readings[i].Problems = []health.Problem{{Code: health.NoDeviceNodes, Text: "its device nodes are gone"}}
	}
	rules := health.DefaultRules
	rules.Good = 1
	state, _ := before.Next(look, rules)
	return publish.Facts{Node: n, State: state}
}

// TestDevice follows the GPUs of a node into the Device that koordlet makes. The golden file
// is that of a node that states no NUMA nodes, with an unhealthy GPU and one that is leased
// outside Kubernetes.
func TestDevice(t *testing.T) {
	n, err := sim.Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.GPUs {
		n.GPUs[i].NUMA = gpu.NUMAUnknown
	}
	dir := t.TempDir()
	file := publish.Koordlet{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	k := newKoordlet(t, dir)

	facts := look(n, health.State{}, 3)
	facts.Outside = []int{5}
	file.Set(facts)
	k.read(t)
	first := k.device(t, count(8))
	compareGolden(t, first)
	partitions := extension.GPUPartitionTable{}
	if err := json.Unmarshal([]byte(first.Annotations[extension.AnnotationGPUPartitions]), &partitions); err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for size, list := range partitions {
		sizes[size] = len(list)
	}
	if diff := cmp.Diff(map[int]int{2: 12, 4: 2}, sizes); diff != "" {
		t.Errorf("groups by size (-want +got):\n%s", diff)
	}

	facts = look(n, facts.State)
	file.Set(facts)
	k.read(t)
	k.device(t, func(d *v1alpha1.Device) string {
		for i, g := range d.Spec.Devices {
			if c := g.Conditions[0]; !g.Health || c.Status != "True" || c.Reason != "DeviceHealthy" {
				return fmt.Sprintf("GPU %d is %v", i, c)
			}
		}
		return ""
	})

	n.GPUs, n.Links = slices.Clone(n.GPUs[:7]), nil // the last GPU falls off the bus
	facts = look(n, facts.State)
	file.Set(facts)
	k.read(t)
	last := k.device(t, count(7))
	for i, g := range last.Spec.Devices {
		if want := first.Spec.Devices[i]; g.UUID != want.UUID || *g.Minor != *want.Minor {
			t.Errorf("GPU %d is %s with minor %d, and was %s", i, g.UUID, *g.Minor, want.UUID)
		}
	}
}

// TestNUMA is a node that states where its GPUs are.
func TestNUMA(t *testing.T) {
	n, err := sim.Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := publish.Koordlet{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	k := newKoordlet(t, dir)
	file.Set(look(n, health.State{}))
	k.read(t)
	for i, g := range k.device(t, count(8)).Spec.Devices {
		want := &v1alpha1.DeviceTopology{SocketID: -1, NodeID: int32(n.GPUs[i].NUMA), PCIEID: n.GPUs[i].PCIeRoot, BusID: n.GPUs[i].BDF.String()}
		if diff := cmp.Diff(want, g.Topology); diff != "" {
			t.Errorf("GPU %d (-want +got):\n%s", i, diff)
		}
	}
}

// count wants a number of GPUs.
func count(n int) func(*v1alpha1.Device) string {
	return func(d *v1alpha1.Device) string {
		if len(d.Spec.Devices) == n {
			return ""
		}
		return fmt.Sprintf("it has %d GPUs, want %d", len(d.Spec.Devices), n)
	}
}

func compareGolden(t *testing.T, device *v1alpha1.Device) {
	t.Helper()
	got, err := yaml.Marshal(device)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/device.yaml"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the Device (-want +got):\n%s", diff)
	}
}
