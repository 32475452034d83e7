// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/rollout"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Name: v1alpha1.Name}}

// cluster is an API server in memory with a ClusterOperator and these objects.
func cluster(t *testing.T, o *v1alpha1.ClusterOperator, calls interceptor.Funcs, objects ...client.Object) *Upgrader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	o.Name = v1alpha1.Name
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, o)...).WithStatusSubresource(o).WithInterceptorFuncs(calls).Build()
	return &Upgrader{Client: c, Namespace: "ns", Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// gpuNode is a node that an upgrade cordoned, if it has a record.
func gpuNode(record rollout.Record) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{protocol.LabelInstalled: "true", protocol.LabelDriverReady: "true"}}}
	if n.Spec.Unschedulable = record.Cordoned; record.Cordoned {
		n.Annotations = map[string]string{protocol.UpgradeAnnotation: record.String()}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

var cordoned = rollout.Record{State: rollout.Jobs, Since: time.Unix(0, 0).UTC(), To: "1", Cordoned: true}

// inService demands that the node is not cordoned and has no record.
func inService(t *testing.T, c client.Client) {
	t.Helper()
	n := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, n); err != nil {
		t.Fatal(err)
	}
	if record, has := n.Annotations[protocol.UpgradeAnnotation]; n.Spec.Unschedulable || has {
		t.Errorf("cordoned is %t, the record %q", n.Spec.Unschedulable, record)
	}
}

// TestNoRights: a controller without rights to upgrade puts nodes back into service that one
// before it cordoned.
func TestNoRights(t *testing.T) {
	o := &v1alpha1.ClusterOperator{}
	o.Spec.Driver = &v1alpha1.Driver{DeployPolicy: "PreferHost"}
	o.Status.DriverUpgrade = &v1alpha1.DriverUpgradeStatus{Reason: rollout.Progressing, Nodes: []v1alpha1.DriverUpgradeNode{{Name: "a"}}}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: protocol.Driver, Namespace: "ns"}}
	u := cluster(t, o, interceptor.Funcs{}, gpuNode(cordoned), set)
	if _, err := u.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	inService(t, u.Client)
	if err := u.Client.Get(t.Context(), request.NamespacedName, o); err != nil || o.Status.DriverUpgrade != nil {
		t.Errorf("%v, status %+v", err, o.Status.DriverUpgrade)
	}
}

// TestEnd: nodes are back in service while a pod of a deleted operator is still there, as on a
// node that is away.
func TestEnd(t *testing.T) {
	now, yes := metav1.Now(), true
	o := &v1alpha1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now, Finalizers: []string{v1alpha1.Finalizer}}}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Name: protocol.Driver, Namespace: "ns", DeletionTimestamp: &now, Finalizers: []string{"foregroundDeletion"},
		OwnerReferences: []metav1.OwnerReference{{Name: v1alpha1.Name, UID: "1", Controller: &yes}},
	}}
	u := cluster(t, o, interceptor.Funcs{}, gpuNode(cordoned), set)
	r := &Reconciler{Client: u.Client, Namespace: "ns", Log: u.Log, Now: time.Now, Upgrader: u, Faults: &Faults{Client: u.Client, Log: u.Log, Now: time.Now}}
	for range 2 {
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	inService(t, u.Client)
	if err := u.Client.Get(t.Context(), request.NamespacedName, o); err != nil || len(o.Finalizers) != 1 {
		t.Errorf("%v, finalizers %q: a DaemonSet is left", err, o.Finalizers)
	}
}

// TestReleaseComesLast: what a look has decided before is not written after Release has found
// nothing to do.
func TestReleaseComesLast(t *testing.T) {
	o := &v1alpha1.ClusterOperator{}
	o.Spec.Driver = &v1alpha1.Driver{DeployPolicy: "PreferHost", UpgradePolicy: &v1alpha1.DriverUpgradePolicy{EnableRollout: true}}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: protocol.Driver, Namespace: "ns"}}
	set.Spec.Template.Annotations = map[string]string{plan.RevisionAnnotation: "2"}
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "d", Namespace: "ns", Annotations: map[string]string{plan.RevisionAnnotation: "1"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: protocol.Driver, Controller: &yes}},
	}, Spec: corev1.PodSpec{NodeName: "a"}}
	released, begun := make(chan error, 1), false
	var u *Upgrader
	u = cluster(t, o, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		if !begun {
			begun = true
			go func() { // the Reconciler
				for done, err := false, error(nil); !done && err == nil; {
					if done, err = u.Release(ctx); err != nil || done {
						released <- err
					}
				}
			}()
			select {
			case err := <-released:
				released <- err
			case <-time.After(100 * time.Millisecond): // it waits for this look
			}
		}
		return c.Patch(ctx, object, patch, options...)
	}}, gpuNode(rollout.Record{}), set, pod)
	u.Upgrades = true
	if _, err := u.Reconcile(t.Context(), request); err != nil || !begun {
		t.Fatalf("%v; the node was cordoned: %t", err, begun)
	}
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	inService(t, u.Client)
}

// TestBatch: a long plan is carried out in parts.
func TestBatch(t *testing.T) {
	plan := rollout.Plan{Changes: make([]rollout.Change, 60), Remove: make([]rollout.Driver, 60), Evict: make([]rollout.Pod, 60)}
	if more := cut(&plan); !more || len(plan.Changes) != 60 || len(plan.Remove) != 40 || len(plan.Evict) != 0 {
		t.Errorf("%t: %d %d %d", more, len(plan.Changes), len(plan.Remove), len(plan.Evict))
	}
	if more := cut(&plan); more {
		t.Error("the rest is not all")
	}
}

// TestUsesGPU: a virtual machine with a GPU that is bound to vfio-pci needs no driver.
func TestUsesGPU(t *testing.T) {
	for name, want := range map[corev1.ResourceName]bool{"metax-tech.com/gpu": true, "metax-tech.com/sgpu": true, "metax-tech.com/vfio-gpu": false, "cpu": false} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{name: {}}}}}}}
		if usesGPU(p) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// TestEvictionLabels: an Eviction says what the chart's policies compare with the pod.
func TestEvictionLabels(t *testing.T) {
	for _, test := range []struct {
		pod  rollout.Pod
		want map[string]string
	}{
		{rollout.Pod{GPU: true, Managed: true}, map[string]string{"metax-ctk.io/evicts": "gpu-pod"}},
		{rollout.Pod{Managed: true}, map[string]string{"metax-ctk.io/evicts": "pod"}},
		{rollout.Pod{GPU: true}, map[string]string{"metax-ctk.io/evicts": "gpu-pod", "metax-ctk.io/evicts-alone": "true"}},
	} {
		var got *policyv1.Eviction
		u := &Upgrader{Log: slog.New(slog.DiscardHandler), Evict: func(_ context.Context, e *policyv1.Eviction) error {
			got = e
			return nil
		}}
		test.pod.UID = "u"
		if err := u.evict(t.Context(), test.pod, time.Now()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, got.Labels); d != "" || *got.DeleteOptions.Preconditions.UID != "u" {
			t.Errorf("%+v: %s", test.pod, d)
		}
	}
}
