// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// vendorlike is the name of that plugin's DaemonSet. The chart refuses to run beside a plugin
// whose name or image says that it is for MetaX GPUs, so this one can run beside it.
const vendorlike = "vendorlike"

// TestVendorLike shows that the tests see what they must: a simple plugin of another vendor
// gives pods their GPUs, and a pod without GPUs has none.
func TestVendorLike(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.installVendorLike(t)
	for _, count := range []int{0, 1, 8} {
		name := fmt.Sprint("looks-", count)
		if seen := n.seen(t, n.look(t, name, count)); len(seen) != count {
			t.Errorf("pod %s has the GPUs %d, want %d", name, seen, count)
		}
	}
	n.create(t, probePod("nine", 9, "pause"))
	n.insufficient(t, "nine")
	n.create(t, probePod("stays", 4, "pause"))
	n.phase(t, "stays", corev1.PodRunning)
	n.killKubelet(t)
	if given := n.given(t, "stays"); len(given) != 4 {
		t.Errorf("after the kubelet's restart, the pod has the GPUs %d, want 4", given)
	}
}

// insufficient waits until the scheduler has found too few GPUs for a pod.
func (n *node) insufficient(t *testing.T, name string) {
	t.Helper()
	wait(t, "pod "+name, func(ctx context.Context) error {
		pod, err := n.pods().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !strings.Contains(state(pod), "Insufficient "+gpuResource) {
			err = fmt.Errorf("it is %s: %s", pod.Status.Phase, state(pod))
		}
		return err
	})
}

// installVendorLike runs the plugin vendorlike and waits until pods can get all GPUs.
func (n *node) installVendorLike(t *testing.T) {
	t.Helper()
	n.createVendorLike(t, vendorlike)
	n.allocatable(t, len(n.gpus))
}

// createVendorLike runs the plugin vendorlike as a DaemonSet of that name, and waits until it
// is registered.
func (n *node) createVendorLike(t *testing.T, name string) {
	t.Helper()
	command := []string{"/vendorlike", cluster.NodeDir}
	for _, g := range n.gpus {
		command = append(command, g.UUID+"="+strings.Join(g.Nodes, ","))
	}
	labels := map[string]string{"app": name}
	_, err := n.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Create(within(t), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: vendorlike, Image: cluster.Registry + "/test/vendorlike:1", Command: command,
						VolumeMounts: []corev1.VolumeMount{{Name: "plugins", MountPath: pluginDir}},
					}},
					Volumes: []corev1.Volume{{Name: "plugins", VolumeSource: corev1.VolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: pluginDir},
					}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the plugin vendorlike", func(ctx context.Context) error {
		pods := n.Client.CoreV1().Pods(metav1.NamespaceSystem)
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(list.Items) != 1 {
			return fmt.Errorf("it has %d pods: %w", len(list.Items), err)
		}
		log, err := pods.GetLogs(list.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil || !strings.Contains(string(log), "registered") {
			return fmt.Errorf("it says %q: %w", log, err)
		}
		return nil
	})
}

// removeVendorLike ends the plugin vendorlike and waits until its socket is gone.
func (n *node) removeVendorLike(t *testing.T) {
	t.Helper()
	if err := n.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Delete(within(t), vendorlike, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end of the plugin vendorlike", func(context.Context) error {
		if slices.Contains(n.sockets(t), pluginDir+"/vendorlike.sock") {
			return fmt.Errorf("its socket is still there")
		}
		return nil
	})
}

// allocatable waits until pods can get so many GPUs of the node.
func (n *node) allocatable(t *testing.T, want int) {
	t.Helper()
	wait(t, "the GPUs of the node", func(ctx context.Context) error {
		node, err := n.Client.CoreV1().Nodes().Get(ctx, cluster.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := node.Status.Allocatable[gpuResource]; got.Value() != int64(want) {
			return fmt.Errorf("%s of them are allocatable, want %d", got.String(), want)
		}
		return nil
	})
}
