// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestChartLife upgrades the chart, rolls it back and removes it while a pod has GPUs. The pod
// keeps them, also when its container starts again with another plugin. What it needs for that
// remains, and nothing else.
func TestChartLife(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before := n.trace(t)
	release := n.install(t)
	pod := probePod("keeps", 4, "wait")
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	n.create(t, pod)
	n.phase(t, "keeps", corev1.PodRunning)
	gpus := n.given(t, "keeps")
	sockets := n.sockets(t)
	n.must(t, "helm", append([]string{
		"upgrade", release, "oci://" + project + "/metax-gpu-extensions", "--version", "999.0.0",
		"-n", namespace, "--wait", "--set", "log.level=debug",
	}, values...)...)
	n.anotherSocket(t, sockets)
	n.shareRest(t)
	sockets = n.sockets(t)
	n.must(t, "helm", "rollback", release, "1", "-n", namespace, "--wait")
	n.anotherSocket(t, sockets)
	n.shareRest(t)
	n.uninstall(t, release)
	if got := n.given(t, "keeps"); !slices.Equal(got, gpus) {
		t.Errorf("the pod had the GPUs %d, and has %d after the chart was removed", gpus, got)
	}
	n.installVendorLike(t) // without a plugin, the kubelet starts no container with GPUs
	n.must(t, "pkill", "-KILL", "-f", "^/probe wait")
	n.restarted(t, "keeps")
	if got := n.given(t, "keeps"); !slices.Equal(got, gpus) {
		t.Errorf("the pod had the GPUs %d, and its container has %d after it started again", gpus, got)
	}
	n.remove(t, "keeps")
	n.removeVendorLike(t)
	n.allocatable(t, 0)
	n.must(t, "sh", "-c", "rm /var/run/cdi/metax-tech.com-*.json; rm -r /var/lib/metax-container-toolkit") // as the page says
	if diff := cmp.Diff(before, n.trace(t)); diff != "" {
		t.Errorf("what the cluster and the node had before (-) and have afterwards (+):\n%s", diff)
	}
}

// TestReplace goes from another vendor's plugin to this one and back while pods have GPUs.
func TestReplace(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.push(t)
	n.installVendorLike(t)
	n.create(t, probePod("keeps", 4, "pause"))
	n.phase(t, "keeps", corev1.PodRunning)
	n.removeVendorLike(t)
	release := n.install(t)
	n.shareRest(t)
	n.uninstall(t, release)
	n.installVendorLike(t)
	n.shareRest(t)
}

// TestRefusesAnotherPlugin wants no installation beside another plugin for the same GPUs.
func TestRefusesAnotherPlugin(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.push(t)
	n.createVendorLike(t, "metax-plugin")
	_, err := n.Run(within(t), "helm", append([]string{"install", "gpus", "oci://" + project + "/metax-gpu-extensions", "--version", "<999"}, values...)...)
	if err == nil || !strings.Contains(err.Error(), "kube-system/metax-plugin") {
		t.Errorf("want helm to refuse and to name the DaemonSet: %v", err)
	}
}
