// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// placesGangs turns on Kubernetes' own gangs: it asks gpu-aware for each of their pods, places
// all or none, and what waits takes nothing.
func (v *versionTest) placesGangs(t *testing.T) {
	if err := v.RestartAPI(within(t), cluster.WorkloadAPI...); err != nil {
		t.Fatal(err)
	}
	if err := v.Reschedule(within(t), v.asks, cluster.WorkloadGangs...); err != nil {
		t.Fatal(err)
	}
	t.Run("links", v.linksGang)
	t.Run("all or nothing", v.waitsAsGang)
	if err := v.RestartAPI(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := v.Reschedule(within(t), v.asks); err != nil {
		t.Fatal(err)
	}
}

// linksGang has a gang of two pods for three nodes, of which two have a free domain.
func (v *versionTest) linksGang(t *testing.T) {
	free := map[string][]int{"linked-1": {0, 1, 2, 3}, "linked-2": {4, 5, 6, 7}, "apart": {0, 1, 4, 5}}
	v.createNodesOf(t, free)
	v.must(t, "kubectl", "rollout", "restart", "-n", awareNamespace, "daemonset/metax-gpu-aware")
	v.must(t, "kubectl", "rollout", "status", "-n", awareNamespace, "daemonset/metax-gpu-aware", "--timeout=60s")
	v.reachesAware(t)
	v.workload(t, "linked", 2)
	v.gang(t, "linked", 2, map[string]string{"group": "made"})
	at := v.placed(t, "linked", 2)
	if nodes := valuesOf(at); nodes[0] == nodes[1] || slices.Contains(nodes, "apart") {
		t.Errorf("the pods are at %v, want those with a free domain", at)
	}
	asked := v.asked(t)
	for _, verb := range []string{"filter", "prioritize"} {
		if asked[`result="ok",verb="`+verb+`"`] < 2 || asked[`result="error",verb="`+verb+`"`] > 0 {
			t.Errorf("for two pods, gpu-aware had these questions by %s: %v", verb, asked)
		}
	}
	v.must(t, "kubectl", "delete", "pods", "--all", "--force")
	for name := range free {
		v.must(t, "kubectl", "delete", "node", name)
	}
	v.clean(t)
}

// waitsAsGang has a gang that is too large for the node: it waits as a whole while another one
// runs, until a second node comes.
func (v *versionTest) waitsAsGang(t *testing.T) {
	v.workload(t, "three", 3)
	v.gang(t, "three", 3, nil)
	v.isWaiting(t, "three")
	v.workload(t, "pair", 2)
	v.gang(t, "pair", 2, nil)
	v.domains(t, "pair", 2)
	v.isWaiting(t, "three")
	v.remove(t, "pair-0")
	v.remove(t, "pair-1")
	v.bareOf(t, "second")
	at := map[string]int{}
	for _, node := range v.placed(t, "three", 3) {
		at[node]++
	}
	if at[cluster.NodeName] == 0 || at["second"] == 0 {
		t.Errorf("the pods of three are on %v", at)
	}
	v.must(t, "kubectl", "delete", "pods", "--all", "--force")
	v.must(t, "kubectl", "delete", "node", "second")
	v.clean(t)
}

// workload creates a workload of one group of pods that start together, and the group.
func (n *node) workload(t *testing.T, name string, pods int) {
	t.Helper()
	together := map[string]any{"gang": map[string]any{"minCount": pods}}
	object := func(kind string, spec map[string]any) any {
		return map[string]any{
			"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": kind, "spec": spec,
			"metadata": map[string]any{"name": name, "namespace": metav1.NamespaceDefault},
		}
	}
	n.createYAML(t,
		object("Workload", map[string]any{"podGroupTemplates": []any{map[string]any{"name": "pods", "schedulingPolicy": together}}}),
		object("PodGroup", map[string]any{
			"podGroupTemplateRef": map[string]any{"workload": map[string]any{"workloadName": name, "podGroupTemplateName": "pods"}},
			"schedulingPolicy":    together,
		}))
}

// gang creates the pods of a group, with four GPUs each. placed finds them by their label.
func (n *node) gang(t *testing.T, name string, pods int, at map[string]string) {
	t.Helper()
	for i := range pods {
		pod := probePod(fmt.Sprint(name, "-", i), 4, "pause")
		pod.Labels = map[string]string{"volcano.sh/job-name": name}
		pod.Spec.NodeSelector, pod.Spec.Tolerations = maps.Clone(at), anywhere
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		n.create(t, pod)
	}
}

// isWaiting waits until the scheduler has said that a group does not fit, and demands that none
// of its pods has a node.
func (n *node) isWaiting(t *testing.T, name string) {
	t.Helper()
	wait(t, "the verdict on "+name, func(ctx context.Context) error {
		out, err := n.Run(ctx, "kubectl", "get", "podgroups.scheduling.k8s.io", name, "-o", `jsonpath={.status.conditions[?(@.type=="PodGroupScheduled")].reason}`)
		if err == nil && out != "Unschedulable" {
			err = fmt.Errorf("its reason is %q", out)
		}
		return err
	})
	at, err := n.placedOf(within(t), name)
	if err != nil {
		t.Fatal(err)
	}
	for pod, node := range at {
		if node != "" {
			t.Errorf("not all pods of %s fit, and %s is on %s", name, pod, node)
		}
	}
}

// asked are the questions that the only gpu-aware of the chart has answered, by their labels.
func (n *node) asked(t *testing.T) map[string]float64 {
	t.Helper()
	pod := n.must(t, "kubectl", "get", "pods", "-n", awareNamespace, "-o", "jsonpath={.items[0].metadata.name}")
	text := n.must(t, "kubectl", "get", "--raw", "/api/v1/namespaces/"+awareNamespace+"/pods/"+pod+":8081/proxy/metrics")
	questions := map[string]float64{}
	for line := range strings.Lines(text) {
		labels, isQuestion := strings.CutPrefix(strings.TrimSpace(line), "metax_gpu_aware_questions_total{")
		labels, value, _ := strings.Cut(labels, "} ")
		if !isQuestion {
			continue
		}
		var err error
		if questions[labels], err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatal(err)
		}
	}
	return questions
}
