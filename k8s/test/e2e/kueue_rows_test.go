// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

// kueueJob runs the example, with the label of the flavor in its pod.
func (n *node) kueueJob(t *testing.T) {
	n.queue(t, "four", 4, nil)
	n.oneDomain(t, "four")
	if pod := n.podsOf(t, "four", 1)[0]; pod.Spec.NodeSelector[protocol.LabelProduct] != "C500" {
		t.Errorf("the pod's selector is %v", pod.Spec.NodeSelector)
	}
	n.dequeue(t, "four")
	n.clean(t)
}

// kueueTwenty has 20 jobs of 1 to 8 GPUs for a quota of 8. Each claims its GPUs alone. Kueue's
// own account is followed through every change of its objects.
func (n *node) kueueTwenty(t *testing.T) {
	const jobs = 20
	most := n.mostAdmitted(t)
	dir := reports + "/queue"
	for i := range jobs {
		name := fmt.Sprintf("queued-%02d", i)
		n.queue(t, name, i*5%8+1, func(job *batchv1.Job) {
			pod := &job.Spec.Template.Spec
			pod.Volumes[0].HostPath.Path = dir
			pod.Containers[0].VolumeMounts[0].SubPathExpr = ""
			pod.Containers[0].Command = []string{"/probe", "hold", name, "500ms"}
		})
	}
	var names []string
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	if err := cluster.Eventually(ctx, func(ctx context.Context) error {
		list, err := n.Client.BatchV1().Jobs(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		names = nil
		for _, job := range list.Items {
			if job.Status.Succeeded != 1 {
				return fmt.Errorf("%s has not succeeded: %+v", job.Name, job.Status)
			}
			if job.Status.Failed > 0 {
				return fmt.Errorf("a pod of %s has failed: %+v", job.Name, job.Status)
			}
			names = append(names, job.Name)
		}
		if len(names) != jobs {
			err = fmt.Errorf("there are %d jobs", len(names))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if most := most(); most != 8 {
		t.Errorf("at most %d GPUs were admitted at once, want 8", most)
	}
	for pattern, want := range map[string]int{report.Violation: 0, report.Held: jobs} {
		if found, err := filepath.Glob(n.Path(dir + "/" + pattern + "*")); err != nil || len(found) != want {
			t.Errorf("there are %d files %s…, want %d: %q, %v", len(found), pattern, want, found, err)
		}
	}
	n.dequeue(t, names...)
	n.clean(t)
}

// mostAdmitted follows Kueue's objects, and returns a function that ends this and returns the
// largest number of GPUs that were admitted at one time.
func (n *node) mostAdmitted(t *testing.T) func() int64 {
	t.Helper()
	client, err := dynamic.NewForConfig(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"})
	from, err := objects.List(within(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: from.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	most := make(chan int64, 1)
	go func() {
		var sum, max int64
		has := map[string]int64{}
		for change := range changes.ResultChan() {
			var w workload
			text, err := json.Marshal(change.Object)
			if err == nil {
				err = json.Unmarshal(text, &w)
			}
			if err != nil || change.Type == watch.Error {
				t.Errorf("a change of the workloads: %s: %v", text, err)
				continue
			}
			now := w.gpus()
			if change.Type == watch.Deleted {
				now = 0
			}
			sum += now - has[w.Metadata.Name]
			has[w.Metadata.Name] = now
			if sum > max {
				max = sum
			}
		}
		most <- max
	}()
	return func() int64 {
		changes.Stop()
		return <-most
	}
}

// kueueAbove has jobs beyond the quota, and beyond what is left of it: they wait and keep
// nobody from going on.
func (n *node) kueueAbove(t *testing.T) {
	n.queue(t, "nine", 9, nil)
	n.inQueue(t, "nine", "> maximum capacity (8)")
	n.queue(t, "small", 4, nil)
	n.oneDomain(t, "small")
	n.queue(t, "eight", 8, nil)
	n.inQueue(t, "eight", "insufficient unused quota for metax-tech.com/gpu in flavor c500, 4 more needed")
	n.queue(t, "other", 4, nil)
	n.oneDomain(t, "other")
	n.dequeue(t, "nine", "small", "eight", "other")
	n.clean(t)
}

// kueuePreemption has a job with all GPUs, which gives them back to one with a higher priority,
// and runs again after it.
func (n *node) kueuePreemption(t *testing.T) {
	n.createYAML(t, map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": map[string]any{"name": "urgent"}, "value": 1000,
	})
	n.queue(t, "low", 8, nil)
	n.phase(t, n.podsOf(t, "low", 1)[0].Name, corev1.PodRunning)
	n.queue(t, "urgent", 4, func(job *batchv1.Job) { job.Labels[kueuePriority] = "urgent" })
	n.oneDomain(t, "urgent")
	n.inQueue(t, "low", "4 more needed")
	w, err := n.queued(within(t), "low")
	if said := meta.FindStatusCondition(w.Status.Conditions, "Preempted"); err != nil || said == nil {
		t.Errorf("the job was not preempted: %+v, %v", w.Status.Conditions, err)
	} else {
		t.Logf("Kueue says of low: %s", said.Message)
	}
	n.podsOf(t, "low", 0)
	n.dequeue(t, "urgent")
	n.phase(t, n.podsOf(t, "low", 1)[0].Name, corev1.PodRunning)
	n.dequeue(t, "low")
	n.clean(t)
}

// kueueMistakes has what goes wrong at first.
func (n *node) kueueMistakes(t *testing.T) {
	n.queue(t, "nowhere", 1, func(job *batchv1.Job) { job.Labels[kueueQueue] = "nowhere" })
	n.inQueue(t, "nowhere", "LocalQueue nowhere doesn't exist")
	n.queue(t, "slices", 0, func(job *batchv1.Job) {
		job.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{sliceResource: resource.MustParse("1")}
	})
	n.inQueue(t, "slices", "resource metax-tech.com/sgpu unavailable in ClusterQueue")
	n.queue(t, "elsewhere", 1, func(job *batchv1.Job) {
		job.Spec.Template.Spec.NodeSelector = map[string]string{protocol.LabelProduct: "C550"}
	})
	n.inQueue(t, "elsewhere", "flavor c500 doesn't match node affinity")
	n.queue(t, "unlabelled", 1, func(job *batchv1.Job) { job.Labels = nil })
	n.phase(t, n.podsOf(t, "unlabelled", 1)[0].Name, corev1.PodRunning)
	if w, err := n.queued(within(t), "unlabelled"); err == nil {
		t.Errorf("a job without a queue is in one: %+v", w)
	}
	n.dequeue(t, "nowhere", "slices", "elsewhere", "unlabelled")
	n.clean(t)

	pod := probePod("gated", 9, "pause")
	pod.Labels = map[string]string{kueueQueue: "gpus"}
	n.create(t, pod)
	wait(t, "what kubectl metax why says of a pod in a queue", func(ctx context.Context) error {
		out, err := n.Run(ctx, "kubectl", "metax", "why", "gated")
		if err == nil && !strings.Contains(out, "Scheduling is blocked due to non-empty scheduling gates") {
			err = errors.New(out)
		}
		return err
	})
	n.remove(t, "gated")
	n.clean(t)
}

// kueueAway kills Kueue: jobs go on, but its webhook lets no pod be made, not even the device
// plugin's, before it is back.
func (n *node) kueueAway(t *testing.T) {
	n.queue(t, "goes-on", 4, nil)
	n.oneDomain(t, "goes-on")
	kueue := n.Daemon(cluster.Kueue)
	if err := kueue.Kill(); err != nil {
		t.Fatal(err)
	}
	_, err := n.pods().Create(within(t), probePod("refused", 1, "pause"), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `failed calling webhook "mpod.kb.io"`) {
		t.Errorf("a pod was made without Kueue: %v", err)
	}
	n.must(t, "kubectl", "delete", "pod", "-n", namespace, n.agent(t, "metax-gpu-device").Name)
	wait(t, "the refusal of the plugin's pod", func(ctx context.Context) error {
		out, err := n.Run(ctx, "kubectl", "get", "events", "-n", namespace, "--field-selector", "reason=FailedCreate", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, "mpod.kb.io") {
			err = fmt.Errorf("the events are %q", out)
		}
		return err
	})
	n.oneDomain(t, "goes-on")
	if err := kueue.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	n.agent(t, "metax-gpu-device")
	n.allocatable(t, len(n.gpus))
	n.queue(t, "after", 4, nil)
	n.oneDomain(t, "after")
	n.dequeue(t, "goes-on", "after")
	n.clean(t)
}

// rackLabel is the label of the example that says where a node is.
const rackLabel = "example.com/rack"

// rack labels nodes as those of a rack, of the flavor.
func (n *node) rack(t *testing.T, rack string, nodes ...string) {
	t.Helper()
	for _, name := range nodes {
		n.must(t, "kubectl", "label", "node", name, rackLabel+"="+rack, protocol.LabelProduct+"=C500", "kubernetes.io/hostname="+name)
	}
}

// kueueRacks has racks of two nodes each, of which one has GPUs in use, and nodes that are in no
// rack.
func (n *node) kueueRacks(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	n.createNodesOf(t, map[string][]int{"a-0": all, "a-1": all[:4], "b-0": all, "b-1": all})
	n.rack(t, "a", "a-0", "a-1")
	n.rack(t, "b", "b-0", "b-1")
	n.quota(t, 64)
	n.applyExample(t, "kueue-racks.yaml")
	n.queue(t, "pair", 8, asks(2))
	at := map[string]bool{}
	for _, pod := range n.podsOf(t, "pair", 2) {
		at[pod.Spec.NodeName] = true
	}
	if !at["b-0"] || !at["b-1"] {
		t.Errorf("the pods are on %v, want rack b", at)
	}
	n.queue(t, "five", 4, asks(5))
	n.inQueue(t, "five", `topology "racks" allows to fit only 3 out of 5 pod(s)`)
	n.queue(t, "three", 4, asks(3))
	for _, pod := range n.podsOf(t, "three", 3) {
		if !strings.HasPrefix(pod.Spec.NodeName, "a-") {
			t.Errorf("a pod is on %s, want rack a", pod.Spec.NodeName)
		}
	}
	n.dequeue(t, "pair", "five", "three")
	n.must(t, "kubectl", "delete", "node", "a-0", "a-1", "b-0", "b-1")
}

// kueueLinks has gpu-aware choose between the nodes of a rack: the lowest level is the rack,
// because with nodes below it Kueue would choose them.
func (n *node) kueueLinks(t *testing.T) {
	half := []int{0, 1, 4, 5}
	n.createNodesOf(t, map[string][]int{"halves-0": half, "halves-1": half, "halves-2": half, "quad": {0, 1, 2, 3}})
	n.rack(t, "c", "halves-0", "halves-1", "halves-2", "quad")
	text, err := os.ReadFile("../../examples/kueue-racks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("racks", "rack-only", "c500", "rack-only", "    - nodeLabel: kubernetes.io/hostname\n", "").Replace(string(text))
	if err := n.WriteFile("/run/rack-only.yaml", changed); err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "apply", "-f", "/run/rack-only.yaml")
	n.must(t, "kubectl", "patch", "clusterqueues.kueue.x-k8s.io", "gpus", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/name","value":"rack-only"}]`)
	if err := errors.Join(n.RunAware(within(t)), n.Reschedule(within(t), schedulerConfig(cluster.AwareAddress))); err != nil {
		t.Fatal(err)
	}
	wait(t, "the nodes in gpu-aware", func(context.Context) error {
		if nodes := n.metric(t, "metax_gpu_aware_nodes"); nodes != 5 {
			return fmt.Errorf("it knows %v", nodes)
		}
		return nil
	})
	n.queue(t, "linked", 4, asks(1))
	if got := n.podsOf(t, "linked", 1)[0].Spec.NodeName; got != "quad" {
		t.Errorf("the pod is on %s, want quad", got)
	}
	if n.metric(t, `metax_gpu_aware_questions_total{result="ok",verb="prioritize"}`) == 0 {
		t.Error("the scheduler did not ask gpu-aware which node is best")
	}
	// Each of the others has four GPUs for which the rack has room.
	n.queue(t, "others", 4, asks(3))
	at := map[string]bool{}
	for _, pod := range n.podsOf(t, "others", 3) {
		at[pod.Spec.NodeName] = true
	}
	if len(at) != 3 || at["quad"] {
		t.Errorf("the pods are on %v", at)
	}
	n.dequeue(t, "linked", "others")
}
