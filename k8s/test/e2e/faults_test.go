// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestFaults lets one part fail after the other while a pod has four GPUs. Afterwards the pod
// still has them, a second pod gets the other four, and a third waits.
func TestFaults(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	n.create(t, probePod("keeps", 4, "pause"))
	n.phase(t, "keeps", corev1.PodRunning)
	for _, fault := range []struct {
		name string
		do   func(*node, *testing.T)
	}{
		{"nothing", func(*node, *testing.T) {}},
		{"kubelet killed", (*node).killKubelet},
		{"plugin killed", (*node).killPlugin},
		{"socket removed", (*node).removeSockets},
		{"another plugin comes and goes", (*node).takeResource},
		{"API server away", (*node).withoutAPI},
		{"GPU unhealthy and healthy again", (*node).fallAndRecover},
	} {
		if !t.Run(fault.name, func(t *testing.T) {
			fault.do(n, t)
			n.shareRest(t)
		}) {
			return // the node is not what the next row expects
		}
	}
}

// shareRest wants pod keeps to run on, and four GPUs for exactly one more pod.
func (n *node) shareRest(t *testing.T) {
	t.Helper()
	n.allocatable(t, len(n.gpus))
	n.runs(t, probePod("second", 4, "pause"))
	n.create(t, probePod("third", 1, "pause"))
	n.insufficient(t, "third")
	all := append(n.given(t, "keeps"), n.given(t, "second")...)
	slices.Sort(all)
	if len(slices.Compact(all)) != len(n.gpus) {
		t.Errorf("the pods have the GPUs %d, want each GPU once", all)
	}
	if pod := n.phase(t, "keeps", corev1.PodRunning); pod.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the pod was restarted: %s", state(pod))
	}
	n.remove(t, "third") // first, or it gets a GPU of the second
	n.remove(t, "second")
}

// given are the indices of the GPUs whose nodes a running pod has.
func (n *node) given(t *testing.T, pod string) []int {
	t.Helper()
	// A kubelet that has just started does not know the pod yet.
	wait(t, "a look into pod "+pod, func(ctx context.Context) error {
		_, err := n.Run(ctx, "kubectl", "exec", pod, "--", "/probe", "look")
		return err
	})
	inside := map[string]bool{}
	for _, node := range n.report(t, pod).Nodes {
		inside[node.Path] = true
	}
	var list []int
	for i, g := range n.gpus {
		if inside[g.Nodes[0]] {
			list = append(list, i)
		}
	}
	return list
}

// killKubelet kills the kubelet and starts it again.
func (n *node) killKubelet(t *testing.T) {
	t.Helper()
	kubelet := n.Daemon("kubelet")
	if err := kubelet.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := kubelet.Start(within(t)); err != nil {
		t.Fatal(err)
	}
}

// killPlugin kills the plugin's process, and waits until another one is ready.
func (n *node) killPlugin(t *testing.T) {
	t.Helper()
	restarts := func() int32 {
		for _, c := range n.agent(t, "metax-gpu-device").Status.ContainerStatuses {
			if c.Name == "gpu-device" {
				return c.RestartCount
			}
		}
		t.Fatal("the pod of metax-gpu-device has no container gpu-device")
		return 0
	}
	before := restarts()
	n.must(t, "pkill", "-KILL", "-f", "^/metax-gpu-device run")
	wait(t, "the plugin's restart", func(context.Context) error {
		if restarts() == before {
			return fmt.Errorf("it was not restarted yet")
		}
		return nil
	})
}

// removeSockets removes the sockets of all plugins, and waits for a new one.
func (n *node) removeSockets(t *testing.T) {
	t.Helper()
	before := n.sockets(t)
	if len(before) == 0 {
		t.Fatal("the plugin has no socket")
	}
	n.must(t, "rm", before...)
	n.anotherSocket(t, before)
}

func (n *node) anotherSocket(t *testing.T, before []string) {
	t.Helper()
	wait(t, "a new socket of the plugin", func(context.Context) error {
		for _, socket := range n.sockets(t) {
			if !slices.Contains(before, socket) {
				return nil
			}
		}
		return fmt.Errorf("the sockets are still %q", before)
	})
}

// takeResource registers another plugin for the resource and takes it away again. Then the
// kubelet has no plugin, and nothing tells the first one so: its socket and its stream remain.
func (n *node) takeResource(t *testing.T) {
	t.Helper()
	before := n.sockets(t)
	n.createVendorLike(t, vendorlike)
	n.removeVendorLike(t)
	n.anotherSocket(t, before)
}

// withoutAPI kills the API server, and meanwhile the plugin, and starts the API server again.
func (n *node) withoutAPI(t *testing.T) {
	t.Helper()
	n.stopAPI(t, func() {
		before := n.sockets(t)
		n.must(t, "pkill", "-KILL", "-f", "^/metax-gpu-device run")
		n.anotherSocket(t, before)
	})
}

// stopAPI kills the API server, and starts it again after meanwhile.
func (n *node) stopAPI(t *testing.T, meanwhile func()) {
	t.Helper()
	api := n.Daemon("kube-apiserver")
	if err := api.Kill(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	if err := api.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the API server", func(ctx context.Context) error {
		_, err := n.Client.CoreV1().Nodes().Get(ctx, cluster.NodeName, metav1.GetOptions{})
		return err
	})
}

// smi is mx-smi of the simulated node.
const smi = cluster.NodeDir + "/opt/mxdriver/bin/mx-smi"

// smiFacts is what it says of the node.
const smiFacts = cluster.NodeDir + "/opt/mxdriver/share/mx-smi/node.txt"

// setHealthy makes mx-smi report a GPU as available or not.
func (n *node) setHealthy(t *testing.T, gpu int, healthy bool) {
	t.Helper()
	from, to := "Available", "Unavailable"
	if healthy {
		from, to = to, from
	}
	n.must(t, "sed", "-i", fmt.Sprintf("/%s/s/ %s / %s /", n.gpus[gpu].UUID, from, to), smiFacts)
}

// fall lets a GPU become unhealthy, which pods may have, and healthy again.
func (n *node) fall(t *testing.T) {
	t.Helper()
	n.setHealthy(t, 0, false)
	n.unhealthy(t, corev1.ConditionTrue)
	n.setHealthy(t, 0, true)
	n.unhealthy(t, corev1.ConditionFalse)
}

// overlap replaces the plugin as an upgrade does: two run at the same time for a while.
func (n *node) overlap(t *testing.T) {
	t.Helper()
	before := n.sockets(t)
	n.must(t, "kubectl", "rollout", "restart", "daemonset/metax-gpu-device", "-n", namespace)
	n.must(t, "kubectl", "rollout", "status", "daemonset/metax-gpu-device", "-n", namespace)
	n.anotherSocket(t, before)
}

// fallAndRecover lets mx-smi report a GPU that no pod has as unhealthy. It leaves Allocatable
// but not Capacity, the node has a condition and an Event, and no pod gets the GPU until it is
// healthy again.
func (n *node) fallAndRecover(t *testing.T) {
	t.Helper()
	fallen := 0
	for slices.Contains(n.given(t, "keeps"), fallen) {
		fallen++
	}
	n.setHealthy(t, fallen, false)
	n.allocatable(t, len(n.gpus)-1)
	if capacity := n.object(t).Status.Capacity[gpuResource]; capacity.Value() != int64(len(n.gpus)) {
		t.Errorf("the capacity is %s, want all %d GPUs", capacity.String(), len(n.gpus))
	}
	n.unhealthy(t, corev1.ConditionTrue)
	n.create(t, probePod("rest", 3, "pause"))
	n.phase(t, "rest", corev1.PodRunning)
	if given := n.given(t, "rest"); slices.Contains(given, fallen) {
		t.Errorf("a pod has the GPUs %d, though GPU %d is unhealthy", given, fallen)
	}
	n.remove(t, "rest")
	n.setHealthy(t, fallen, true)
	n.allocatable(t, len(n.gpus))
	n.unhealthy(t, corev1.ConditionFalse)
	out := n.must(t, "kubectl", "get", "events", "-A", "--field-selector", "involvedObject.kind=Node", "-o", "jsonpath={.items[*].message}")
	if !strings.Contains(out, n.gpus[fallen].UUID) {
		t.Errorf("no Event of the node names GPU %s: %s", n.gpus[fallen].UUID, out)
	}
}

// unhealthy waits until the node's condition about its GPUs has the status.
func (n *node) unhealthy(t *testing.T, want corev1.ConditionStatus) {
	t.Helper()
	wait(t, "the condition of the node", func(context.Context) error {
		for _, c := range n.object(t).Status.Conditions {
			if c.Type == "MetaXGPUUnhealthy" && c.Status == want {
				return nil
			}
		}
		return fmt.Errorf("MetaXGPUUnhealthy is not %s", want)
	})
}
