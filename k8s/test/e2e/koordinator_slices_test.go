// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestKoordinatorSlices lets Koordinator's scheduler choose slices and whole GPUs for pods
// that run on the node. The test makes the Device and the resources of the node, as koordlet
// and koord-manager do in life.
func TestKoordinatorSlices(t *testing.T) {
	t.Parallel()
	program := scheduler(t, koordinatorVariable)
	n := newNode(t, "c500-8")
	n.installSlices(t, "--set", "gpuDevice.koordletDir="+koordletDir)
	if err := n.RunKoordinator(within(t), program); err != nil {
		t.Fatal(err)
	}
	n.createDevice(t, cluster.NodeName)
	n.addCapacity(t, map[corev1.ResourceName]string{
		"koordinator.sh/gpu-core": "800", "koordinator.sh/gpu-memory-ratio": "800", "koordinator.sh/gpu-memory": "512Gi", "koordinator.sh/gpu.shared": "800",
	})
	slice := func(name string) *corev1.Pod { return example(t, "koordinator-slice.yaml", name, "pause") }
	t.Run("slice", func(t *testing.T) {
		n.create(t, slice("slice"))
		n.served(t, "slice", "10/1024")
	})
	t.Run("an init container uses the slice first", func(t *testing.T) {
		pod := slice("init")
		c := *pod.Spec.Containers[0].DeepCopy()
		c.Name, c.Command = "before", []string{"/probe", "look"}
		pod.Spec.InitContainers = []corev1.Container{c}
		n.create(t, pod)
		n.served(t, "init", "10/1024")
	})
	t.Run("whole GPUs", func(t *testing.T) {
		n.create(t, example(t, "koordinator.yaml", "whole", "pause"))
		n.phase(t, "whole", corev1.PodRunning)
		minors, _ := n.chosen(t, n.bound(t, "whole"))
		if gpus := n.given(t, "whole"); !slices.Equal(gpus, minors) || len(gpus) != 2 {
			t.Errorf("the pod has the GPUs %d, and Koordinator chose %d", gpus, minors)
		}
		n.served(t, "whole")
	})
	t.Run("two at once", func(t *testing.T) {
		names := []string{"first", "second"}
		var both sync.WaitGroup
		for _, name := range names {
			both.Go(func() {
				if _, err := n.pods().Create(within(t), slice(name), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for _, name := range names {
			// Koordinator locks the node by what it saw of it last, so its second lock can
			// replace the first, and then the plugin refuses one pod or both. A controller
			// would create them again.
			wait(t, "pod "+name, func(ctx context.Context) error {
				pod, err := n.pods().Get(ctx, name, metav1.GetOptions{})
				if err != nil || pod.Status.Phase == corev1.PodRunning {
					return err
				}
				if err = fmt.Errorf("it is %s: %s", pod.Status.Phase, state(pod)); isUnlocked(pod) {
					t.Log("pod ", name, ": ", err)
					n.remove(t, name)
					n.create(t, slice(name))
				}
				return err
			})
		}
		n.unlocked(t)
		n.sliced(t, "10/1024", "10/1024")
		for _, name := range names {
			n.remove(t, name)
		}
		n.sliced(t)
	})
	n.interruptSlices(t, slice)
	t.Run("koordlet", n.koordlet)
}

// isUnlocked reports whether the plugin refused a pod because the lock names another one, or
// none.
func isUnlocked(pod *corev1.Pod) bool {
	return slices.ContainsFunc([]string{
		"no scheduler has locked the node", "also waits for slices on this node", "which the lock of the node names, does not wait",
	}, func(s string) bool { return strings.Contains(pod.Status.Message, s) })
}

// addCapacity gives the node resources that no device plugin serves. The kubelet keeps them.
func (n *node) addCapacity(t *testing.T, resources map[corev1.ResourceName]string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": resources, "allocatable": resources}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Client.CoreV1().Nodes().Patch(within(t), cluster.NodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}
