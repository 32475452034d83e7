// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestModes edits the ConfigMap of modes: with what the plugin does not know, for all nodes
// and by the label of one, and while a pod has a GPU.
func TestModes(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	release := n.install(t)
	n.config(t, map[string]string{
		"cluster-config": "{mode: native, sgpuHybrid: true, deviceAllocationStrategy: best, extra: 1}",
		"kind-config":    "[{kind: C500}]",
	})
	for _, part := range []string{`sgpuHybrid "true"`, `deviceAllocationStrategy "best"`, `field "extra" is not known`, "kind-config has no effect"} {
		n.event(t, "MetaXDeviceConfigInvalid", part)
	}
	n.allocatable(t, len(n.gpus))

	n.runs(t, probePod("holder", 1, "pause"))
	n.must(t, "kubectl", "label", "node", cluster.NodeName, "pool=shared")
	n.config(t, map[string]string{
		"cluster-config": "mode: sgpu", "nodes-config": "[{nodeSelector: {pool: shared}, mode: shared, shareNums: 2}]", "kind-config": "",
	})
	n.pending(t, corev1.ConditionTrue, "mode stays native, shared is configured: default/holder (container main) has "+n.gpus[n.given(t, "holder")[0]].UUID)
	n.allocatable(t, len(n.gpus))
	n.remove(t, "holder")
	n.allocatable(t, 2*len(n.gpus))
	n.pending(t, corev1.ConditionFalse, "mode shared")

	// Nine shares are of eight GPUs, and the kubelet knows them by the UUIDs of these.
	n.create(t, probePod("shares", len(n.gpus)+1, "pause"))
	n.phase(t, "shares", corev1.PodRunning)
	if gpus := n.given(t, "shares"); len(gpus) != len(n.gpus) {
		t.Errorf("the pod has the GPUs %d, want all", gpus)
	}
	ids := n.must(t, "cat", "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint")
	for _, g := range n.gpus {
		if !strings.Contains(ids, g.UUID+"::") {
			t.Errorf("the kubelet knows no share of %s", g.UUID)
		}
	}
	n.config(t, map[string]string{"nodes-config": "[{nodeName: " + cluster.NodeName + ", mode: vgpu}]"})
	n.pending(t, corev1.ConditionTrue, "mode stays shared, vgpu is configured: default/shares")
	n.remove(t, "shares")
	n.pending(t, corev1.ConditionFalse, "mode vgpu")
	n.allocatable(t, 0) // there are no virtual functions

	// What is edited stays, whatever becomes of the release; the values hold where nothing is.
	n.config(t, map[string]string{"cluster-config": "mode: shared", "nodes-config": "[]"})
	n.allocatable(t, 4*len(n.gpus))
	n.upgrade(t, release, "/metax-gpu-extensions", "--reuse-values")
	n.upgrade(t, release, "/metax-gpu-extensions", "--reuse-values", "--set", "log.level=debug")
	n.must(t, "helm", "rollback", release, "1", "-n", namespace, "--wait")
	n.pending(t, corev1.ConditionFalse, "mode shared; ConfigMap metax-device-config is edited and holds instead of the chart's values: cluster-config")
	n.allocatable(t, 4*len(n.gpus))
	n.must(t, "kubectl", "-n", namespace, "delete", "configmap", "metax-device-config")
	n.allocatable(t, len(n.gpus))
	n.pending(t, corev1.ConditionFalse, "mode native")
}

// upgrade is helm upgrade of a release, to the chart at a path of the project.
func (n *node) upgrade(t *testing.T, release, chart string, more ...string) {
	t.Helper()
	n.must(t, "helm", append([]string{"upgrade", release, "oci://" + project + chart, "--version", "<999", "-n", namespace, "--wait"}, more...)...)
}

// config sets keys of the ConfigMap of modes.
func (n *node) config(t *testing.T, data map[string]string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"data": data})
	if err == nil {
		_, err = n.Client.CoreV1().ConfigMaps(namespace).Patch(within(t), "metax-device-config", types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pending waits until the node says whether its mode is another one than the configured one.
func (n *node) pending(t *testing.T, want corev1.ConditionStatus, says string) {
	t.Helper()
	wait(t, "the condition about the mode", func(context.Context) error {
		for _, c := range n.object(t).Status.Conditions {
			if c.Type == "MetaXGPUModePending" {
				if c.Status == want && strings.Contains(c.Message, says) {
					return nil
				}
				return fmt.Errorf("it is %s: %s; want %s: %s", c.Status, c.Message, want, says)
			}
		}
		return errors.New("the Node has no condition MetaXGPUModePending")
	})
}
