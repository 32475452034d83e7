// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestSlices does what HAMi does for a pod with a slice: it chooses, locks the node and binds.
// The plugin makes the slice, answers and releases the lock, and removes the slice when the
// pod has ended. Of two pods that are bound at once, none gets the slice of the other. Then
// the node goes back to whole GPUs.
func TestSlices(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.installSlices(t)

	n.create(t, n.slicePod("slice", 3))
	n.lock(t, "slice")
	n.bind(t, "slice")
	n.phase(t, "slice", corev1.PodRunning)
	n.unlocked(t)
	n.bindPhase(t, "slice", "success")
	n.sliced(t, "10/1024")
	out, err := n.Run(within(t), "kubectl", "annotate", "pod", "slice", "--overwrite", "metax-tech.com/gpu-devices-allocated=[]", "--as=alice", "--as-group=system:masters")
	if err == nil || !strings.Contains(err.Error()+out, "may be written by schedulers only") {
		t.Errorf("a user writes what only schedulers may: %s, %v", out, err)
	}
	n.remove(t, "slice")
	n.sliced(t)
	t.Run("two pods bound at once", n.twoPods)
	t.Run("a sidecar", n.besideSidecar)
	n.config(t, map[string]string{"cluster-config": "mode: native"})
	n.serves(t, gpuResource, 8)
	n.serves(t, sliceResource, 0)
	wait(t, "the end of the registration", func(context.Context) error { return n.registered(t, false) })
	n.uninstall(t, "slices")
}

// twoPods binds two pods within a millisecond, and the node is locked for one of them. The
// kubelet does not say for which one it asks: it may have to be refused, but the other is
// never given its slice.
func (n *node) twoPods(t *testing.T) {
	ran := 0
	for i := range 6 {
		n.create(t, n.slicePod("locked", 3))
		n.create(t, n.slicePod("other", 4))
		n.lock(t, "locked")
		names := []string{"locked", "other"}
		if i%2 == 1 {
			slices.Reverse(names)
		}
		var both sync.WaitGroup
		for _, name := range names {
			both.Go(func() { n.bind(t, name) })
		}
		both.Wait()
		n.phase(t, "other", corev1.PodFailed)
		wait(t, "pod locked", func(ctx context.Context) error {
			pod, err := n.pods().Get(ctx, "locked", metav1.GetOptions{})
			switch {
			case err != nil:
			case pod.Status.Phase == corev1.PodRunning:
				ran++
				n.sliced(t, "10/1024")
			case !strings.Contains(pod.Status.Message, "pod default/other also waits for slices"):
				err = fmt.Errorf("it is %s: %s", pod.Status.Phase, state(pod))
			}
			return err
		})
		n.unlocked(t)
		for _, name := range names {
			n.remove(t, name)
		}
		n.sliced(t)
	}
	t.Logf("of 6 pods with the lock, %d ran", ran)
}

// besideSidecar has a pod whose sidecar keeps its slice beside that of the container, which an
// init container uses before, all on one GPU. What HAMi writes after 2.10 is as here: a list for
// each container, the init containers first. The next pod gets no more than what is left.
func (n *node) besideSidecar(t *testing.T) {
	slice := func(compute, memory int) string {
		return fmt.Sprintf(`[{"uuid":%q,"compute":%d,"vRam":%d}]`, n.gpus[3].UUID, compute, memory)
	}
	place := func(pod *corev1.Pod, lists ...string) {
		pod.Annotations["metax-tech.com/gpu-devices-allocated"] = "[" + strings.Join(lists, ",") + "]"
		n.create(t, pod)
		n.lock(t, pod.Name)
		n.bind(t, pod.Name)
	}
	pod := n.slicePod("sidecar", 3)
	once, stays := *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy()
	once.Name, once.Command = "once", []string{"/probe", "look"}
	stays.Name, stays.RestartPolicy = "stays", new(corev1.ContainerRestartPolicyAlways)
	pod.Spec.InitContainers = []corev1.Container{once, stays}
	place(pod, slice(60, 4096), slice(30, 2048), slice(60, 4096))
	n.phase(t, "sidecar", corev1.PodRunning)
	n.unlocked(t)
	n.bindPhase(t, "sidecar", "success")
	n.sliced(t, "30/2048", "60/4096")

	place(n.slicePod("next", 3), slice(20, 1024))
	n.refused(t, "next", "has 10% of its compute free; a slice of 20% does not fit")
	place(n.slicePod("next", 3), slice(10, 1024))
	n.phase(t, "next", corev1.PodRunning)
	n.unlocked(t)
	n.sliced(t, "10/1024", "30/2048", "60/4096")
	n.remove(t, "next")
	n.remove(t, "sidecar")
	n.sliced(t)
}

// slicePod is a pod that waits to be bound, with a slice of a GPU.
func (n *node) slicePod(name string, gpu int) *corev1.Pod {
	pod := probePod(name, 0, "wait")
	pod.Annotations = map[string]string{
		"metax-tech.com/gpu-devices-allocated": fmt.Sprintf(`[[{"uuid":%q,"compute":10,"vRam":1024}]]`, n.gpus[gpu].UUID),
		qosPolicy:                              "fixed-share",
		"hami.io/bind-phase":                   "allocating",
	}
	pod.Spec.SchedulerName = "hami"
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{sliceResource: resource.MustParse("1")}
	return pod
}

// lock locks the node for a pod.
func (n *node) lock(t *testing.T, pod string) {
	t.Helper()
	n.annotate(t, cluster.NodeName, hamiLock, "2026-11-22T16:52:48Z,default,"+pod)
}

// bind binds a pod to the node.
func (n *node) bind(t *testing.T, pod string) {
	t.Helper()
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: cluster.NodeName}}
	if err := n.pods().Bind(within(t), binding, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// serves waits until pods can get so many devices of a resource.
func (n *node) serves(t *testing.T, name corev1.ResourceName, want int64) {
	t.Helper()
	wait(t, string(name), func(context.Context) error {
		q := n.object(t).Status.Allocatable[name]
		if q.Value() != want {
			return fmt.Errorf("pods can get %s, want %d", q.String(), want)
		}
		return nil
	})
}

func (n *node) registered(t *testing.T, want bool) error {
	if _, ok := n.object(t).Annotations["metax-tech.com/node-gpu-devices"]; ok != want {
		return fmt.Errorf("the Node has the annotation: %t", ok)
	}
	return nil
}
