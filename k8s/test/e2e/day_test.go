// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

// dayNodes is how many nodes of 8 GPUs the jobs of a day are for.
const dayNodes = 100

// dayTrace are the jobs of a day that request as many GPU hours as the nodes have. They arrive
// as a Poisson process and last 4 hours in the mean, exponentially; those for 1, 2, 4 and 8
// GPUs are 4 : 3 : 2 : 1.
const dayTrace = "testdata/day.csv"

// dayScheduler is a scheduler that the jobs of a day are sent through.
type dayScheduler struct {
	name   string
	policy key.Policy
	start  func(*testing.T, *node) *day
}

var daySchedulers = []dayScheduler{
	{"kube-scheduler", key.Spread, startDefault},
	{"HAMi, spread", key.Spread, startHAMi},
	{"HAMi, binpack", key.Binpack, startHAMi},
	{"metax-gpu-aware, spread", key.Spread, startAware},
	{"metax-gpu-aware, binpack", key.Binpack, startAware},
	{"Kueue with metax-gpu-aware, spread", key.Spread, startKueue},
	{"Volcano", key.Spread, startVolcano},
	{"Volcano with metax-gpu-aware, spread", key.Spread, startVolcanoAware},
	{"Volcano with metax-gpu-aware, binpack", key.Binpack, startVolcanoAware},
}

// begin returns a cluster with this scheduler and idle nodes.
func (s dayScheduler) begin(t *testing.T) *day {
	t.Helper()
	d := s.start(t, newNode(t, "c500-8"))
	d.policy = s.policy
	d.furnish(t)
	return d
}

// TestRate measures how many pods get a node in a second, of 200 for one or two GPUs that are
// created at once, with each scheduler. It asserts that all get one.
func TestRate(t *testing.T) {
	if !night {
		t.Skip("takes long: METAX_K8S_NIGHT=1")
	}
	for _, s := range daySchedulers {
		t.Run(s.name, func(t *testing.T) {
			d := s.begin(t)
			if d.log != nil {
				d.relist(t)
			}
			d.place(t, []*corev1.Pod{d.pod("warm", 1)})
			var list []*corev1.Pod
			for i := range scaled {
				list = append(list, d.pod(fmt.Sprint("pod-", i), 1+i%2))
			}
			rate := scaled / d.place(t, list).Seconds()
			t.Logf("%.0f pods a second", rate)
			record(t, func(f *placement.Figures) { f.PutRate(s.name, rate) })
		})
	}
}

// TestDay sends the jobs of a day through real schedulers, one after the other without the
// time in between: a job that finds no node is rejected. On each node, GPUs are given as the
// plugin gives them, and published. It asserts that no GPU is given twice, and that a job is
// rejected only if no node has enough free GPUs; what the schedulers make of it is recorded.
func TestDay(t *testing.T) {
	if !night {
		t.Skip("takes long: METAX_K8S_NIGHT=1")
	}
	jobs, err := placement.ReadJobs(dayTrace)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range daySchedulers {
		t.Run(s.name, func(t *testing.T) {
			d := s.begin(t)
			began := time.Now()
			placed := d.run(t, jobs)
			rejected := 0
			for _, p := range placed {
				if p.GPUs == nil {
					rejected++
				}
			}
			t.Logf("%d of %d jobs rejected, in %v", rejected, len(jobs), time.Since(began).Round(time.Second))
			record(t, func(f *placement.Figures) { f.PutDay(placement.Day{Scheduler: s.name, Placed: placed}) })
		})
	}
}

func startDefault(_ *testing.T, n *node) *day { return &day{node: n} }

func startAware(t *testing.T, n *node) *day {
	t.Helper()
	if err := n.RunAware(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Reschedule(within(t), schedulerConfig(cluster.AwareAddress)); err != nil {
		t.Fatal(err)
	}
	return &day{node: n}
}

func startVolcano(t *testing.T, n *node) *day {
	t.Helper()
	return volcanoDay(t, n, "")
}

func startVolcanoAware(t *testing.T, n *node) *day {
	t.Helper()
	if err := n.RunAware(within(t), volcanoBody); err != nil {
		t.Fatal(err)
	}
	n.push(t)
	return volcanoDay(t, n, n.volcanoPlugin(t))
}

// volcanoDay is a day with Volcano, which looks for waiting pods 20 times a second, and not once:
// a day that is not compressed has many looks between two jobs.
func volcanoDay(t *testing.T, n *node, plugin string) *day {
	t.Helper()
	n.runVolcano(t, scheduler(t, volcanoVariable), plugin, "--schedule-period=50ms")
	return &day{node: n, scheduler: cluster.Volcano}
}

// startKueue has Kueue before metax-gpu-aware, with a quota of all GPUs.
func startKueue(t *testing.T, n *node) *day {
	t.Helper()
	d := startAware(t, n)
	if err := n.RunKueue(within(t), scheduler(t, kueueVariable)); err != nil {
		t.Fatal(err)
	}
	n.applyExample(t, "kueue-queue.yaml")
	n.must(t, "kubectl", "patch", "resourceflavors.kueue.x-k8s.io", "c500", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/nodeLabels","value":{"group":"day"}}]`)
	n.quota(t, 8*dayNodes)
	d.labels = map[string]string{kueueQueue: "gpus"}
	return d
}

func startHAMi(t *testing.T, n *node) *day {
	t.Helper()
	if err := n.RunHAMi(within(t), scheduler(t, hamiVariable)); err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(n.Path("/var/log/" + cluster.HAMi + ".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &day{node: n, scheduler: cluster.HAMi, log: log}
}

// day is a cluster on which the jobs of a day run.
type day struct {
	*node
	scheduler string            // empty for the cluster's own
	labels    map[string]string // of pods
	policy    key.Policy
	log       *os.File // of HAMi's scheduler, or nil
	another   bool     // node without GPUs is there
	bare      []nodescoretest.Node
	picker    *alloc.Picker
}

// furnish creates the nodes, all of one kind and idle.
func (d *day) furnish(t *testing.T) {
	t.Helper()
	simulated, err := nodescoretest.Simulated("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	graph, _ := topology.New(simulated)
	d.picker = alloc.New(graph)
	for i := range dayNodes {
		d.bare = append(d.bare, nodescoretest.Node{Name: fmt.Sprintf("day-%03d", i), GPUs: simulated, Free: []int{0, 1, 2, 3, 4, 5, 6, 7}})
	}
	if err := d.createNodes(within(t), d.bare, func(int) string { return "day" }); err != nil {
		t.Fatal(err)
	}
	// No kubelet will ever say that the nodes are ready. Kueue counts a pod until what it has
	// of it is collected.
	if err := d.Control(within(t), "garbage-collector-controller"); err != nil {
		t.Fatal(err)
	}
}

// run sends the jobs through the scheduler in their order.
func (d *day) run(t *testing.T, jobs []placement.Job) []placement.Place {
	t.Helper()
	placed := make([]placement.Place, len(jobs))
	var running []int // jobs, by their ends
	for i, j := range jobs {
		for len(running) > 0 && jobs[running[0]].End() <= j.Arrival {
			d.release(t, running[0], placed[running[0]])
			running = running[1:]
		}
		if d.log != nil {
			d.relist(t)
		}
		if d.give(t, i, j, &placed[i]); placed[i].GPUs == nil {
			continue
		}
		at, _ := slices.BinarySearchFunc(running, j.End(), func(other int, end time.Duration) int {
			if jobs[other].End() < end {
				return -1
			}
			return 1
		})
		running = slices.Insert(running, at, i)
	}
	return placed
}

func jobName(i int) string { return fmt.Sprintf("job-%04d", i) }

// give lets the scheduler choose a node for a job, and the plugin's picker the GPUs there.
func (d *day) give(t *testing.T, i int, j placement.Job, place *placement.Place) {
	t.Helper()
	pod := d.pod(jobName(i), j.GPUs)
	name := d.chosen(t, pod)
	if name == "" {
		d.endJob(t, i)
		return
	}
	at := slices.IndexFunc(d.bare, func(n nodescoretest.Node) bool { return n.Name == name })
	is := &d.bare[at]
	answer, err := d.picker.Pick(alloc.Request{N: j.GPUs, Free: is.Free, Policy: d.policy, Sizes: alloc.Off})
	if err != nil {
		t.Fatalf("%s is sent to %s, which has %d: %v", pod.Name, name, is.Free, err)
	}
	is.Free = slices.DeleteFunc(slices.Clone(is.Free), func(g int) bool { return slices.Contains(answer.GPUs, g) })
	*place = placement.Place{Node: at, GPUs: answer.GPUs}
	d.publish(t, is)
	status := []byte(`{"status":{"phase":"Running","startTime":"` + time.Now().UTC().Format(time.RFC3339) + `"}}`)
	if _, err := d.pods().Patch(within(t), pod.Name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// pod is one for the scheduler, with its policy.
func (d *day) pod(name string, gpus int) *corev1.Pod {
	pod := gpuPod(name, gpus, "day")
	pod.Spec.SchedulerName = d.scheduler
	pod.Labels, pod.Annotations = d.labels, map[string]string{protocol.HAMiPolicyAnnotation: d.policy.String()}
	return pod
}

// chosen creates a pod, and returns the node that the scheduler chooses; none if it says that
// there is none and it is right.
func (d *day) chosen(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	d.create(t, pod)
	q := pod.Spec.Containers[0].Resources.Limits[gpuResource]
	hasRoom := slices.ContainsFunc(d.bare, func(n nodescoretest.Node) bool { return len(n.Free) >= int(q.Value()) })
	said := ""
	for ctx := within(t); ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		now, err := d.pods().Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if said = state(now); now.Spec.NodeName != "" || said != "" && !hasRoom {
			return now.Spec.NodeName
		}
	}
	t.Fatalf("%s gets no node, though one has room: %s", pod.Name, said)
	return ""
}

// release ends a job and gives its GPUs back.
func (d *day) release(t *testing.T, i int, place placement.Place) {
	t.Helper()
	d.endJob(t, i)
	is := &d.bare[place.Node]
	is.Free = slices.Sorted(slices.Values(slices.Concat(is.Free, place.GPUs)))
	d.publish(t, is)
}

// endJob deletes the pod of a job. What Kueue and Volcano have of it is collected.
func (d *day) endJob(t *testing.T, i int) {
	t.Helper()
	if err := d.end(within(t), jobName(i)); err != nil {
		t.Fatal(err)
	}
}

// publish writes the annotations of a node, as the plugin does.
func (d *day) publish(t *testing.T, is *nodescoretest.Node) {
	t.Helper()
	is.Generation++
	annotations, err := is.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Client.CoreV1().Nodes().Patch(within(t), is.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// relist makes HAMi list the nodes, which it does at once only if one comes or goes: a node
// without GPUs does that. The list that has it, or has it no longer, also has what was
// published before. In a day that is not compressed, HAMi lists the nodes many times between
// two jobs.
func (d *day) relist(t *testing.T) {
	t.Helper()
	count := dayNodes + 1 // with that of the cluster
	if d.another = !d.another; d.another {
		d.createBare(t, "another", nil, nil)
		count++
	} else if err := d.Client.CoreV1().Nodes().Delete(within(t), "another", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`"Listed nodes" nodeCount=%d`+"\n", count)
	seen := ""
	for ctx := within(t); !strings.Contains(seen, want); {
		if ctx.Err() != nil {
			t.Fatalf("HAMi does not list %d nodes", count)
		}
		time.Sleep(time.Millisecond)
		more, err := io.ReadAll(d.log)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen[max(0, len(seen)-len(want)):] + string(more)
	}
}

// end deletes a pod that no kubelet ends.
func (n *node) end(ctx context.Context, name string) error {
	now := int64(0)
	return n.pods().Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}
