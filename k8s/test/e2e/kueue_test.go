// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// The labels by which Kueue knows the queue of a job, and its priority.
const (
	kueueQueue    = "kueue.x-k8s.io/queue-name"
	kueuePriority = "kueue.x-k8s.io/priority-class"
)

// TestKueue queues jobs for the GPUs of a node with Kueue, as the examples have it. Pods are
// placed by Kubernetes' scheduler, and at the end by links.
func TestKueue(t *testing.T) {
	t.Parallel()
	program := scheduler(t, kueueVariable)
	n := newNode(t, "c500-8")
	n.install(t)
	n.labels(t, "gpu.product=C500")
	// Nobody else reports that the nodes without a kubelet are ready.
	if err := n.Control(within(t), "*", "-node-lifecycle-controller", "-nodeipam", "-route", "-cloud-node-lifecycle"); err != nil {
		t.Fatal(err)
	}
	if err := n.RunKueue(within(t), program); err != nil {
		t.Fatal(err)
	}
	n.applyExample(t, "kueue-queue.yaml")
	n.quota(t, 8)
	t.Run("job", n.kueueJob)
	t.Run("queue of 20 jobs", n.kueueTwenty)
	t.Run("above the quota", n.kueueAbove)
	t.Run("preemption", n.kueuePreemption)
	t.Run("mistakes", n.kueueMistakes)
	t.Run("without Kueue", n.kueueAway)
	t.Run("racks", n.kueueRacks)
	t.Run("links", n.kueueLinks)
}

// applyExample applies a file of k8s/examples.
func (n *node) applyExample(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", file))
	if err == nil {
		err = n.WriteFile("/run/"+file, string(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "apply", "-f", "/run/"+file)
}

// quota sets how many GPUs the queue of the example has.
func (n *node) quota(t *testing.T, gpus int) {
	t.Helper()
	n.must(t, "kubectl", "patch", "clusterqueues.kueue.x-k8s.io", "gpus", "--type=json", "-p",
		fmt.Sprintf(`[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":%d}]`, gpus))
}

// queue creates the job of the example with a name, and pods that wait with so many GPUs each.
// change may change it.
func (n *node) queue(t *testing.T, name string, gpus int, change func(*batchv1.Job)) {
	t.Helper()
	text, err := os.ReadFile("../../examples/kueue-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	pod := volcanoPod(name, gpus)
	pod.Spec.SchedulerName = ""
	job.Name, job.Spec.Template.Spec = name, pod.Spec
	if change != nil {
		change(&job)
	}
	if _, err := n.Client.BatchV1().Jobs(metav1.NamespaceDefault).Create(within(t), &job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// asks makes a job one of several pods that have to be in one rack.
func asks(pods int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.Parallelism, job.Spec.Completions = &pods, &pods
		job.Spec.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": rackLabel}
	}
}

// workload is what the tests need of Kueue's object of a job.
type workload struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  *struct {
			PodSetAssignments []struct {
				ResourceUsage corev1.ResourceList `json:"resourceUsage"`
			} `json:"podSetAssignments"`
		} `json:"admission"`
		ReclaimablePods []any `json:"reclaimablePods"` // those that have ended
	} `json:"status"`
}

// gpus are the GPUs of the quota that the workload of one pod uses.
func (w workload) gpus() (sum int64) {
	ended := len(w.Status.ReclaimablePods) > 0 || meta.IsStatusConditionTrue(w.Status.Conditions, "Finished")
	if w.Status.Admission == nil || ended {
		return 0
	}
	for _, set := range w.Status.Admission.PodSetAssignments {
		q := set.ResourceUsage[gpuResource]
		sum += q.Value()
	}
	return sum
}

// queued is the workload of a job, or of a pod.
func (n *node) queued(ctx context.Context, owner string) (w workload, err error) {
	out, err := n.Run(ctx, "kubectl", "get", "workloads.kueue.x-k8s.io", "-o", "json")
	var list struct{ Items []workload }
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil {
		return workload{}, err
	}
	at := slices.IndexFunc(list.Items, func(w workload) bool {
		return len(w.Metadata.OwnerReferences) > 0 && w.Metadata.OwnerReferences[0].Name == owner
	})
	if at < 0 {
		return workload{}, fmt.Errorf("%s has no workload", owner)
	}
	return list.Items[at], nil
}

// inQueue waits until Kueue says why a job waits, and demands that it is suspended.
func (n *node) inQueue(t *testing.T, job, why string) {
	t.Helper()
	wait(t, "what Kueue says of "+job, func(ctx context.Context) error {
		w, err := n.queued(ctx, job)
		if err != nil {
			return err
		}
		said := meta.FindStatusCondition(w.Status.Conditions, "QuotaReserved")
		if said == nil || said.Status != metav1.ConditionFalse || !strings.Contains(said.Message, why) {
			return fmt.Errorf("want %q, but the conditions are %+v", why, w.Status.Conditions)
		}
		t.Logf("Kueue says of %s: %s", job, said.Message)
		return nil
	})
	is, err := n.Client.BatchV1().Jobs(metav1.NamespaceDefault).Get(within(t), job, metav1.GetOptions{})
	if err != nil || is.Spec.Suspend == nil || !*is.Spec.Suspend || is.Status.Active > 0 {
		t.Errorf("the job is not suspended: %+v, %v", is, err)
	}
}

// podsOf waits until so many pods of a job, and no others, have a node and are not about to
// end.
func (n *node) podsOf(t *testing.T, job string, pods int) (list []corev1.Pod) {
	t.Helper()
	wait(t, "the pods of "+job, func(ctx context.Context) error {
		all, err := n.pods().List(ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job})
		if err != nil {
			return err
		}
		var said []string
		for _, pod := range all.Items {
			if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
				said = append(said, state(&pod))
			}
		}
		if list = all.Items; len(list) != pods || said != nil {
			err = fmt.Errorf("there are %d, want %d: %q", len(list), pods, said)
		}
		return err
	})
	return list
}

// oneDomain waits until the only pod of a job runs, and demands that it has four GPUs of one
// domain.
func (n *node) oneDomain(t *testing.T, job string) {
	t.Helper()
	name := n.podsOf(t, job, 1)[0].Name
	n.phase(t, name, corev1.PodRunning)
	if gpus := n.given(t, name); len(gpus) != 4 || gpus[0]/4 != gpus[3]/4 {
		t.Errorf("job %s has the GPUs %d, want four of one domain", job, gpus)
	}
}

// dequeue deletes jobs, also where no kubelet ends their pods, and waits until nothing of them
// is left.
func (n *node) dequeue(t *testing.T, jobs ...string) {
	t.Helper()
	n.must(t, "kubectl", append([]string{"delete", "jobs.batch", "--wait=false"}, jobs...)...)
	wait(t, "the end of the jobs", func(ctx context.Context) error {
		list, err := n.pods().List(ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name in (" + strings.Join(jobs, ",") + ")"})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if pod.Spec.NodeName != cluster.NodeName {
				err = errors.Join(err, n.end(ctx, pod.Name))
			}
		}
		if len(list.Items) > 0 {
			err = errors.Join(err, fmt.Errorf("%d pods are left", len(list.Items)))
		}
		return err
	})
}
