// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// lossy is a cluster in which GPUs get lost. Its clock stands.
type lossy struct {
	*Faults
	now     time.Time
	evicted []string
	kept    map[string]bool // by a budget
}

func newLossy(t *testing.T, mode faults.Mode, nodes int, pods ...client.Object) *lossy {
	t.Helper()
	for i := range nodes {
		pods = append(pods, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{protocol.LabelInstalled: "true"}}})
	}
	c := cluster(t, &v1alpha1.ClusterOperator{}, interceptor.Funcs{}, pods...).Client
	l := &lossy{now: time.Unix(1000, 0), kept: map[string]bool{}}
	l.Faults = &Faults{Client: c, Pods: c, Mode: mode, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return l.now }}
	l.Evict = func(ctx context.Context, e *policyv1.Eviction) error {
		if l.kept[e.Name] {
			return apierrors.NewTooManyRequests("a budget", 0)
		}
		l.evicted = append(l.evicted, e.Name)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}}
		return c.Delete(ctx, pod, client.Preconditions{UID: e.DeleteOptions.Preconditions.UID})
	}
	return l
}

// gpuPod is a pod with a GPU on a node.
func gpuPod(name string, node int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.NodeName = fmt.Sprintf("n%d", node)
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{protocol.Resource: {}}}}}
	return p
}

// publish makes the device plugin of a node say which pods have a lost GPU; none without
// names.
func (l *lossy) publish(t *testing.T, node int, pods ...string) {
	t.Helper()
	n := &corev1.Node{}
	if err := l.Client.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("n%d", node)}, n); err != nil {
		t.Fatal(err)
	}
	n.Annotations = nil
	if len(pods) > 0 {
		f := protocol.Fault{UUID: gpu.UUID(fmt.Sprintf("GPU-%d", node)), Code: "missing"}
		for _, name := range pods {
			f.Pods = append(f.Pods, protocol.PodName{Namespace: "jobs", Name: name, UID: "uid-" + name})
		}
		n.Annotations = map[string]string{protocol.FaultsAnnotation: protocol.Faults{f}.String()}
	}
	if err := l.Client.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass in looks.
func (l *lossy) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for end := l.now.Add(d); l.now.Before(end); l.now = l.now.Add(faults.Pace) {
		if _, err := l.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lossy) taint(t *testing.T, node string) string {
	t.Helper()
	n := &corev1.Node{}
	if err := l.Client.Get(t.Context(), client.ObjectKey{Name: node}, n); err != nil {
		t.Fatal(err)
	}
	for _, taint := range n.Spec.Taints {
		return fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
	}
	return ""
}

// TestOnFatal: of two pods on a node, the one with the lost GPU goes, when its budget lets it;
// no pod that only says that it has it, and none that a record must not name.
func TestOnFatal(t *testing.T) {
	liar, other, plain, mirror, successor := gpuPod("liar", 0), gpuPod("other", 1), gpuPod("plain", 0), gpuPod("mirror", 0), gpuPod("successor", 0)
	liar.Annotations = map[string]string{protocol.GivenAnnotation: "GPU-0", protocol.GPUsAnnotation: "GPU-0"}
	plain.Spec.Containers = []corev1.Container{{}}
	yes := true
	mirror.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "n0", Controller: &yes}}
	successor.UID = "another"
	l := newLossy(t, faults.Evict, 2, gpuPod("victim", 0), gpuPod("neighbour", 0), liar, other, plain, mirror, successor)
	l.kept["victim"] = true
	l.publish(t, 0, "victim", "other", "plain", "mirror", "successor", "gone")
	l.pass(t, 3*time.Minute)
	if len(l.evicted) != 0 {
		t.Errorf("against a budget: %q", l.evicted)
	}
	if got, want := l.taint(t, "n0"), "metax-tech.com/gpu-fatal=missing:NoSchedule"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.kept["victim"] = false
	l.pass(t, 3*time.Minute)
	if diff := cmp.Diff([]string{"victim"}, l.evicted); diff != "" {
		t.Error(diff)
	}
	l.publish(t, 0)
	l.pass(t, time.Second)
	if got := l.taint(t, "n0") + l.taint(t, "n1"); got != "" {
		t.Errorf("the GPU is back, and there is %q", got)
	}
}

// TestOnFatalModes: without the mode, nothing is evicted and an old taint goes, as with the
// ClusterOperator.
func TestOnFatalModes(t *testing.T) {
	for mode, want := range map[faults.Mode]string{faults.None: "", faults.Taint: "metax-tech.com/gpu-fatal=missing:NoSchedule"} {
		l := newLossy(t, mode, 1, gpuPod("victim", 0))
		l.publish(t, 0, "victim")
		l.pass(t, 5*time.Minute)
		if got := l.taint(t, "n0"); got != want || len(l.evicted) != 0 {
			t.Errorf("%s: %q, evicted %q", mode, got, l.evicted)
		}
		l.Mode = faults.None
		l.pass(t, time.Second)
		if got := l.taint(t, "n0"); got != "" {
			t.Errorf("%s, then none: %q", mode, got)
		}
	}
	l := newLossy(t, faults.Taint, 1)
	l.publish(t, 0, "victim")
	l.pass(t, time.Second)
	for _, want := range []bool{false, true} {
		if done, err := l.Release(t.Context()); err != nil || done != want {
			t.Errorf("released %t, %v", done, err)
		}
	}
	if got := l.taint(t, "n0"); got != "" {
		t.Errorf("after the ClusterOperator there is %q", got)
	}
}

// TestOnFatalCrowd: of 500 pods with GPUs, those that have a lost one go, and no other,
// however often GPUs are lost and come back; never more than one in ten seconds.
func TestOnFatalCrowd(t *testing.T) {
	var pods []client.Object
	lost := map[string]bool{}
	for i := range 500 {
		p := gpuPod(fmt.Sprintf("p%03d", i), i/25)
		p.Annotations = map[string]string{protocol.GivenAnnotation: "GPU-0"}
		pods = append(pods, p)
	}
	l := newLossy(t, faults.Evict, 20, pods...)
	for round := range 2 {
		for node := range 6 {
			name := fmt.Sprintf("p%03d", node*75+round)
			lost[name] = true
			l.publish(t, node*3, name)
		}
		before := len(l.evicted)
		l.pass(t, faults.Settle+6*faults.Pace)
		if n := len(l.evicted) - before; n != 6 {
			t.Errorf("round %d: %d evicted, want 6", round, n)
		}
		before = len(l.evicted)
		for node := range 6 { // for a moment
			l.publish(t, node*3+1, fmt.Sprintf("p%03d", node*75+25))
			l.publish(t, node*3)
		}
		l.pass(t, 30*time.Second)
		for node := range 6 {
			l.publish(t, node*3+1)
		}
		if len(l.evicted) != before {
			t.Errorf("a GPU that came back: %q", l.evicted[before:])
		}
	}
	for _, name := range l.evicted {
		if !lost[name] {
			t.Errorf("%s has a good GPU", name)
		}
	}
	if slices.Sort(l.evicted); len(slices.Compact(l.evicted)) != 12 {
		t.Errorf("%d evicted, want 12", len(l.evicted))
	}
}

// TestOnFatalInvalid: for a record that cannot be read, no node is tainted and no pod evicted.
func TestOnFatalInvalid(t *testing.T) {
	l := newLossy(t, faults.Evict, 1, gpuPod("victim", 0))
	l.publish(t, 0, "Victim/../x")
	l.pass(t, 3*time.Minute)
	if got := l.taint(t, "n0"); got != "" || len(l.evicted) != 0 {
		t.Errorf("%q, evicted %q", got, l.evicted)
	}
}
