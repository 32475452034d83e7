// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The programs of other schedulers. A row is skipped where its program is not there; script
// run says so.
const (
	hamiVariable        = "METAX_E2E_HAMI"
	koordinatorVariable = "METAX_E2E_KOORD"
	koordletVariable    = "METAX_E2E_KOORDLET"
	volcanoVariable     = "METAX_E2E_VOLCANO"
	kueueVariable       = "METAX_E2E_KUEUE"
)

// scheduler is the path of a program that is not part of this source tree. Its version goes to
// the row's output.
func scheduler(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip(variable + " does not name the program")
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s %s, %s, sha256 %x", path, info.Main.Path, info.Main.Version, info.GoVersion, sha256.Sum256(text))
	return path
}

// createBare creates a node without a kubelet, to which pods can be bound but where they do
// not start.
func (n *node) createBare(t *testing.T, name string, annotations map[string]string, capacity corev1.ResourceList) {
	t.Helper()
	capacity = maps.Clone(capacity)
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	for name, quantity := range map[corev1.ResourceName]string{"cpu": "64", "memory": "512Gi", "pods": "110"} {
		capacity[name] = resource.MustParse(quantity)
	}
	_, err := n.Client.CoreV1().Nodes().Create(within(t), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// bound waits until a scheduler has chosen a node for the pod, and returns the pod.
func (n *node) bound(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	wait(t, "pod "+name, func(ctx context.Context) (err error) {
		if pod, err = n.pods().Get(ctx, name, metav1.GetOptions{}); err == nil && pod.Spec.NodeName == "" {
			err = fmt.Errorf("no scheduler has chosen a node: %s", state(pod))
		}
		return err
	})
	return pod
}

// annotate sets an annotation of a node, or removes it if the value is nil.
func (n *node) annotate(t *testing.T, name, key string, value any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Client.CoreV1().Nodes().Patch(within(t), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// anywhere lets a pod run on a node that no kubelet reports as ready.
var anywhere = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
