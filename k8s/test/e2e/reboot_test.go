// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReboot ends everything that runs on the node but the control plane, and empties what is
// in memory on a real node. When the kubelet starts again, it either gives the container what
// the plugin answered before, or refuses the pod because the plugin is not registered yet. The
// pod, or the one that takes its place, has GPUs, and nobody else gets them.
func TestReboot(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	pod := probePod("keeps", 4, "pause")
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	n.create(t, pod)
	n.phase(t, "keeps", corev1.PodRunning)
	before := n.given(t, "keeps")
	n.reboot(t, func() {})
	refused := n.restarted(t, "keeps")
	if refused { // as its controller would
		n.remove(t, "keeps")
		n.runs(t, pod)
	}
	gpus := n.given(t, "keeps")
	if len(gpus) != 4 || !refused && !slices.Equal(gpus, before) {
		t.Errorf("the pod has the GPUs %d after the reboot, and had %d before; refused: %t", gpus, before, refused)
	}
	n.allocatable(t, len(n.gpus))
	rest := n.seen(t, n.look(t, "rest", 4))
	if slices.ContainsFunc(rest, func(i int) bool { return slices.Contains(gpus, i) }) {
		t.Errorf("another pod has the GPUs %d, of which the first one has %d", rest, gpus)
	}
}

// restarted waits until the container of a pod runs again, and reports whether the kubelet
// refused the pod instead.
func (n *node) restarted(t *testing.T, name string) (refused bool) {
	t.Helper()
	wait(t, "the next start of pod "+name, func(ctx context.Context) error {
		pod, err := n.pods().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list := pod.Status.ContainerStatuses
		refused = isRefused(pod)
		if !refused && (len(list) != 1 || list[0].RestartCount == 0 || list[0].State.Running == nil) {
			return fmt.Errorf("it is %s: %s", pod.Status.Phase, state(pod))
		}
		return nil
	})
	return refused
}

// reboot ends the kubelet, containerd and every container, removes what a reboot removes, and
// starts the first two again after meanwhile.
func (n *node) reboot(t *testing.T, meanwhile func()) {
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
	meanwhile()
	for _, name := range []string{"containerd", "kubelet"} {
		if err := n.Daemon(name).Start(within(t)); err != nil {
			t.Fatalf("start %s: %v", name, err)
		}
	}
}
