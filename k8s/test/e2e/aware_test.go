// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// schedulerConfig is that of the chart, with every node considered and no limit to the client.
func schedulerConfig(address string) string {
	return `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf, qps: 1000, burst: 2000}
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
extenders:
- urlPrefix: http://` + address + `
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 500
  nodeCacheCapable: true
  ignorable: true
  httpTimeout: 1s
  managedResources: [{name: ` + gpuResource + `}]
`
}

// size returns a number for CI, or one for a night.
func size(day, long int) int {
	if night {
		return long
	}
	return day
}

// parallel does something for 0 to n-1, some at a time.
func parallel(n int, do func(i int) error) error {
	var running sync.WaitGroup
	next, failed := make(chan int), make(chan error, n)
	for range 16 {
		running.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
	close(failed)
	return <-failed
}

// createNodes creates nodes without kubelets, each with the label group, and on each a pod
// with the GPUs that are in use.
func (n *node) createNodes(ctx context.Context, nodes []nodescoretest.Node, group func(i int) string) error {
	return parallel(len(nodes), func(i int) error {
		is := nodes[i]
		annotations, err := is.Annotations()
		if err != nil {
			return err
		}
		capacity := corev1.ResourceList{
			"cpu": resource.MustParse("64"), "memory": resource.MustParse("512Gi"), "pods": resource.MustParse("110"),
			gpuResource: *resource.NewQuantity(int64(len(is.GPUs.GPUs)), resource.DecimalSI),
		}
		allocatable := capacity.DeepCopy()
		allocatable[gpuResource] = *resource.NewQuantity(int64(len(is.GPUs.GPUs)-len(is.Unhealthy)-len(is.Outside)), resource.DecimalSI)
		if _, err := n.Client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: is.Name, Annotations: annotations, Labels: map[string]string{"group": group(i)}},
			Status: corev1.NodeStatus{
				Capacity: capacity, Allocatable: allocatable,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
			},
		}, metav1.CreateOptions{}); err != nil || is.Used() == 0 {
			return err
		}
		pod := gpuPod("on-"+is.Name, is.Used(), "")
		pod.Spec.NodeName = is.Name
		if pod, err = n.pods().Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: time.Now()}
		_, err = n.pods().UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
}

// gpuPod is a pod that requests GPUs of a node of a group, of any node if that is empty. No
// kubelet starts it.
func gpuPod(name string, gpus int, group string) *corev1.Pod {
	pod := probePod(name, gpus, "pause")
	pod.Spec.Tolerations = anywhere
	if group != "" {
		pod.Spec.NodeSelector = map[string]string{"group": group}
	}
	return pod
}

// onBare lists where the pods of the cluster are, and fails if a node has more GPUs requested
// than it can give.
func (n *node) onBare(t *testing.T, nodes []nodescoretest.Node) map[string]string {
	t.Helper()
	list, err := n.pods().List(within(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at, requested := map[string]string{}, map[string]int{}
	for _, pod := range list.Items {
		at[pod.Name] = pod.Spec.NodeName
		q := pod.Spec.Containers[0].Resources.Limits[gpuResource]
		requested[pod.Spec.NodeName] += int(q.Value())
	}
	for _, is := range nodes {
		if most := len(is.GPUs.GPUs) - len(is.Unhealthy) - len(is.Outside); requested[is.Name] > most {
			t.Errorf("the pods on %s request %d GPUs; it has %d", is.Name, requested[is.Name], most)
		}
	}
	return at
}

// metrics are the values of the extender's metrics by their names with labels.
func (n *node) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	text := n.must(t, "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8181; printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; cat <&3`)
	_, text, _ = strings.Cut(text, "\r\n\r\n")
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, word, ok := strings.Cut(strings.TrimSpace(line), " ")
		if name == "#" || !ok {
			continue
		}
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = v
	}
	return values
}

// metric is the value of a metric of the extender.
func (n *node) metric(t *testing.T, name string) float64 {
	t.Helper()
	v, ok := n.metrics(t)[name]
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return v
}

// TestAwareBest: on random clusters, each the nodes of a group, Kubernetes' scheduler takes a
// node that brute force over all sets of all nodes calls best.
func TestAwareBest(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	r := rand.New(rand.NewPCG(20, 2))
	const perCluster = 4
	clusters := size(40, 500)
	nodes := nodescoretest.Random(r, clusters*perCluster)
	group := func(i int) string { return fmt.Sprint("g", i/perCluster) }
	if err := n.createNodes(t.Context(), nodes, group); err != nil {
		t.Fatal(err)
	}
	if err := n.RunAware(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Reschedule(within(t), schedulerConfig(cluster.AwareAddress)); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	var pods []*corev1.Pod
	for i := range clusters {
		own := nodes[i*perCluster : (i+1)*perCluster]
		policy := []key.Policy{key.Spread, key.Binpack}[i%2]
		gpus := 1 + r.IntN(4)
		pod := gpuPod(fmt.Sprint("job-", i), gpus, group(i*perCluster))
		pod.Annotations = map[string]string{"metax-ctk.io/policy": policy.String()}
		pods = append(pods, pod)
		want[pod.Name] = nodescoretest.Best(own, gpus, policy)
	}
	if err := parallel(len(pods), func(i int) error {
		_, err := n.pods().Create(t.Context(), pods[i], metav1.CreateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the choice of nodes", func(context.Context) error {
		at := n.onBare(t, nodes)
		for name, best := range want {
			if at[name] == "" && len(best) > 0 {
				return fmt.Errorf("no node is chosen for %s; the best are %v", name, best)
			}
		}
		return nil
	})
	choices := 0
	for name, node := range n.onBare(t, nodes) {
		best, ok := want[name]
		if !ok {
			continue
		}
		if node != "" && !slices.Contains(best, node) || node == "" && len(best) > 0 {
			t.Errorf("%s is on %q; the best are %v", name, node, best)
		}
		if len(best) > 0 && len(best) < perCluster {
			choices++
		}
	}
	if choices < clusters/2 {
		t.Errorf("in only %d of %d clusters was there something to choose", choices, clusters)
	}
	if errors := n.metric(t, `metax_gpu_aware_questions_total{result="error",verb="prioritize"}`); errors > 0 {
		t.Errorf("%v questions were not answered", errors)
	}
}

// TestAwareStorm: many pods at once on nodes in random states. While they are placed, the
// extender is stopped, killed and replaced by one that answers wrongly, and a part of the
// nodes publishes lies. The scheduler goes on, all pods that have room are placed, and no node
// has more GPUs requested than it has.
func TestAwareStorm(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	nodes := nodescoretest.Random(rand.New(rand.NewPCG(20, 3)), size(60, 1000))
	if err := n.createNodes(t.Context(), nodes, func(int) string { return "storm" }); err != nil {
		t.Fatal(err)
	}
	room := 0
	for i, is := range nodes {
		room += len(is.Free)
		lies := map[int]map[string]string{
			0: {"topology.metax-ctk.io/state": `{"generation":9,"gpus":8,"free":"ff","unhealthy":"00","outside":"00"}`}, // all are free
			1: {"topology.metax-ctk.io/state": `{"generation":9,"gpus":8,"free":"00","unhealthy":"00","outside":"00"}`}, // none is
			2: {"topology.metax-ctk.io/node": strings.Repeat("[", 5000)},
			3: {scores: `{"1":1e9,"2":1999}`, "topology.metax-ctk.io/node": "{}"},
		}[i%20]
		for name, value := range lies {
			n.annotate(t, is.Name, name, value)
		}
	}
	if err := n.RunAware(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := n.Reschedule(within(t), schedulerConfig(cluster.AwareAddress)); err != nil {
		t.Fatal(err)
	}
	placed := func(part string) (count int) {
		for name, node := range n.onBare(t, nodes) {
			if strings.HasPrefix(name, part) && node != "" {
				count++
			}
		}
		return count
	}
	aware := n.Daemon(cluster.Aware)
	for _, part := range []struct {
		name string
		pods int
		do   func() error
	}{
		{"answers", size(60, 2000), func() error { return nil }},
		{"stopped", 10, func() error { return aware.Signal(syscall.SIGSTOP) }}, // each pod waits for two answers
		{"killed", size(30, 500), func() error { return errors.Join(aware.Signal(syscall.SIGCONT), aware.Kill()) }},
		{"wrong", size(20, 100), func() error { return n.RunNonsense(within(t), cluster.AwareAddress) }},
	} {
		if room -= part.pods; room < 0 {
			t.Fatalf("no room for the pods of %s", part.name)
		}
		if err := part.do(); err != nil {
			t.Fatalf("%s: %v", part.name, err)
		}
		began := time.Now()
		if err := parallel(part.pods, func(i int) error {
			_, err := n.pods().Create(t.Context(), gpuPod(fmt.Sprint(part.name, "-", i), 1, "storm"), metav1.CreateOptions{})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(size(1, 10))*patience)
		err := cluster.Eventually(ctx, func(context.Context) error {
			if count := placed(part.name); count < part.pods {
				return fmt.Errorf("%d of %d pods have a node", count, part.pods)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", part.name, err)
		}
		t.Logf("%s: %d pods on %d nodes, %.0f pods a second", part.name, part.pods, len(nodes), float64(part.pods)/time.Since(began).Seconds())
		if part.name == "answers" {
			t.Logf("the extender has %.1f MiB of its own", float64(n.memory(t, cluster.Aware))/(1<<20))
		}
	}
}

// awareNamespace is where the chart puts gpu-aware.
const awareNamespace = "metax-gpu"

// TestAwareChart installs gpu-aware by the chart, looks at it with the commands of the
// vendor's manual, gives its configuration to Kubernetes' scheduler as
// docs/kubernetes-schedulers.md says, and changes the weights while it runs.
func TestAwareChart(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.must(t, "kubectl", "label", "node", cluster.NodeName, "node-role.kubernetes.io/control-plane=")
	release := n.install(t, "--set", "deployExtenderGPUAware=true", "--set", "gpuAware.schedulers={default-scheduler,silent}", "--set", "readers[0].kind=ServiceAccount,readers[0].name=reader,readers[0].namespace="+namespace)
	n.account(t, "reader", namespace)
	n.must(t, "bash", "-c", "kubectl get svc -n metax-gpu | grep gpu-aware")
	n.must(t, "kubectl", "rollout", "status", "-n", awareNamespace, "daemonset/metax-gpu-aware", "--timeout=60s")
	n.must(t, "helm", "upgrade", release, "oci://"+project+"/metax-gpu-extensions", "--version", "<999", "-n", namespace, "--reuse-values", "--wait")
	n.must(t, "bash", "-c", "kubectl get cm -n metax-gpu -o name | grep gpu-aware-plugin")
	second, err := os.ReadFile("../../examples/second-scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WriteFile("/tmp/second-scheduler.yaml", string(second)); err != nil {
		t.Fatal(err)
	}
	n.must(t, "kubectl", "apply", "--dry-run=server", "-f", "/tmp/second-scheduler.yaml")

	// A node of two quads of which one is free, and one of which a half of each is. A pod that
	// is created on a node looks as if it were placed a moment ago, so gpu-aware begins anew.
	n.createNodesOf(t, map[string][]int{"quad": {0, 1, 2, 3}, "halves": {0, 1, 4, 5}})
	n.createBare(t, "without-annotations", nil, corev1.ResourceList{gpuResource: resource.MustParse("8")})
	n.must(t, "kubectl", "rollout", "restart", "-n", awareNamespace, "daemonset/metax-gpu-aware")
	n.must(t, "kubectl", "rollout", "status", "-n", awareNamespace, "daemonset/metax-gpu-aware", "--timeout=60s")

	n.reachesAware(t)

	silent := gpuPod("silent", 1, "")
	silent.Spec.SchedulerName = "silent"
	n.create(t, silent)
	if err := n.pods().Bind(within(t), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "silent"}, Target: corev1.ObjectReference{Kind: "Node", Name: "without-annotations"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := n.must(t, "kubectl", "get", "cm", "-n", awareNamespace, "metax-gpu-aware-scheduler", "-o", `jsonpath={.data.extender\.yaml}`)
	if err := n.Reschedule(within(t), config); err != nil {
		t.Fatal(err)
	}
	n.create(t, gpuPod("four", 4, "made"))
	if got := n.bound(t, "four").Spec.NodeName; got != "quad" {
		t.Errorf("the pod is on %s; the end of the scheduler's log:\n%s", got, n.Daemon("kube-scheduler").Tail(10))
	}
	weigh := func(loss string) {
		n.must(t, "kubectl", "patch", "cm", "-n", awareNamespace, "metax-gpu-aware-plugin", "--type=merge", "-p", `{"data": {"lossWeight": "`+loss+`"}}`)
	}
	weigh("lots")
	wait(t, "the Event of the mistake", func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Events(awareNamespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=MetaXGPUWeightsInvalid"})
		if err == nil && (len(list.Items) != 1 || !strings.Contains(list.Items[0].Message, "lots")) {
			err = fmt.Errorf("there are %+v", list.Items)
		}
		return err
	})
	weigh("1")
	wait(t, "the weights", func(ctx context.Context) error {
		log, err := n.Run(ctx, "kubectl", "logs", "-n", awareNamespace, "daemonset/metax-gpu-aware")
		if err == nil && !strings.Contains(log, `"msg":"weights","program":"metax-gpu-aware","score":0,"loss":1`) {
			err = fmt.Errorf("they did not arrive:\n%s", log)
		}
		return err
	})
	for _, row := range []struct{ line, want, without string }{
		{"why four", "nodes are ranked by scoreWeight 0, lossWeight 1", "no metax-gpu-aware runs"},
		{"bugreport -", "lossWeight: \"1\"", "is not read"},
	} {
		out, err := n.metax(within(t), "reader", strings.Fields(row.line)...)
		if err != nil || !strings.Contains(out, row.want) || strings.Contains(out, row.without) {
			t.Errorf("kubectl metax %s: %v, want %q and not %q in\n%s", row.line, err, row.want, row.without, out)
		}
	}
	wait(t, "the Event of the node without annotations", func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=MetaXGPUTopologyMissing"})
		if err == nil && (len(list.Items) != 1 || list.Items[0].InvolvedObject.Name != "without-annotations") {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	wait(t, "the Event of the pod that was placed without a question", func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + protocol.NotAskedReason})
		if err == nil && (len(list.Items) != 1 || list.Items[0].InvolvedObject.Name != "silent") {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	if out, err := n.metax(within(t), "reader", "why", "silent"); err != nil || !strings.Contains(out, "silent does not ask metax-gpu-aware") {
		t.Errorf("%v\n%s", err, out)
	}
	n.must(t, "kubectl", "delete", "node", "quad", "halves", "without-annotations") // nothing can be cleaned there
	n.uninstall(t, release)
}

// reachesAware waits until the Service of gpu-aware leads to its new pod.
func (n *node) reachesAware(t *testing.T) {
	t.Helper()
	wait(t, "the way to the new pod", func(ctx context.Context) error {
		// Without an end of its own, an attempt that is sent to the old pod would wait for it
		// until all time is over.
		_, err := n.Run(ctx, "bash", "-c", `at=$(kubectl get svc -n metax-gpu -o 'jsonpath={.items[0].spec.clusterIP}') && timeout 2 bash -c "exec 3<>/dev/tcp/$at/8080"`)
		return err
	})
}

// createNodesOf creates nodes of the group made, like the cluster's own, with these GPUs free.
func (n *node) createNodesOf(t *testing.T, free map[string][]int) {
	t.Helper()
	var nodes []nodescoretest.Node
	for name, list := range free {
		node, err := nodescoretest.Simulated("c500-8")
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, nodescoretest.Node{Name: name, GPUs: node, Free: list})
	}
	if err := n.createNodes(within(t), nodes, func(int) string { return "made" }); err != nil {
		t.Fatal(err)
	}
}
