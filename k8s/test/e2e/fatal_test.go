// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// lose makes the device plugin of a node say that pods have a lost GPU; without names, that it
// is back.
func (f *fleet) lose(t *testing.T, node string, pods ...string) {
	t.Helper()
	var value any
	if len(pods) > 0 {
		lost := protocol.Fault{UUID: "GPU-0", Code: "missing"}
		for _, name := range pods {
			pod, err := f.Client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			lost.Pods = append(lost.Pods, protocol.PodName{Namespace: pod.Namespace, Name: name, UID: string(pod.UID)})
		}
		value = protocol.Faults{lost}.String()
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{protocol.FaultsAnnotation: value}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Client.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// tainted fails unless a node has the taint of a lost GPU, or has none.
func (f *fleet) tainted(node, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := f.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got := ""
		for _, taint := range n.Spec.Taints {
			got += taint.ToString()
		}
		if got != want {
			return fmt.Errorf("%s has the taints %q, want %q", node, got, want)
		}
		return nil
	}
}

// TestOnFatal: with a real API server, a pod with a lost GPU is evicted when its budget lets
// it, and 499 others stay, such as its neighbour, those whose GPU came back at once, and one
// that says of itself that it has the lost GPU.
func TestOnFatal(t *testing.T) {
	t.Parallel()
	const size, perNode = 10, 50
	f := newFleet(t, size)
	f.onFatal = faults.Evict
	name := func(i int) string { return fmt.Sprintf("gpu-%04d", i) }
	if err := f.WriteFile("/tmp/operator.yaml", `{apiVersion: gpu.metax-tech.com/v1alpha1, kind: ClusterOperator, metadata: {name: cluster-operator}, spec: {labelgen: {deploy: false}, devicePlugin: {deploy: false}}}`); err != nil {
		t.Fatal(err)
	}
	f.must(t, "kubectl", "apply", "--server-side", "-f", "/tmp/operator.yaml")
	if err := parallel(size*perNode, func(i int) error {
		pod := probePod(fmt.Sprintf("pod-%03d", i), 1, "pause")
		pod.Namespace, pod.Spec.NodeName, pod.Labels = metav1.NamespaceDefault, name(i/perNode), map[string]string{"job": pod.Name}
		pod.Annotations = map[string]string{protocol.GivenAnnotation: "GPU-0", protocol.GPUsAnnotation: "GPU-0"}
		if _, err := f.Client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			return err
		}
		return f.started(t.Context(), pod)
	}); err != nil {
		t.Fatal(err)
	}
	for i := range size * perNode {
		f.jobs[fmt.Sprintf("pod-%03d", i)] = true
	}
	none := intstr.FromInt32(0)
	budgets := f.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	if _, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"job": "pod-000"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int32
	defer f.unsteady(t, 1, &writes, func() int32 { return 0 })() // on a busy machine, one ends that cannot renew its Lease

	const taint = protocol.FatalTaint + "=missing:NoSchedule"
	f.lose(t, name(0), "pod-000")
	f.until(t, 300, "the taint", f.tainted(name(0), taint))
	for i := range 3 { // and GPUs that are back before a minute has passed
		f.lose(t, name(1+i), fmt.Sprintf("pod-%03d", (1+i)*perNode))
		f.until(t, 300, "the taint", f.tainted(name(1+i), taint))
		f.lose(t, name(1+i))
		f.until(t, 300, "no taint", f.tainted(name(1+i), ""))
	}
	for range 60 { // two minutes: the budget holds
		if err := f.tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.bad) > 0 {
		t.Fatal(f.bad)
	}
	if err := budgets.Delete(t.Context(), "budget", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	delete(f.jobs, "pod-000")
	f.until(t, 300, "the eviction", func(ctx context.Context) error {
		pods, err := f.Client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) != size*perNode-1 {
			err = fmt.Errorf("there are %d pods", len(pods.Items))
		}
		return err
	})
	f.lose(t, name(0))
	f.until(t, 300, "no taint", f.tainted(name(0), ""))
	if f.tick(t.Context()); len(f.bad) > 0 {
		t.Error(f.bad)
	}
}

// losesGPU: the pod with a GPU that is lost on a real node is evicted, its neighbour stays,
// and the taint goes with the fault. The operator was installed with gpuDevice.onFatal=evict.
func (n *node) losesGPU(t *testing.T) {
	n.runs(t, probePod("victim", 2, "pause"))
	n.runs(t, probePod("neighbour", 2, "pause"))
	lost := n.given(t, "victim")[0]
	tainted := func(want bool) {
		t.Helper()
		wait(t, "the taint", func(context.Context) error {
			taints := n.object(t).Spec.Taints
			if has := slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == protocol.FatalTaint }); has != want {
				return fmt.Errorf("the node has the taints %v", taints)
			}
			return nil
		})
	}
	n.setHealthy(t, lost, false)
	tainted(true)
	wait(t, "the eviction", func(ctx context.Context) error {
		_, err := n.pods().Get(ctx, "victim", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the pod is still there: %v", err)
	})
	n.phase(t, "neighbour", corev1.PodRunning)
	n.setHealthy(t, lost, true)
	tainted(false)
	n.unhealthy(t, corev1.ConditionFalse)
	n.remove(t, "neighbour")
}
