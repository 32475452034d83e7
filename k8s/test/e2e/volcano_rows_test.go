// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// volcanoGang runs the example.
func (n *node) volcanoGang(t *testing.T) {
	n.vcjob(t, "gang", 2, 4, nil)
	n.domains(t, "gang", 2)
	n.deleteJobs(t, "gang")
}

// volcanoPodGroup has pods of a PodGroup instead of a job.
func (n *node) volcanoPodGroup(t *testing.T) {
	n.createYAML(t, map[string]any{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": map[string]any{"name": "pair", "namespace": metav1.NamespaceDefault},
		"spec": map[string]any{"minMember": 2, "queue": "default"},
	})
	names := []string{"pair-0", "pair-1"}
	for i, name := range names {
		pod := volcanoPod(name, 4)
		pod.Annotations = map[string]string{"scheduling.k8s.io/group-name": "pair"}
		pod.Labels = map[string]string{"volcano.sh/job-name": "pair"}
		n.create(t, pod)
		if i == 0 {
			n.waits(t, "pair")
		}
	}
	n.domains(t, "pair", 2)
	for _, name := range names {
		n.remove(t, name)
	}
	n.must(t, "kubectl", "delete", "podgroups.scheduling.volcano.sh", "pair")
	n.clean(t)
}

// volcanoWhole has a job of 4 × 4 GPUs, for which the node alone is too small, and then a second
// node.
func (n *node) volcanoWhole(t *testing.T) {
	n.vcjob(t, "whole", 4, 4, nil)
	n.waits(t, "whole")
	n.bareOf(t, "second")
	at := map[string][]string{}
	for name, node := range n.placed(t, "whole", 4) {
		at[node] = append(at[node], name)
	}
	if len(at[cluster.NodeName]) != 2 || len(at["second"]) != 2 {
		t.Errorf("the pods are on %v", at)
	}
	n.must(t, "kubectl", "delete", "jobs.batch.volcano.sh", "--wait", "whole")
	for _, name := range at["second"] { // no kubelet ends them
		if err := n.end(within(t), name); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	n.must(t, "kubectl", "delete", "node", "second")
	n.clean(t)
}

// volcanoNever has jobs that no node can ever serve. They wait, and others go on.
func (n *node) volcanoNever(t *testing.T) {
	n.vcjob(t, "nine", 1, 9, nil)
	n.vcjob(t, "three", 3, 4, nil)
	n.waits(t, "nine")
	n.waits(t, "three")
	n.vcjob(t, "small", 2, 4, nil)
	n.domains(t, "small", 2)
	n.deleteJobs(t, "nine", "three", "small")
}

// volcanoRace has two jobs that both need the whole node: one gets it, the other waits as a
// whole until it ends.
func (n *node) volcanoRace(t *testing.T) {
	jobs := []string{"left", "right"}
	for _, job := range jobs {
		n.vcjob(t, job, 2, 4, nil)
	}
	wait(t, "the first job", func(ctx context.Context) error {
		for i, job := range jobs {
			at, err := n.placedOf(ctx, job)
			if err != nil {
				return err
			}
			if slices.Contains(valuesOf(at), cluster.NodeName) {
				jobs[0], jobs[1] = jobs[i], jobs[1-i]
				return nil
			}
		}
		return errors.New("no pod of a job has a node")
	})
	n.domains(t, jobs[0], 2)
	n.waits(t, jobs[1])
	n.must(t, "kubectl", "delete", "jobs.batch.volcano.sh", "--wait", jobs[0])
	n.domains(t, jobs[1], 2)
	n.deleteJobs(t, jobs[1])
}

// volcanoQueues has a queue that may use four GPUs, and then two that share the node: what one
// has beyond its share is reclaimed for the other.
func (n *node) volcanoQueues(t *testing.T) {
	queue := func(name string, spec map[string]any) any {
		return map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": map[string]any{"name": name}, "spec": spec}
	}
	in := func(name string) func(map[string]any) {
		return func(spec map[string]any) { spec["queue"] = name }
	}
	n.createYAML(t, queue("four", map[string]any{"weight": 1, "capability": map[string]any{gpuResource: "4"}}),
		queue("a", map[string]any{"weight": 1, "reclaimable": true}), queue("b", map[string]any{"weight": 1, "reclaimable": true}))
	// The webhook takes jobs only for a queue that the controllers have opened.
	n.must(t, "kubectl", "wait", "--for=jsonpath={.status.state}=Open", "--timeout=110s", "queues.scheduling.volcano.sh", "four", "a", "b")
	n.vcjob(t, "limited", 2, 4, in("four"))
	n.vcjob(t, "within", 1, 4, in("four"))
	n.domains(t, "within", 1)
	if at, err := n.placedOf(within(t), "limited"); err != nil || slices.Contains(valuesOf(at), cluster.NodeName) {
		t.Errorf("a queue of four GPUs has eight: %v, %v", at, err)
	}
	n.deleteJobs(t, "limited", "within")

	n.vcjob(t, "greedy", 2, 4, func(spec map[string]any) {
		spec["queue"], spec["minAvailable"] = "a", 1
		templateOf(spec)["metadata"] = preemptable
	})
	n.domains(t, "greedy", 2)
	n.vcjob(t, "fair", 1, 4, in("b"))
	n.domains(t, "fair", 1)
	n.deleteJobs(t, "greedy", "fair")
	n.must(t, "kubectl", "delete", "queues.scheduling.volcano.sh", "four", "a", "b")
}

// preemptable lets Volcano evict pods.
var preemptable = map[string]any{"annotations": map[string]string{"volcano.sh/preemptable": "true"}}

// volcanoLinks lets Volcano choose between nodes by their links, for pods with four GPUs. Then
// gpu-aware is killed, and another program answers wrongly in its place: Volcano goes on.
func (n *node) volcanoLinks(t *testing.T) {
	n.createNodesOf(t, map[string][]int{"halves": {0, 1, 4, 5}, "quad": {0, 1, 2, 3}})
	// A pod that is created on a node looks as if it were placed a moment ago, so gpu-aware
	// begins anew.
	if err := errors.Join(n.Daemon(cluster.Aware).Kill(), n.RunAware(within(t), volcanoBody)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the nodes in gpu-aware", func(context.Context) error {
		if nodes := n.metric(t, "metax_gpu_aware_nodes"); nodes != 3 {
			return fmt.Errorf("it knows %v", nodes)
		}
		return nil
	})
	four := func(name string) {
		pod := volcanoPod(name, 4)
		pod.Spec.NodeSelector = map[string]string{"group": "made"}
		n.create(t, pod)
	}
	four("linked")
	if got := n.bound(t, "linked").Spec.NodeName; got != "quad" {
		t.Errorf("the pod is on %s, want quad", got)
	}
	for _, verb := range []string{"volcano/predicate", "volcano/prioritize"} {
		if n.metric(t, `metax_gpu_aware_questions_total{result="ok",verb="`+verb+`"}`) == 0 {
			t.Errorf("Volcano asked nothing by %s", verb)
		}
		if failed := n.metric(t, `metax_gpu_aware_questions_total{result="error",verb="`+verb+`"}`); failed > 0 {
			t.Errorf("%v questions by %s were not answered", failed, verb)
		}
	}
	if err := n.Daemon(cluster.Aware).Kill(); err != nil {
		t.Fatal(err)
	}
	four("alone")
	n.bound(t, "alone")
	if err := n.RunNonsense(within(t), cluster.AwareAddress); err != nil {
		t.Fatal(err)
	}
	n.vcjob(t, "nonsense", 2, 4, nil)
	n.domains(t, "nonsense", 2)
}
