// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// hamiGang has a gang of 16 pods with a slice each, which fill one GPU. Coscheduling lets all
// be bound in one moment, after HAMi has chosen for each: so does the end of a lock that names
// no pod. HAMi asks for the lock 28 s long for each, as for every pod with the label of a
// PodGroup; then its pod begins anew.
func (n *node) hamiGang(t *testing.T) {
	const size = 16
	n.annotate(t, cluster.NodeName, hamiLock, time.Now().UTC().Format(time.RFC3339))
	var names, want []string
	for i := range size {
		pod := hamiPod(fmt.Sprint("gang-", i), "1/6/4")
		pod.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "gang"}
		pod.Annotations = map[string]string{"metax-tech.com/use-gpuuuid": n.gpus[2].UUID, qosPolicy: "best-effort"} // as HAMi's webhook has it
		n.create(t, pod)
		names, want = append(names, pod.Name), append(want, "6/4096")
	}
	for _, name := range names {
		wait(t, "HAMi's choice for pod "+name, func(ctx context.Context) error {
			pod, err := n.pods().Get(ctx, name, metav1.GetOptions{})
			if err == nil && pod.Annotations["hami.io/vgpu-node"] == "" {
				err = fmt.Errorf("%s", state(pod))
			}
			return err
		})
	}
	began, held := time.Now(), n.watchLock(t)
	n.annotate(t, cluster.NodeName, hamiLock, nil)
	for _, name := range names {
		n.phase(t, name, corev1.PodRunning)
		n.bindPhase(t, name, "success")
	}
	n.unlocked(t)
	n.sliced(t, want...)
	took := time.Since(began)
	locks := held()
	if len(locks) < size {
		t.Errorf("the node was locked %d times for %d pods", len(locks), size)
	}
	text, err := os.ReadFile(n.Path("/var/log/" + cluster.HAMi + ".log"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(locks)
	t.Logf("%d pods ran after %v; %d locks of %v, in the middle %v, at most %v; given up by HAMi: %d", size, took, len(locks),
		locks[0], locks[len(locks)/2], locks[len(locks)-1], strings.Count(string(text), `"Failed to lock node"`))
	for _, name := range names {
		n.remove(t, name)
	}
	n.sliced(t)
}

// watchLock follows the lock of the node, and returns a function that ends this and returns how
// long each pod had it.
func (n *node) watchLock(t *testing.T) func() []time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := n.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", cluster.NodeName).String()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []time.Duration)
	go func() {
		var held []time.Duration
		lock, since := "", time.Time{}
		for e := range events.ResultChan() {
			object, ok := e.Object.(*corev1.Node)
			if !ok {
				continue
			}
			if now := object.Annotations[hamiLock]; now != lock {
				if strings.Contains(lock, ",") {
					held = append(held, time.Since(since).Round(time.Millisecond))
				}
				lock, since = now, time.Now()
			}
		}
		done <- held
	}()
	return func() []time.Duration {
		cancel()
		events.Stop()
		return <-done
	}
}
