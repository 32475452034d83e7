// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

// figuresVariable names the file that the figures go to; test/bench/run sets it.
const figuresVariable = "METAX_K8S_BENCH"

// record adds figures to the file, if there is one.
func record(t *testing.T, change func(*placement.Figures)) {
	t.Helper()
	if path := os.Getenv(figuresVariable); path != "" {
		if err := placement.Add(path, change); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScale measures what the extender costs a real scheduler as the nodes grow in number,
// each with 8 GPUs in a random state. It asserts that every question is answered and every pod
// placed, not how fast.
func TestScale(t *testing.T) {
	if !night {
		t.Skip("takes long: METAX_K8S_NIGHT=1")
	}
	record(t, func(f *placement.Figures) { f.Load = load(t) })
	n := newNode(t, "c500-8")
	// No kubelet will ever say that the nodes are ready, and the controllers would say so of
	// all, again and again.
	if err := n.Daemon("kube-controller-manager").Stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.RunAware(within(t)); err != nil {
		t.Fatal(err)
	}
	const instant = "127.0.0.1:8190"
	if err := n.RunInstant(within(t), instant); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(20, 4))
	steps := []int{100, 300, 1000, 5000}
	nodes := nodescoretest.Random(r, steps[len(steps)-1])
	for i, count := range steps {
		from := 0
		if i > 0 {
			from = steps[i-1]
		}
		if err := n.createNodes(t.Context(), nodes[from:count], func(int) string { return "scale" }); err != nil {
			t.Fatal(err)
		}
		f := placement.Nodes{Nodes: count}
		for round := range uint64(2) { // in turn, so that a slow minute meets both
			for _, address := range []string{cluster.AwareAddress, instant} {
				if err := n.Reschedule(within(t), schedulerConfig(address)); err != nil {
					t.Fatal(err)
				}
				got := n.scale(t, rand.New(rand.NewPCG(20, round)), "", "filter", "prioritize")
				if address == instant {
					f.Instant += got.Seconds
				} else {
					n.onBare(t, nodes[:count])
					f.Pods, f.Seconds, f.Memory = f.Pods+got.Pods, f.Seconds+got.Seconds, got.Memory
					f.Filter, f.Prioritize = f.Filter.Plus(got.Filter), f.Prioritize.Plus(got.Prioritize)
				}
				n.empty(t, "warm-", "pod-")
			}
		}
		if f.Prioritize.Count == 0 {
			t.Error("the scheduler did not ask")
		}
		t.Logf("%.0f %% of the pods a second with an extender that answers at once: %+v", 100*f.Instant/f.Seconds, f)
		record(t, func(all *placement.Figures) { all.Put(f) })
	}
}

// scaled is how many pods scale measures.
const scaled = 200

// scale creates pods for a scheduler all at once, and returns how long they wait for their nodes,
// and the answers of gpu-aware by these verbs meanwhile. It asserts that every question is
// answered.
func (n *node) scale(t *testing.T, r *rand.Rand, scheduler, filter, prioritize string) placement.Nodes {
	t.Helper()
	n.place(t, pods(r, "warm", 50, scheduler)) // the nodes are known, and so are their offers
	before := n.metrics(t)
	took := n.place(t, pods(r, "pod", scaled, scheduler))
	after := n.metrics(t)
	for _, verb := range []string{filter, prioritize} {
		if failed := after[fmt.Sprintf(`metax_gpu_aware_questions_total{result="error",verb=%q}`, verb)]; failed > 0 {
			t.Errorf("%v questions by %s were not answered", failed, verb)
		}
	}
	return placement.Nodes{
		Pods: scaled, Seconds: took.Seconds(), Memory: n.memory(t, cluster.Aware),
		Filter: answers(before, after, filter), Prioritize: answers(before, after, prioritize),
	}
}

// load is the load average of the last minute.
func load(t *testing.T) (average float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &average)
	}
	if err != nil {
		t.Fatal(err)
	}
	return average
}

// pods are pods of one or two GPUs for a scheduler, the cluster's own if it is empty.
func pods(r *rand.Rand, name string, count int, scheduler string) (list []*corev1.Pod) {
	for i := range count {
		pod := gpuPod(fmt.Sprint(name, "-", i), 1+r.IntN(2), "scale")
		pod.Spec.SchedulerName = scheduler
		list = append(list, pod)
	}
	return list
}

// place creates pods all at once, and returns how long it took until the last of them had a
// node.
func (n *node) place(t *testing.T, list []*corev1.Pod) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	began := time.Now()
	if err := parallel(len(list), func(i int) error {
		_, err := n.pods().Create(ctx, list[i], metav1.CreateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Eventually(ctx, func(ctx context.Context) error {
		waiting, err := n.pods().List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
		if err == nil && len(waiting.Items) > 0 {
			err = fmt.Errorf("%d of %d pods have no node: %s", len(waiting.Items), len(list), state(&waiting.Items[0]))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// empty deletes the pods whose names begin so, at once: no kubelet ends them.
func (n *node) empty(t *testing.T, prefixes ...string) {
	t.Helper()
	list, err := n.pods().List(within(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range list.Items {
		for _, prefix := range prefixes {
			if strings.HasPrefix(pod.Name, prefix) {
				names = append(names, pod.Name)
			}
		}
	}
	if err := parallel(len(names), func(i int) error { return n.end(within(t), names[i]) }); err != nil {
		t.Fatal(err)
	}
}

// memory is how much memory of their own the processes of a program on the node have together,
// in bytes.
func (n *node) memory(t *testing.T, program string) (sum int64) {
	t.Helper()
	// The kernel keeps 15 characters of a name.
	text := n.must(t, "bash", "-c", `for p in /proc/[0-9]*; do
  if [[ $(cat $p/comm 2>/dev/null) = "`+program[:min(15, len(program))]+`" ]]; then sed -n 's/^RssAnon:\s*\(.*\) kB/\1/p' $p/status; fi
done`)
	for word := range strings.FieldsSeq(text) {
		kib, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatalf("read the memory of %s: %v", program, err)
		}
		sum += kib << 10
	}
	if sum == 0 {
		t.Fatalf("%s does not run", program)
	}
	return sum
}

// answers are what happened to a histogram of the extender in between.
func answers(before, after map[string]float64, verb string) (a placement.Answers) {
	const name = "metax_gpu_aware_answer_seconds"
	grown := func(suffix, labels string) float64 {
		key := name + suffix + "{" + labels + "}"
		return after[key] - before[key]
	}
	own := fmt.Sprintf("verb=%q", verb)
	a.Count, a.Seconds = int(grown("_count", own)), grown("_sum", own)
	for _, bound := range []string{"0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"} {
		seconds, _ := strconv.ParseFloat(bound, 64)
		a.Within = append(a.Within, placement.Within{Seconds: seconds, Count: int(grown("_bucket", own+`,le="`+bound+`"`))})
	}
	return a
}
