package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestSlices does what HAMi does for a pod with a slice: it chooses, locks the node and binds. The plugin
// makes the slice, answers and releases the lock, and removes the slice when the pod has ended. Then the
// node goes back to whole GPUs.
func TestSlices(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.installSlices(t)

	pod := probePod("slice", 0, "wait")
	pod.Annotations = map[string]string{
		"metax-tech.com/gpu-devices-allocated": fmt.Sprintf(`[[{"uuid":%q,"compute":10,"vRam":1024}]]`, n.gpus[3].UUID),
		"metax-tech.com/sgpu-qos-policy":       "fixed-share",
		"hami.io/bind-phase":                   "allocating",
	}
	pod.Spec.SchedulerName = "hami"
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{sliceResource: resource.MustParse("1")}
	n.create(t, pod)
	n.must(t, "kubectl", "annotate", "node", cluster.NodeName, "hami.io/mutex.lock=2026-11-22T16:52:48Z,default,slice")
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "slice"}, Target: corev1.ObjectReference{Kind: "Node", Name: cluster.NodeName}}
	if err := n.pods().Bind(within(t), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.phase(t, "slice", corev1.PodRunning)
	n.unlocked(t)
	n.bindPhase(t, "slice", "success")
	n.sliced(t, "10/1024")
	n.remove(t, "slice")
	n.sliced(t)
	n.setMode(t, "native")
	n.serves(t, gpuResource, 8)
	wait(t, "the end of the registration", func(context.Context) error { return n.registered(t, false) })
	n.uninstall(t, "slices")
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

// setMode changes the mode of all nodes.
func (n *node) setMode(t *testing.T, mode string) {
	t.Helper()
	patch := fmt.Sprintf(`{"data":{"cluster-config":"mode: %s"}}`, mode)
	if _, err := n.Client.CoreV1().ConfigMaps(namespace).Patch(within(t), "metax-device-config", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
