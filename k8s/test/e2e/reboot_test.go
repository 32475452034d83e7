package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReboot ends everything that runs on the node but the control plane, and empties what is in memory on
// a real node. When the kubelet starts again, it gives a container what the plugin answered before; the pod
// must find its GPUs by that, and nobody else may get them.
func TestReboot(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	pod := probePod("keeps", 4, "pause")
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	n.create(t, pod)
	n.phase(t, "keeps", corev1.PodRunning)
	gpus := n.given(t, "keeps")
	n.reboot(t)
	wait(t, "pod keeps after the reboot", func(ctx context.Context) error {
		pod, err := n.pods().Get(ctx, "keeps", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := pod.Status.ContainerStatuses[0]; status.RestartCount == 0 || status.State.Running == nil {
			return fmt.Errorf("it is %s after %d restarts: %s", pod.Status.Phase, status.RestartCount, state(pod))
		}
		return nil
	})
	if got := n.given(t, "keeps"); !slices.Equal(got, gpus) {
		t.Errorf("the pod has the GPUs %d after the reboot, and had %d before", got, gpus)
	}
	n.allocatable(t, len(n.gpus))
	rest := n.seen(t, n.look(t, "rest", 4))
	if slices.ContainsFunc(rest, func(i int) bool { return slices.Contains(gpus, i) }) {
		t.Errorf("another pod has the GPUs %d, of which the first one has %d", rest, gpus)
	}
	n.checkRights(t)
}

// reboot ends the kubelet, containerd and every container, removes what a reboot removes, and starts the
// first two again.
func (n *node) reboot(t *testing.T) {
	t.Helper()
	for _, name := range []string{"kubelet", "containerd"} {
		if err := n.Daemon(name).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	n.must(t, "sh", "-c", `
pkill -KILL -f '^(/usr/bin/containerd-shim|/probe|/metax-)'
while read -r _ at _; do case $at in /run/containerd/* | /run/netns/*) umount -l "$at" ;; esac; done </proc/mounts
rm -rf /run/containerd /run/netns /run/cdi /run/metax-container-toolkit`)
	for _, name := range []string{"containerd", "kubelet"} {
		if err := n.Daemon(name).Start(within(t)); err != nil {
			t.Fatalf("start %s: %v", name, err)
		}
	}
}
