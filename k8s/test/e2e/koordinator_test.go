// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const koordletDir = "/var/run/koordlet/xpu-device-infos"

// TestKoordinator lets Koordinator's scheduler choose GPUs by what the plugin writes for
// koordlet. The test makes the Device of the file, as koordlet does in life, for a node
// without a kubelet, and as on a host that does not state where its GPUs are: so nothing but
// the groups in the file shows which GPUs belong together. After each pod it removes the lock
// of the node, as a device plugin does.
func TestKoordinator(t *testing.T) {
	t.Parallel()
	program := scheduler(t, koordinatorVariable)
	n := newNode(t, "c500-8")
	n.install(t, "--set", "gpuDevice.koordletDir="+koordletDir, "--set", "admissionPolicy.schedulers={admin}")
	if err := n.RunKoordinator(within(t), program); err != nil {
		t.Fatal(err)
	}
	const bare = "bare"
	n.createBare(t, bare, nil, corev1.ResourceList{
		"koordinator.sh/gpu-core": resource.MustParse("800"), "koordinator.sh/gpu-memory-ratio": resource.MustParse("800"),
		"koordinator.sh/gpu-memory": resource.MustParse("512Gi"), "metax-tech.com/sgpu": resource.MustParse("128"),
	})
	n.createDevice(t, bare)

	taken := map[int]bool{}
	for _, row := range []struct {
		name string
		gpus int
		want func(minors []int) bool
	}{
		{"pair", 2, func(m []int) bool { return m[0]/4 == m[1]/4 }},
		{"quad", 4, func(m []int) bool { return m[0]/4 == m[3]/4 }},
		{"last", 2, func(m []int) bool { return m[0]/4 == m[1]/4 }},
	} {
		pod := wholePod(t, row.name, row.gpus)
		pod.Spec.Tolerations = anywhere
		n.create(t, pod)
		got := n.bound(t, row.name)
		minors, want := n.chosen(t, got)
		if len(minors) != row.gpus || !row.want(minors) || slices.ContainsFunc(minors, func(i int) bool { return taken[i] }) {
			t.Fatalf("pod %s has the GPUs %d; taken before: %v", row.name, minors, taken)
		}
		if diff := cmp.Diff(want, got.Annotations["metax-tech.com/gpu-devices-allocated"]); diff != "" {
			t.Errorf("pod %s (-want +got):\n%s", row.name, diff)
		}
		for _, i := range minors {
			taken[i] = true
		}
		n.annotate(t, bare, hamiLock, nil)
	}
}

// wholePod is a pod that requests whole GPUs of Koordinator.
func wholePod(t *testing.T, name string, gpus int) *corev1.Pod {
	t.Helper()
	pod := example(t, "koordinator.yaml", name, "pause")
	r := pod.Spec.Containers[0].Resources
	for name, quantity := range r.Limits { // of two GPUs
		whole := *resource.NewQuantity(quantity.Value()*int64(gpus)/2, resource.DecimalSI)
		r.Limits[name], r.Requests[name] = whole, whole
	}
	return pod
}

// chosen are the minors that Koordinator chose for a pod, ascending, and the annotation with
// which it tells them to a device plugin of MetaX.
func (n *node) chosen(t *testing.T, pod *corev1.Pod) (minors []int, annotation string) {
	t.Helper()
	var gpus []string
	for part := range strings.SplitSeq(pod.Annotations["scheduling.koordinator.sh/gpu-minors"], ",") {
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(n.gpus) {
			t.Fatalf("pod %s has the annotations %q", pod.Name, pod.Annotations)
		}
		minors = append(minors, i)
		gpus = append(gpus, fmt.Sprintf(`{"uuid":%q,"compute":100,"vRam":65536}`, n.gpus[i].UUID))
	}
	slices.Sort(minors)
	return minors, "[[" + strings.Join(gpus, ",") + "]]"
}

// createDevice creates the Device of a node with the GPUs in the file for koordlet.
func (n *node) createDevice(t *testing.T, name string) {
	t.Helper()
	var file []struct {
		Vendor, Model, UUID, Minor string
		Resources                  map[string]string
		Topology                   struct {
			BusID    string
			P2PLinks []struct{ PeerMinor, Type string }
		}
		Status struct{ Healthy bool }
	}
	if err := json.Unmarshal([]byte(n.must(t, "cat", koordletDir+"/metax-gpu-device.json")), &file); err != nil {
		t.Fatal(err)
	}
	if len(file) != len(n.gpus) {
		t.Fatalf("the file for koordlet has %d GPUs", len(file))
	}
	var devices []any
	partitions, seen := map[string][]any{}, map[string]bool{}
	for _, f := range file {
		minor, err := strconv.Atoi(f.Minor)
		if err != nil {
			t.Fatal(err)
		}
		f.Resources["koordinator.sh/gpu-memory-ratio"] = "100"
		devices = append(devices, map[string]any{
			"type": "gpu", "id": f.UUID, "minor": minor, "health": f.Status.Healthy, "resources": f.Resources,
			"topology": map[string]any{"socketID": -1, "nodeID": -1, "pcieID": "", "busID": f.Topology.BusID},
		})
		for _, l := range f.Topology.P2PLinks {
			group := []int{minor}
			for peer := range strings.SplitSeq(l.PeerMinor, ",") {
				i, err := strconv.Atoi(peer)
				if err != nil {
					t.Fatal(err)
				}
				group = append(group, i)
			}
			slices.Sort(group)
			if key := fmt.Sprint(group); !seen[key] {
				seen[key] = true
				size := strconv.Itoa(len(group))
				partitions[size] = append(partitions[size], map[string]any{"minors": group, "gpuLinkType": l.Type, "allocationScore": 1})
			}
		}
	}
	table, err := json.Marshal(partitions)
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]string{
				"node.koordinator.sh/gpu-vendor": file[0].Vendor, "node.koordinator.sh/gpu-model": file[0].Model,
				"node.koordinator.sh/gpu-partition-policy": "Prefer",
			},
			"annotations": map[string]string{"scheduling.koordinator.sh/gpu-partitions": string(table)},
		},
		"spec": map[string]any{"devices": devices},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WriteFile("/run/device.json", string(object)); err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "create", "-f", "/run/device.json")
}
