// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

// TestChurn lets pods come and go while one part after the other fails. A pod takes a kernel
// lock for each of its GPUs, so a GPU with two owners is noticed even if that lasts only a
// moment. At the end, one pod gets all GPUs: none is lost.
func TestChurn(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t)
	count := 60
	if night {
		count = 500
	}
	sizes := []int{1, 1, 2, 2, 4, 8}
	// Small pods go before a pod that needs the whole node, as long as they come.
	wait := 2*patience + time.Duration(count)*2*time.Second
	names := make(chan string)
	var mutex sync.Mutex
	refused := map[string]int{} // pods that the kubelet itself had to refuse, by reason
	var failures []string
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for name := range names {
				reason, err := n.passes(t.Context(), wait, name, sizes[rand.IntN(len(sizes))])
				mutex.Lock()
				if err != nil {
					failures = append(failures, fmt.Sprintf("pod %s: %v", name, err))
				} else if reason != "" {
					refused[reason]++
				}
				mutex.Unlock()
			}
		})
	}
	faults := []func(*node, *testing.T){
		(*node).killPlugin, (*node).killKubelet, (*node).removeSockets, (*node).withoutAPI, (*node).takeResource,
		(*node).fall, (*node).overlap,
	}
	for i := range count {
		if every := count / (len(faults) + 1); i%every == every-1 && i/every < len(faults) {
			faults[i/every](n, t)
		}
		names <- fmt.Sprintf("pod-%d", i)
	}
	close(names)
	workers.Wait()
	for _, failure := range failures {
		t.Error(failure)
	}
	t.Logf("%d pods; refused by the kubelet itself: %v", count, refused)
	entries, err := os.ReadDir(n.Path(churnDir))
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), report.Violation) {
			text, _ := os.ReadFile(n.Path(path.Join(churnDir, entry.Name())))
			t.Errorf("a GPU has two owners: %s", text)
		}
		if strings.HasPrefix(entry.Name(), report.Held) {
			held++
		}
	}
	if held == 0 {
		t.Error("no pod found a GPU")
	}
	n.allocatable(t, len(n.gpus))
	if seen := n.seen(t, n.look(t, "all", len(n.gpus))); len(seen) != len(n.gpus) {
		t.Errorf("at the end a pod gets the GPUs %d, want all", seen)
	}
}

// churnDir is the directory of the node that all pods of TestChurn report to.
const churnDir = reports + "/churn"

// passes runs a pod with GPUs to its end and deletes it, as comesAndGoes says.
func (n *node) passes(ctx context.Context, wait time.Duration, name string, gpus int) (refused string, err error) {
	pod := probePod(name, gpus, "hold", name, fmt.Sprint(rand.IntN(400), "ms"))
	pod.Spec.Volumes[0].HostPath.Path = churnDir
	return n.comesAndGoes(ctx, wait, pod)
}

// comesAndGoes runs a pod to its end and deletes it. It returns the reason if the kubelet
// refused the pod, which it has to while it does not know the GPUs, or "cut" if it was killed
// meanwhile. It waits no longer than that.
func (n *node) comesAndGoes(ctx context.Context, wait time.Duration, pod *corev1.Pod) (refused string, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	name := pod.Name
	// The API server may be away, and may have done what it did not answer.
	again := func(do func() error) error {
		return cluster.Eventually(ctx, func(context.Context) error { return do() })
	}
	err = again(func() error {
		_, err := n.pods().Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return "", err
	}
	ended := []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}
	err = again(func() (err error) {
		if pod, err = n.pods().Get(ctx, name, metav1.GetOptions{}); err == nil && !slices.Contains(ended, pod.Status.Phase) {
			err = fmt.Errorf("it is %s: %s", pod.Status.Phase, state(pod))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if pod.Status.Phase == corev1.PodFailed {
		if refused = pod.Status.Reason; isCut(pod) {
			refused = "cut"
		} else if !isRefused(pod) {
			return "", fmt.Errorf("it failed: %s", state(pod))
		}
	}
	return refused, again(func() error {
		err := n.pods().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
