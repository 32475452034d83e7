// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// volcanoPreempt has a job that fills the node, and then jobs of higher priority in its queue:
// Volcano evicts as many pods as they need, though gpu-aware is asked whether they fit. What
// was evicted runs again when they end. Of two jobs whose pods state GPUs also as requests,
// enqueue does not let the second in while the first fills the queue.
func (n *node) volcanoPreempt(t *testing.T) {
	for name, value := range map[string]int{"low": 1, "high": 1000} {
		n.must(t, "kubectl", "create", "priorityclass", name, fmt.Sprint("--value=", value))
	}
	of := func(class string) func(map[string]any) {
		return func(spec map[string]any) {
			spec["priorityClassName"] = class
			templateOf(spec)["metadata"] = preemptable
		}
	}
	requesting := func(class string) func(map[string]any) {
		return func(spec map[string]any) {
			of(class)(spec)
			resources := &templateOf(spec)["spec"].(corev1.PodSpec).Containers[0].Resources
			resources.Requests = resources.Limits
		}
	}
	n.vcjob(t, "low", 2, 4, requesting("low"))
	n.domains(t, "low", 2)
	before := n.uids(t, "low")

	n.vcjob(t, "shut-out", 1, 4, requesting("high"))
	wait(t, "the verdict on job shut-out", func(ctx context.Context) error {
		out, err := n.Run(ctx, "kubectl", "get", "events", "-o", `jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}`)
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "shut-out") && strings.Contains(line, "queue resource quota insufficient: insufficient "+gpuResource) {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("no event of it in\n%s", out))
	})
	if after := n.uids(t, "low"); !maps.Equal(before, after) {
		t.Errorf("a job that is not let in evicted pods: there were %v, and now %v", before, after)
	}
	n.must(t, "kubectl", "delete", "jobs.batch.volcano.sh", "--wait", "shut-out")

	n.vcjob(t, "one", 1, 4, of("high"))
	n.domains(t, "one", 1)
	after := n.uids(t, "low")
	maps.DeleteFunc(after, func(name string, uid types.UID) bool { return before[name] != uid })
	if len(after) != 1 {
		t.Errorf("of two pods, one has to go for four GPUs: %v stayed of %v", after, before)
	}
	n.must(t, "kubectl", "delete", "jobs.batch.volcano.sh", "--wait", "one")
	n.domains(t, "low", 2)
	n.vcjob(t, "two", 2, 4, of("high"))
	n.domains(t, "two", 2)
	n.must(t, "kubectl", "delete", "jobs.batch.volcano.sh", "--wait", "two")
	n.domains(t, "low", 2)
	n.deleteJobs(t, "low")
}

// templateOf is the template of the pods of a job's only task.
func templateOf(spec map[string]any) map[string]any {
	return spec["tasks"].([]any)[0].(map[string]any)["template"].(map[string]any)
}

// uids are the pods of a job by their names.
func (n *node) uids(t *testing.T, job string) map[string]types.UID {
	t.Helper()
	list, err := n.pods().List(within(t), metav1.ListOptions{LabelSelector: "volcano.sh/job-name=" + job})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}
