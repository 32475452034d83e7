// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	toolkit "github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestCards takes a card out of the node and puts another one in, in the order of MetaX's
// manual: cordon the node, delete the plugin's pods and those with GPUs, change the hardware,
// reboot, uncordon, and look at Capacity.
func TestCards(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	removed := n.gpus[3].UUID
	seven, err := sim.Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	eight := seven
	eight.GPUs = slices.Clone(seven.GPUs)
	eight.GPUs[3].UUID, eight.GPUs[3].Serial = "GPU-11111111-2222-3333-4444-555555555555", "another"
	for _, node := range []toolkit.Node{without(seven, 3), eight} {
		count := len(node.GPUs)
		n.runs(t, probePod("job", 4, "pause"))
		n.must(t, "kubectl", "cordon", cluster.NodeName)
		n.must(t, "kubectl", "delete", "pod", "-n", namespace, "-l", "app.kubernetes.io/name=metax-gpu-device")
		n.remove(t, "job")
		n.reboot(t, func() { n.replaceGPUs(t, node) })
		n.must(t, "kubectl", "uncordon", cluster.NodeName)
		n.allocatable(t, count)
		wait(t, "what is known of the GPUs", func(context.Context) error {
			object := n.object(t)
			published := object.Annotations["topology.metax-ctk.io/node"]
			capacity := object.Status.Capacity[gpuResource]
			switch {
			case capacity.Value() != int64(count):
				return fmt.Errorf("the capacity is %s, want %d", capacity.String(), count)
			case object.Labels["metax-tech.com/gpu.count"] != strconv.Itoa(count):
				return fmt.Errorf("the label gpu.count is %q, want %d", object.Labels["metax-tech.com/gpu.count"], count)
			case strings.Contains(published, removed):
				return fmt.Errorf("the removed GPU %s is still published: %s", removed, published)
			}
			for _, g := range n.gpus {
				if !strings.Contains(published, g.UUID) {
					return fmt.Errorf("GPU %s is not published: %s", g.UUID, published)
				}
			}
			return nil
		})
		n.unhealthy(t, corev1.ConditionFalse)
		name := fmt.Sprint("all-", count)
		if seen := n.seen(t, n.look(t, name, count)); len(seen) != count {
			t.Errorf("a pod sees the GPUs %d, want all %d", seen, count)
		}
		n.remove(t, name)
	}
}

// without is a node without one of its GPUs.
func without(node toolkit.Node, index int) toolkit.Node {
	node.GPUs = slices.Delete(slices.Clone(node.GPUs), index, index+1)
	for i := range node.GPUs {
		node.GPUs[i].Index = i
	}
	var links []toolkit.Link
	for _, l := range node.Links {
		if l.A == index || l.B == index {
			continue
		}
		for _, end := range []*int{&l.A, &l.B} {
			if *end > index {
				*end--
			}
		}
		links = append(links, l)
	}
	node.Links = links
	return node
}

// replaceGPUs makes the simulated node another one, and gpus its GPUs.
func (n *node) replaceGPUs(t *testing.T, node toolkit.Node) {
	t.Helper()
	text, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	const file = "/run/node.json"
	if err := n.WriteFile(file, string(text)); err != nil {
		t.Fatal(err)
	}
	n.must(t, "sh", "-c", "rm -rf "+cluster.NodeDir+"/*")
	n.must(t, "metax-ctk", "sim", "create", file, cluster.NodeDir)
	n.findGPUs(t)
}
