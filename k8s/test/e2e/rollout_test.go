// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func ignoreChanged(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// request makes the ClusterOperator have a driver and a policy.
func (f *fleet) request(t *testing.T, version, policy string) {
	t.Helper()
	object := `{apiVersion: gpu.metax-tech.com/v1alpha1, kind: ClusterOperator, metadata: {name: cluster-operator}, spec: {labelgen: {deploy: false},
  devicePlugin: {deploy: false}, driver: {deployPolicy: PreferCloud, payload: {version: "` + version + `"}, upgradePolicy: ` + policy + `}}}`
	if err := f.WriteFile("/tmp/operator.yaml", object); err != nil {
		t.Fatal(err)
	}
	f.must(t, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "/tmp/operator.yaml")
}

// upgraded says what is missing until all nodes have a ready driver and are in service.
func (f *fleet) upgraded(ctx context.Context, version string, byHand ...string) error {
	said, err := f.Run(ctx, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", "jsonpath={.status.driverUpgrade.reason} {.status.driverUpgrade.message} {.status.driverUpgrade.nodes}")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(said, "Upgraded ") || !strings.Contains(said, "have the driver "+version) || strings.HasSuffix(said, "]") {
		return fmt.Errorf("the status says %s", said)
	}
	pods, err := f.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if image := p.Spec.InitContainers[1].Image; !strings.HasSuffix(image, ":"+version) {
			return fmt.Errorf("the driver of %s is %s", p.Spec.NodeName, image)
		}
	}
	nodes, err := f.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		if n.Spec.Unschedulable != slices.Contains(byHand, n.Name) {
			return fmt.Errorf("%s is cordoned: %t", n.Name, n.Spec.Unschedulable)
		}
		if strings.HasPrefix(n.Name, "gpu-") && !lastReport(&n).Ready { // its first driver counts before
			return fmt.Errorf("the driver of %s is not ready", n.Name)
		}
	}
	return nil
}

// until ticks until nothing is missing. It fails if something happened that must not.
func (f *fleet) until(t *testing.T, ticks int, what string, missing func(context.Context) error) {
	t.Helper()
	var err error
	for i := range ticks {
		if tick := f.tick(t.Context()); tick != nil {
			err = tick
			time.Sleep(100 * time.Millisecond) // the API server is away
		} else if i%10 == 9 {
			if err = missing(t.Context()); err == nil {
				return
			}
		}
		if len(f.bad) > 0 {
			t.Fatalf("%s: %s", what, strings.Join(slices.Compact(f.bad), "; "))
		}
	}
	t.Fatalf("%s: after %d ticks, %v", what, ticks, err)
}

// unsteady keeps controllers running of which each ends after some writes, until it is
// stopped.
func (f *fleet) unsteady(t *testing.T, controllers int, writes *atomic.Int32, dies func() int32) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var died atomic.Int32
	for range controllers {
		all.Go(func() {
			for ctx.Err() == nil {
				ended, end := f.run(t, writes, dies())
				select {
				case <-ctx.Done():
				case <-ended:
					died.Add(1)
				}
				end()
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait(); t.Logf("%d controllers ended in the middle", died.Load()) })
}

// TestRollout rolls drivers out over 50 nodes of a real API server: with failures in each
// state, two leaders that both end again and again, and an API server that is away; then with
// a controller that ends at each single write.
func TestRollout(t *testing.T) {
	t.Parallel()
	const size = 50
	f := newFleet(t, size)
	name := func(i int) string { return fmt.Sprintf("gpu-%04d", i) }
	var writes atomic.Int32
	random := rand.New(rand.NewPCG(21, 50))
	var lock sync.Mutex
	soon := func() int32 { lock.Lock(); defer lock.Unlock(); return 5 + random.Int32N(40) }

	const policy = "{enableRollout: true, maxUnavailable: 20%, maxParallel: 8, maxFailureThreshold: 50, upgradeSteps: [{replicas: 1, pauseDuration: 60000}, {replicas: 100%}], waitForCompletion: {timeoutSeconds: 120}, podDeletion: {enable: true, timeoutSeconds: 60}}"
	f.request(t, "1", policy)
	_, end := f.run(t, &writes, 0)
	f.until(t, 300, "the first driver", func(ctx context.Context) error { return f.upgraded(ctx, "1") })
	end()

	// A pod that ends by itself or is evicted, one that a budget or nobody protects, a
	// person's cordon, no new pod, and a driver that does not load.
	for i := range 6 {
		f.job(t, fmt.Sprint("evicted-", i), name(i), true)
	}
	f.job(t, "alone", name(6), false)
	f.job(t, "budget", name(7), true)
	f.jobs["alone"], f.jobs["budget"] = true, true
	none := intstr.FromInt32(0)
	if _, err := f.Client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"job": "budget"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.must(t, "kubectl", "cordon", name(8))
	f.faults[name(9)], f.faults[name(10)] = "no pod", "never ready"

	f.out, f.most = 0, size/5
	f.request(t, "2", policy)
	stop := f.unsteady(t, 2, &writes, soon)
	defer stop()
	nodesDone := func(want int) func(context.Context) error {
		return func(ctx context.Context) error {
			pods, err := f.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
			done := 0
			for _, p := range pods.Items {
				if strings.HasSuffix(p.Spec.InitContainers[1].Image, ":2") {
					done++
				}
			}
			if err == nil && done < want {
				err = fmt.Errorf("%d nodes have the new driver pod", done)
			}
			return err
		}
	}
	f.until(t, 2000, "some nodes", nodesDone(15))
	api := f.Daemon("kube-apiserver")
	if err := api.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		f.tick(t.Context())
	}
	if err := api.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	f.until(t, 4000, "all but those that fail", nodesDone(size-2))
	f.until(t, 2000, "the failures", func(ctx context.Context) error {
		said, err := f.Run(ctx, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", "jsonpath={.status.driverUpgrade.reason}: {.status.driverUpgrade.message}")
		if err == nil && !strings.Contains(said, "4 failed") {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	})
	t.Logf("at most %d of %d nodes were out of service, %d may be; %d writes so far", f.out, size, f.most, writes.Load())

	// The causes go, and what failed before anything was changed is tried again by a person.
	f.faults = map[string]string{}
	f.jobs = map[string]bool{}
	for _, job := range []string{"alone", "budget"} {
		f.must(t, "kubectl", "delete", "pod", job, "--grace-period=0", "--force")
	}
	for _, i := range []int{6, 7} {
		f.must(t, "kubectl", "annotate", "node", name(i), protocol.UpgradeAnnotation+"-")
	}
	if err := f.report(t.Context(), name(10), "", false); err != nil { // its agent looks again
		t.Fatal(err)
	}
	f.until(t, 3000, "the end", func(ctx context.Context) error { return f.upgraded(ctx, "2", name(8)) })
	stop()

	// Few nodes, and a controller that ends at each write. Only idle nodes may be upgraded.
	for i := 4; i < size; i++ {
		if err := f.Client.CoreV1().Nodes().Delete(t.Context(), name(i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.Client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name(i)})
	}
	f.job(t, "works", name(3), true)
	f.jobs["works"], f.most = true, 0
	before := writes.Load()
	f.request(t, "3", "{enableRollout: true, podDeletion: {enable: true}, drain: {enable: true}}")
	stop = f.unsteady(t, 1, &writes, func() int32 { return 1 })
	f.until(t, 4000, "idle nodes", func(ctx context.Context) error {
		said, err := f.Run(ctx, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", "jsonpath={.status.driverUpgrade.reason}: {.status.driverUpgrade.message}")
		if err == nil && said != "Waiting: 3 of 4 nodes have the driver 3; no further node: pods use their GPUs: "+name(3) {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	})
	delete(f.jobs, "works")
	f.must(t, "kubectl", "delete", "pod", "works", "--grace-period=0", "--force")
	f.until(t, 4000, "the last node", func(ctx context.Context) error { return f.upgraded(ctx, "3") })
	stop()
	t.Logf("a controller ended at each of %d writes", writes.Load()-before)
}
