// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

// volcanoConfig is a configuration of Volcano's scheduler as its chart has it, with more plugins.
func volcanoConfig(more string) string {
	return `actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
` + more
}

// volcanoBody is the option of gpu-aware that the chart sets for Volcano.
const volcanoBody = "--max-body=33554432"

// TestVolcano lets Volcano place the pods of jobs: all of a job or none, each in one MetaXLink
// domain. With the plugin that the chart writes for it, it asks gpu-aware, and goes on without
// it.
func TestVolcano(t *testing.T) {
	t.Parallel()
	program := scheduler(t, volcanoVariable)
	n := newNode(t, "c500-8")
	n.install(t)
	if err := n.RunAware(within(t), volcanoBody); err != nil {
		t.Fatal(err)
	}
	n.runVolcano(t, program, n.volcanoPlugin(t))
	t.Run("gang", n.volcanoGang)
	t.Run("PodGroup", n.volcanoPodGroup)
	t.Run("all or nothing", n.volcanoWhole)
	t.Run("never", n.volcanoNever)
	t.Run("race", n.volcanoRace)
	t.Run("queues", n.volcanoQueues)
	t.Run("preempt", n.volcanoPreempt)
	t.Run("links", n.volcanoLinks)
}

// runVolcano runs Volcano, its scheduler with more options.
func (n *node) runVolcano(t *testing.T, program, plugin string, options ...string) {
	t.Helper()
	if err := n.RunVolcano(within(t), program, volcanoConfig(plugin), options...); err != nil {
		t.Fatal(err)
	}
}

// volcanoPlugin is what the chart writes for Volcano, as an item of a tier of its configuration.
// Volcano waits longer for an answer than by default, after which it chooses by itself: the
// machine of the tests may be busy.
func (n *node) volcanoPlugin(t *testing.T) string {
	t.Helper()
	out := n.must(t, "helm", "template", "x", "oci://"+project+"/metax-gpu-extensions", "--version", "<999", "--kube-version", "1.34.4", "--show-only", "templates/gpu-aware/config.yaml",
		"--set", "deployExtenderGPUAware=true,gpuAware.volcano=true,gpuAware.extender.httpTimeout=10s,gpuAware.extender.urlPrefix=http://"+cluster.AwareAddress)
	for part := range strings.SplitSeq(out, "\n---") {
		var m corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(part), &m); err != nil {
			t.Fatal(err)
		}
		if text, ok := m.Data["volcano.yaml"]; ok {
			return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
		}
	}
	t.Fatalf("no volcano.yaml in\n%s", out)
	return ""
}

// vcjob is the job of the example with so many pods, of which all start together, with so many
// GPUs each. change may change its spec.
func (n *node) vcjob(t *testing.T, name string, pods, gpus int, change func(spec map[string]any)) {
	t.Helper()
	text, err := os.ReadFile("../../examples/volcano-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job map[string]any
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		t.Fatal(err)
	}
	job["metadata"] = map[string]any{"name": name, "namespace": metav1.NamespaceDefault}
	spec := job["spec"].(map[string]any)
	spec["minAvailable"] = pods
	task := spec["tasks"].([]any)[0].(map[string]any)
	task["replicas"] = pods
	task["template"] = map[string]any{"spec": volcanoPod(name, gpus).Spec}
	if change != nil {
		change(spec)
	}
	n.createYAML(t, job)
}

// volcanoPod is a pod for Volcano that waits, and whose report is in a folder of its own name,
// also if it is one of many of a template.
func volcanoPod(name string, gpus int) *corev1.Pod {
	pod := probePod(name, gpus, "pause")
	pod.Spec.SchedulerName = cluster.Volcano
	pod.Spec.Tolerations = anywhere
	at := corev1.HostPathDirectoryOrCreate
	pod.Spec.Volumes[0].HostPath = &corev1.HostPathVolumeSource{Path: reports, Type: &at}
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "report", MountPath: report.Dir, SubPathExpr: "$(POD)"}}
	return pod
}

// createYAML creates objects of which the tests have no types.
func (n *node) createYAML(t *testing.T, objects ...any) {
	t.Helper()
	var all strings.Builder
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	if err := n.WriteFile("/run/objects.yaml", all.String()); err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "create", "-f", "/run/objects.yaml")
}

// placedOf is where the pods of a job are, by their names; a pod that waits is at "".
func (n *node) placedOf(ctx context.Context, job string) (map[string]string, error) {
	list, err := n.pods().List(ctx, metav1.ListOptions{LabelSelector: "volcano.sh/job-name=" + job})
	at := map[string]string{}
	if err == nil {
		for _, pod := range list.Items {
			at[pod.Name] = pod.Spec.NodeName
		}
	}
	return at, err
}

// placed waits until all pods of a job have a node.
func (n *node) placed(t *testing.T, job string, pods int) map[string]string {
	t.Helper()
	var at map[string]string
	wait(t, "job "+job, func(ctx context.Context) (err error) {
		if at, err = n.placedOf(ctx, job); err != nil {
			return err
		}
		if waits := slices.Contains(valuesOf(at), ""); waits || len(at) != pods {
			return fmt.Errorf("its pods are at %v, want %d", at, pods)
		}
		return nil
	})
	return at
}

// waits waits until Volcano has said that not all pods of a job fit, and demands that none has a
// node.
func (n *node) waits(t *testing.T, job string) {
	t.Helper()
	wait(t, "the verdict on job "+job, func(ctx context.Context) error {
		out, err := n.Run(ctx, "kubectl", "get", "podgroups.scheduling.volcano.sh", "-o",
			`jsonpath={range .items[*]}{.metadata.name}/{.metadata.ownerReferences[0].name}/{.status.conditions[?(@.type=="Unschedulable")].message}{"\n"}{end}`)
		for line := range strings.Lines(out) {
			if part := strings.SplitN(strings.TrimSpace(line), "/", 3); (part[0] == job || part[1] == job) && part[2] != "" {
				t.Logf("Volcano says of job %s: %s", job, part[2])
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("no line about job %s in %q", job, out))
	})
	at, err := n.placedOf(within(t), job)
	if err != nil || slices.ContainsFunc(valuesOf(at), func(node string) bool { return node != "" }) {
		t.Errorf("not all pods of job %s fit, and they are at %v, %v", job, at, err)
	}
}

func valuesOf(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// domains waits until the pods of a job run on the node, and demands that the four GPUs of each
// are one domain, and that no two have the same.
func (n *node) domains(t *testing.T, job string, pods int) {
	t.Helper()
	seen := map[int]bool{}
	for name := range n.placed(t, job, pods) {
		n.phase(t, name, corev1.PodRunning)
		gpus := n.given(t, name)
		if len(gpus) != 4 || gpus[0]/4 != gpus[3]/4 || seen[gpus[0]/4] {
			t.Errorf("pod %s has the GPUs %d, want a domain that no other pod has; these are in use: %v", name, gpus, seen)
		}
		seen[gpus[0]/4] = true
	}
}

// deleteJobs deletes jobs, and waits until nothing of them is left: all GPUs are free, and the
// node has no lock.
func (n *node) deleteJobs(t *testing.T, jobs ...string) {
	t.Helper()
	n.must(t, "kubectl", append([]string{"delete", "jobs.batch.volcano.sh", "--wait"}, jobs...)...)
	n.clean(t)
}

// clean waits until no pod has GPUs of the node, and nothing is left of those that had.
func (n *node) clean(t *testing.T) {
	t.Helper()
	wait(t, "a node without traces", func(ctx context.Context) error {
		list, err := n.pods().List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d pods are there", len(list.Items)))
		}
		a := n.object(t).Annotations
		if !strings.Contains(a["topology.metax-ctk.io/state"], `"free":"ff"`) || a[hamiLock] != "" {
			return fmt.Errorf("the node has the state %s and the lock %q", a["topology.metax-ctk.io/state"], a[hamiLock])
		}
		return nil
	})
	if leases := n.must(t, "metax-ctk", "--root", cluster.NodeDir, "ps", "-o", "json"); strings.Contains(leases, `"lease"`) {
		t.Errorf("there are leases: %s", leases)
	}
}

// bareOf creates a node without a kubelet, with eight GPUs.
func (n *node) bareOf(t *testing.T, name string) {
	t.Helper()
	n.createBare(t, name, nil, corev1.ResourceList{gpuResource: resource.MustParse("8")})
}
