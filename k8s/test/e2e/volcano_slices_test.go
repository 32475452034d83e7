// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestVolcanoSlices: Volcano chooses no slices and does not lock the node. So its pods with
// slices are refused, with the reason, unless the plugin serves pods without a lock and one of
// the chart's schedulers has written their slices.
func TestVolcanoSlices(t *testing.T) {
	t.Parallel()
	program := scheduler(t, volcanoVariable)
	n := newNode(t, "c500-8")
	n.installSlices(t)
	n.runVolcano(t, program, "")
	pod := func(name string) *corev1.Pod {
		pod := n.slicePod(name, 3)
		pod.Spec.SchedulerName = cluster.Volcano
		return pod
	}
	refused := pod("refused")
	refused.Annotations = nil
	text, err := yaml.Marshal(refused)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WriteFile("/run/pod.yaml", "apiVersion: v1\nkind: Pod\n"+string(text)); err != nil {
		t.Fatal(err)
	}
	_, err = n.Run(within(t), "kubectl", "create", "-f", "/run/pod.yaml", "--as=volcano-controllers", "--as-group=system:masters")
	if err == nil || !strings.Contains(err.Error(), "has to name one of admissionPolicy.schedulerNames") {
		t.Errorf("the API server took a pod with slices of Volcano's controllers: %v", err)
	}
	n.create(t, pod("unlocked"))
	if pod := n.phase(t, "unlocked", corev1.PodFailed); !strings.Contains(pod.Status.Message, "no scheduler has locked the node") {
		t.Errorf("the pod failed: %s", state(pod))
	}
	n.remove(t, "unlocked")
	n.sliced(t)

	n.must(t, "helm", "upgrade", "slices", "oci://"+project+"/metax-gpu-extensions", "--version", "<999", "-n", namespace, "--reuse-values", "--wait",
		"--set", "gpuDevice.slicesWithoutLock=true")
	n.serves(t, sliceResource, int64(16*len(n.gpus)))
	n.create(t, pod("written"))
	n.phase(t, "written", corev1.PodRunning)
	n.sliced(t, "10/1024")
	n.remove(t, "written")
	n.sliced(t)
	without := pod("without")
	without.Annotations = nil
	n.create(t, without)
	t.Logf("a pod whose slices nobody wrote: %s", state(n.phase(t, "without", corev1.PodFailed)))
	n.remove(t, "without")
	n.sliced(t)
}
