// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// device is what the tests read of a Device.
type device struct {
	Metadata metav1.ObjectMeta
	Spec     struct{ Devices []deviceGPU }
}

type deviceGPU struct {
	ID        string
	Minor     int
	Health    bool
	Resources map[string]string
	Topology  struct {
		NodeID, SocketID int
		PCIEID, BusID    string
	}
	Conditions []metav1.Condition
}

// koordlet lets the real koordlet make the Device of the node from the plugin's file. When a
// GPU becomes unhealthy, its condition says so, and since when; pods do not get it until it is
// healthy again.
func (n *node) koordlet(t *testing.T) {
	program := scheduler(t, koordletVariable)
	n.must(t, "kubectl", "delete", "devices.scheduling.koordinator.sh", cluster.NodeName)
	if err := n.RunKoordlet(within(t), program, koordletDir); err != nil {
		t.Fatal(err)
	}
	first := n.device(t, nil)
	n.checkDevice(t, first)

	const bad = 3
	n.setHealthy(t, bad, false)
	unhealthy := n.device(t, []int{bad})
	gpu := unhealthy.Spec.Devices[bad]
	before, c := first.Spec.Devices[bad].Conditions[0], gpu.Conditions[0]
	if gpu.Health || c.Type != before.Type || c.Reason == before.Reason || c.Reason == "Unknown" || !c.LastTransitionTime.After(before.LastTransitionTime.Time) {
		t.Errorf("the unhealthy GPU is %+v; before: %+v", gpu, before)
	}
	t.Logf("before: %+v\nunhealthy: %+v", before, c)
	// The scheduler uses every other GPU, and has none for the third pod.
	n.create(t, wholePod(t, "four", 4))
	n.phase(t, "four", corev1.PodRunning)
	n.unlocked(t)
	n.create(t, wholePod(t, "three", 3))
	n.phase(t, "three", corev1.PodRunning)
	n.unlocked(t)
	given := append(n.given(t, "four"), n.given(t, "three")...)
	slices.Sort(given)
	if want := []int{0, 1, 2, 4, 5, 6, 7}; !slices.Equal(given, want) {
		t.Errorf("the pods have the GPUs %d, want %d", given, want)
	}
	n.create(t, example(t, "koordinator-slice.yaml", "waits", "pause"))
	wait(t, "the verdict on the pod", func(ctx context.Context) error {
		pod, err := n.pods().Get(ctx, "waits", metav1.GetOptions{})
		if err == nil && (pod.Spec.NodeName != "" || !strings.Contains(state(pod), "nodes are available")) {
			err = fmt.Errorf("it is on the node %q: %s", pod.Spec.NodeName, state(pod))
		}
		return err
	})

	n.setHealthy(t, bad, true)
	again := n.device(t, nil).Spec.Devices[bad].Conditions[0]
	if again.Reason != before.Reason || !again.LastTransitionTime.After(c.LastTransitionTime.Time) {
		t.Errorf("healthy again: %+v; unhealthy: %+v", again, c)
	}
	n.phase(t, "waits", corev1.PodRunning)
	if all, err := n.slices(); err != nil || len(all) != 1 || all[0].gpu != bad {
		t.Errorf("%v: the slices are %+v, want one of GPU %d", err, all, bad)
	}
	n.unlocked(t)
	for _, name := range []string{"four", "three", "waits"} {
		n.remove(t, name)
	}
	n.sliced(t)
}

// device waits until the Device has all GPUs, of which exactly these are unhealthy, each with
// a condition of one type. It returns it with the GPUs by index.
func (n *node) device(t *testing.T, unhealthy []int) (d device) {
	t.Helper()
	wait(t, "the Device", func(ctx context.Context) error {
		text, err := n.Run(ctx, "kubectl", "get", "devices.scheduling.koordinator.sh", cluster.NodeName, "-o", "json")
		d = device{}
		if err == nil {
			err = json.Unmarshal([]byte(text), &d)
		}
		if err != nil {
			return err
		}
		slices.SortFunc(d.Spec.Devices, func(a, b deviceGPU) int { return a.Minor - b.Minor })
		var bad []int
		for _, g := range d.Spec.Devices {
			if len(g.Conditions) != 1 || g.Health != (g.Conditions[0].Status == metav1.ConditionTrue) {
				return fmt.Errorf("GPU %d is healthy: %t, and has the conditions %+v", g.Minor, g.Health, g.Conditions)
			}
			if !g.Health {
				bad = append(bad, g.Minor)
			}
		}
		if len(d.Spec.Devices) != len(n.gpus) || !slices.Equal(bad, unhealthy) {
			return fmt.Errorf("it has %d GPUs; unhealthy are %d, want %d", len(d.Spec.Devices), bad, unhealthy)
		}
		return nil
	})
	return d
}

// checkDevice compares the Device of healthy GPUs with the node: two MetaXLink domains of four, in
// one NUMA node.
func (n *node) checkDevice(t *testing.T, d device) {
	t.Helper()
	for i, g := range d.Spec.Devices {
		c := g.Conditions[0]
		g.Conditions = nil
		want := deviceGPU{ID: n.gpus[i].UUID, Minor: i, Health: true, Resources: map[string]string{
			"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "64Gi", "koordinator.sh/gpu-memory-ratio": "100",
		}}
		want.Topology.SocketID, want.Topology.BusID = -1, n.gpus[i].BDF
		want.Topology.PCIEID = d.Spec.Devices[i/4*4].Topology.PCIEID
		if diff := cmp.Diff(want, g); diff != "" || g.Topology.PCIEID == "" {
			t.Errorf("GPU %d (-want +got):\n%s", i, diff)
		}
		if c.Type != "Healthy" || c.Reason != "DeviceHealthy" || c.LastTransitionTime.IsZero() {
			t.Errorf("GPU %d has the condition %+v", i, c)
		}
	}
	if a, b := d.Spec.Devices[0].Topology.PCIEID, d.Spec.Devices[4].Topology.PCIEID; a == b {
		t.Errorf("both domains are at %s", a)
	}
	var groups map[string][]struct{ Minors []int }
	if err := json.Unmarshal([]byte(d.Metadata.Annotations["scheduling.koordinator.sh/gpu-partitions"]), &groups); err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct{ gpus, groups int }{{2, 12}, {4, 2}} {
		of := groups[fmt.Sprint(size.gpus)]
		for _, g := range of {
			if g.Minors[0]/4 != g.Minors[len(g.Minors)-1]/4 {
				t.Errorf("the group %d is of two domains", g.Minors)
			}
		}
		if len(of) != size.groups {
			t.Errorf("there are %d groups of %d GPUs, want %d", len(of), size.gpus, size.groups)
		}
	}
	if vendor := d.Metadata.Labels["node.koordinator.sh/gpu-vendor"]; vendor != "metax" || len(d.Metadata.OwnerReferences) != 1 {
		t.Errorf("the vendor is %q, the owners are %v", vendor, d.Metadata.OwnerReferences)
	}
}
