// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/test/report"
)

// sliceStorm lets pods with slices of random size and class come and go, through HAMi, while
// one part after the other fails. All the time, no GPU has more slices than fit on it, and
// those of one class.
func (n *node) sliceStorm(t *testing.T) {
	count := 40
	if night {
		count = 200
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { n.watchGPUs(t, done) })
	names := make(chan string)
	var mutex sync.Mutex
	refused, failures := map[string]int{}, []string{}
	// A kubelet that is killed after the plugin's answer and before its own record of it asks
	// again when it starts. The lock of the pod is released then, or names the next one, of
	// which it may be asking also. A kubelet admits one pod after the other.
	forgotten := 0
	// HAMi reads the classes of GPUs every 15 s. Where it read one in the moment between two
	// pods, while a part was away, it chooses a GPU whose slices have another class, which the
	// plugin has to refuse.
	outdated := 0
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for name := range names {
				reason, err := n.comesAndGoes(t.Context(), 2*patience, randomSlices(name))
				mutex.Lock()
				if err != nil && (strings.Contains(err.Error(), "no scheduler has locked the node") || strings.Contains(err.Error(), "also waits for slices on this node")) {
					forgotten++
				} else if err != nil && strings.Contains(err.Error(), "has slices of the class") {
					outdated++
				} else if err != nil {
					failures = append(failures, fmt.Sprintf("pod %s: %v", name, err))
				} else if reason != "" {
					refused[reason]++
				}
				mutex.Unlock()
			}
		})
	}
	faults := []func(*node, *testing.T){
		(*node).killPlugin, (*node).killKubelet, (*node).removeSockets, (*node).killReader, (*node).withoutAPI,
		func(n *node, t *testing.T) { n.stopAPI(t, func() { time.Sleep(5 * time.Second) }) },
	}
	for i := range count {
		if every := count / (len(faults) + 1); i%every == every-1 && i/every < len(faults) {
			faults[i/every](n, t)
		}
		names <- fmt.Sprint("storm-", i)
	}
	close(names)
	workers.Wait()
	close(done)
	watching.Wait()
	for _, failure := range failures {
		t.Error(failure)
	}
	t.Logf("%d pods; refused by the kubelet itself: %v; forgotten by a kubelet that was killed: %d; on a GPU of another class: %d", count, refused, forgotten, outdated)
	if outdated > 2 {
		t.Errorf("%d pods came to a GPU of another class", outdated)
	}
	if forgotten > 2 {
		t.Errorf("%d pods had no lock of their own; the kubelet was killed once", forgotten)
	}
	ran, err := filepath.Glob(n.Path(churnDir) + "/" + report.Held + "*")
	if err != nil || len(ran) == 0 {
		t.Errorf("no pod ran: %v", err)
	}
	if twice, _ := filepath.Glob(n.Path(churnDir) + "/" + report.Violation + "*"); len(twice) > 0 {
		t.Errorf("two pods have one whole GPU: %q", twice)
	}
	n.unlocked(t)
	n.sliced(t)
}

// randomSlices is a pod that runs for less than half a second. One in six has a whole GPU.
func randomSlices(name string) *corev1.Pod {
	text := fmt.Sprintf("%d/%d/%d", 1+rand.IntN(2), 5+rand.IntN(60), 1+rand.IntN(40))
	if rand.IntN(6) == 0 {
		text = "1/100/0"
	}
	pod := hamiPod(name, text)
	pod.Annotations = map[string]string{qosPolicy: []string{"best-effort", "fixed-share", "burst-share"}[rand.IntN(3)]}
	pod.Spec.Containers[0].Command = []string{"/probe", "hold", name, fmt.Sprint(rand.IntN(400), "ms")}
	pod.Spec.Volumes[0].HostPath.Path = churnDir
	return pod
}

const qosPolicy = "metax-tech.com/sgpu-qos-policy"

// killReader kills the process that makes and removes slices.
func (n *node) killReader(t *testing.T) {
	t.Helper()
	n.must(t, "pkill", "-KILL", "-f", "^/metax-gpu-device health")
}

// watchGPUs looks, until done, at the slices in the driver and at those of the pods that run.
func (n *node) watchGPUs(t *testing.T, done <-chan struct{}) {
	said := map[string]bool{}
	complain := func(format string, a ...any) {
		if text := fmt.Sprintf(format, a...); !said[text] {
			said[text] = true
			t.Error(text)
		}
	}
	for {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
		all, err := n.slices()
		if err != nil {
			complain("%v", err)
		}
		used := make([]slice, len(n.gpus))
		for _, s := range all {
			used[s.gpu].compute += s.compute
			used[s.gpu].memory += s.memory
		}
		n.check(used, "in the driver", complain)
		pods, err := n.pods().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			continue // the API server is away
		}
		used = make([]slice, len(n.gpus))
		classes := make([]string, len(n.gpus))
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodRunning {
				continue
			}
			for _, s := range n.chosenSlices(t, &pod) {
				used[s.gpu].compute += s.compute
				used[s.gpu].memory += s.memory
				if class := pod.Annotations[qosPolicy]; s.compute < 100 {
					if classes[s.gpu] != "" && classes[s.gpu] != class {
						complain("GPU %d has slices of %s and %s", s.gpu, classes[s.gpu], class)
					}
					classes[s.gpu] = class
				}
			}
		}
		n.check(used, "by its pods", complain)
	}
}

// check complains about GPUs of which more is used than they have.
func (n *node) check(used []slice, where string, complain func(string, ...any)) {
	for i, u := range used {
		if u.compute > 100 || u.memory > 65536 {
			complain("GPU %d has slices of %d percent and %d MiB %s", i, u.compute, u.memory, where)
		}
	}
}

// chosenSlices are the slices that a scheduler chose for a pod.
func (n *node) chosenSlices(t *testing.T, pod *corev1.Pod) (all []slice) {
	t.Helper()
	var lists [][]struct {
		UUID          string
		Compute, VRAM int
	}
	if err := json.Unmarshal([]byte(pod.Annotations["metax-tech.com/gpu-devices-allocated"]), &lists); err != nil {
		t.Errorf("pod %s: %v", pod.Name, err)
	}
	for _, s := range slices.Concat(lists...) {
		at := slices.IndexFunc(n.gpus, func(g gpu) bool { return strings.EqualFold(g.UUID, s.UUID) })
		if at < 0 {
			t.Errorf("pod %s has a slice of %s", pod.Name, s.UUID)
			continue
		}
		all = append(all, slice{at, s.Compute, s.VRAM})
	}
	return all
}
