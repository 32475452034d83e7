// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	"github.com/metax-ctk/container-toolkit/k8s/charts"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/controller"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/faults"
	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// fleet is a cluster whose nodes have no machine: a real API server, etcd, scheduler and
// DaemonSet controller, and in this process what kubelets and the driver's agents do. The
// clock of the operator stands unless tick moves it.
type fleet struct {
	*node
	clock  *testclock.FakeClock
	faults map[string]string // by node: "no pod", "never ready"
	out    int               // most nodes out of service at once, as seen
	most   int               // as many as may be, 0 for any
	bad    []string          // what must not happen
	jobs   map[string]bool   // pods with GPUs that nobody may end, by name
	lease  atomic.Int32
	// onFatal is what the operator does about lost GPUs; empty is nothing.
	onFatal faults.Mode
}

func newFleet(t *testing.T, nodes int) *fleet {
	t.Helper()
	f := &fleet{node: newNode(t, "c500-8"), clock: testclock.NewFakeClock(time.Now()), faults: map[string]string{}, jobs: map[string]bool{}}
	if err := f.Control(within(t), "daemonset-controller", "serviceaccount-controller", "disruption-controller"); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile("/tmp/crd.yaml", string(charts.CRD)); err != nil {
		t.Fatal(err)
	}
	f.must(t, "sh", "-ec", "kubectl create namespace "+namespace+"; kubectl apply --server-side -f /tmp/crd.yaml")
	wait(t, "the kinds", func(ctx context.Context) error { // kubectl waits for no condition that is not there yet
		_, err := f.Run(ctx, "kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=10s")
		return err
	})
	if err := parallel(nodes, func(i int) error { return f.join(within(t), fmt.Sprintf("gpu-%04d", i)) }); err != nil {
		t.Fatal(err)
	}
	return f
}

// join adds a node with GPUs and without a driver of its own.
func (f *fleet) join(ctx context.Context, name string) error {
	one := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		protocol.LabelInstalled: "true", protocol.LabelDriverHost: "false", protocol.LabelFamily: "MXC", "kubernetes.io/hostname": name,
	}}}
	made, err := f.Client.CoreV1().Nodes().Create(ctx, one, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	has := corev1.ResourceList{"pods": resource.MustParse("110"), "cpu": resource.MustParse("64"), "memory": resource.MustParse("1Ti"), gpuResource: resource.MustParse("8")}
	made.Status = corev1.NodeStatus{Capacity: has, Allocatable: has, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	if _, err = f.Client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	// The API server taints a new node, which a controller that is not there would take back.
	_, err = f.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"taints": null}}`), metav1.PatchOptions{})
	return err
}

// job runs a pod with a GPU on a node, which a controller would create again elsewhere, or
// not.
func (f *fleet) job(t *testing.T, name, node string, managed bool) {
	t.Helper()
	pod := probePod(name, 1, "pause")
	pod.Spec.NodeName, pod.Labels = node, map[string]string{"job": name}
	if managed {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "some", UID: "1", Controller: &yes}}
	}
	f.create(t, pod)
	pod.Namespace = metav1.NamespaceDefault
	if err := f.started(within(t), pod); err != nil { // no budget protects a pod that waits
		t.Fatal(err)
	}
}

// driverReport is what the driver's agent of a node says.
type driverReport struct {
	Ready bool   `json:"ready"`
	Pod   string `json:"pod"`
}

// lastReport returns the driver's report of a node, empty before the first one.
func lastReport(n *corev1.Node) driverReport {
	var said map[string]driverReport
	json.Unmarshal([]byte(n.Annotations[protocol.ReportsAnnotation]), &said)
	return said["driver"]
}

// tick lets two seconds pass, in which kubelets and agents do what is to be done. Where the
// API server is away, nothing happens.
func (f *fleet) tick(ctx context.Context) error {
	f.clock.Step(2 * time.Second)
	time.Sleep(20 * time.Millisecond) // controllers need some time
	pods, err := f.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := f.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	drivers, jobs, alive := map[string]*corev1.Pod{}, map[string]bool{}, map[string]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		at := p.Spec.NodeName
		if !strings.HasPrefix(at, "gpu-") {
			continue
		}
		if p.Namespace == namespace {
			drivers[at] = p
		} else {
			jobs[at] = true
			alive[p.Name] = p.DeletionTimestamp == nil
		}
	}
	for name := range f.jobs {
		if !alive[name] {
			f.bad = append(f.bad, "pod "+name+" was ended")
		}
	}
	out := 0
	var todo []func() error
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if !strings.HasPrefix(n.Name, "gpu-") {
			continue
		}
		now := lastReport(n)
		if n.Spec.Unschedulable || !now.Ready {
			out++
		}
		p := drivers[n.Name]
		switch {
		case p == nil:
		case p.DeletionTimestamp != nil:
			if jobs[n.Name] {
				f.bad = append(f.bad, "the driver pod of "+n.Name+" ends while a pod has its GPUs")
			}
			todo = append(todo, func() error { return f.kill(ctx, p) })
		case p.Status.Phase == corev1.PodPending && f.faults[n.Name] != "no pod":
			todo = append(todo, func() error { return f.started(ctx, p) })
		case p.Status.Phase == corev1.PodRunning && now.Pod != string(p.UID):
			ready := f.faults[n.Name] != "never ready"
			todo = append(todo, func() error { return f.report(ctx, n.Name, string(p.UID), ready) })
		}
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Namespace == metav1.NamespaceDefault && strings.HasPrefix(p.Spec.NodeName, "gpu-") && p.DeletionTimestamp != nil {
			todo = append(todo, func() error { return f.kill(ctx, p) })
		}
	}
	f.out = max(f.out, out)
	if f.most > 0 && out > f.most {
		f.bad = append(f.bad, fmt.Sprintf("%d nodes are out of service, more than %d", out, f.most))
	}
	return parallel(len(todo), func(i int) error { return todo[i]() })
}

func (f *fleet) kill(ctx context.Context, p *corev1.Pod) error {
	now := int64(0)
	err := f.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	return ignoreChanged(err)
}

func (f *fleet) started(ctx context.Context, p *corev1.Pod) error {
	_, err := f.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType,
		[]byte(`{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`), metav1.PatchOptions{}, "status")
	return ignoreChanged(err)
}

// report is what the agent of a driver says, by gpu-label.
func (f *fleet) report(ctx context.Context, node, pod string, ready bool) error {
	said := fmt.Sprintf(`{"driver": {"ready": %t, "pod": %q}}`, ready, pod)
	if !ready {
		said = fmt.Sprintf(`{"driver": {"ready": false, "reason": "LoadFailed", "message": "no memory", "pod": %q}}`, pod)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{protocol.ReportsAnnotation: said},
		"labels":      map[string]any{protocol.LabelDriverReady: fmt.Sprint(ready)},
	}})
	if err == nil {
		_, err = f.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return ignoreChanged(err)
}

// mortal is the way of one controller to the API server. It dies after so many writes, if that
// is not 0, and has a Lease of its own, so that of several controllers each takes itself for
// the leader.
type mortal struct {
	http.RoundTripper
	lease  string
	left   atomic.Int32
	writes *atomic.Int32
	die    func()
	dead   atomic.Bool
}

var errDead = errors.New("this controller is dead")

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	if strings.Contains(r.URL.Path, "/leases") {
		return m.renamed(r)
	}
	if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/events") {
		return m.RoundTripper.RoundTrip(r)
	}
	answer, err := m.RoundTripper.RoundTrip(r)
	m.writes.Add(1)
	if m.left.Add(-1) == 0 {
		m.dead.Store(true)
		m.die()
		return nil, errDead
	}
	return answer, err
}

func (m *mortal) renamed(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if base, ok := strings.CutSuffix(r.URL.Path, "/leases/"+protocol.Operator); ok { // afterwards it has the name of the answer
		r.URL.Path = base + "/leases/" + m.lease
	}
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte(`"name":"`+protocol.Operator+`"`), []byte(`"name":"`+m.lease+`"`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	return m.RoundTripper.RoundTrip(r)
}

// run starts a controller that dies after some writes, 0 for never, and counts its writes. It
// returns how to end it.
func (f *fleet) run(t *testing.T, writes *atomic.Int32, dies int32) (ended <-chan struct{}, end func()) {
	t.Helper()
	manifests, err := plan.NewManifests(charts.Extensions, charts.Operator, nil, "fleet", namespace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	config := rest.CopyConfig(f.Config)
	config.WrapTransport = func(to http.RoundTripper) http.RoundTripper {
		m := &mortal{RoundTripper: to, lease: fmt.Sprintf("%s-%d", protocol.Operator, f.lease.Add(1)), writes: writes, die: cancel}
		m.left.Store(dies)
		return m
	}
	config.ContentType = "application/json"
	done := make(chan struct{})
	go func() {
		defer close(done)
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		if os.Getenv("METAX_E2E_LOG") != "" {
			log = slog.New(slog.NewTextHandler(os.Stderr, nil))
		}
		err := controller.Run(ctx, config, controller.Options{
			Namespace: namespace, Health: "0", Metrics: "0", Manifests: manifests, Upgrades: true, OnFatal: f.onFatal, Log: log, Clock: f.clock,
		})
		if err != nil && ctx.Err() == nil {
			log.Error("a controller ended", "error", err) // such as without the API server
		}
	}()
	return done, sync.OnceFunc(func() { cancel(); <-done })
}
