// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// manualConfig has the values of the vendor's manual, nodeCacheCapable and ignorable false,
// and HTTPS.
var manualConfig = strings.NewReplacer(
	"http://", "https://", "nodeCacheCapable: true", "nodeCacheCapable: false",
	"ignorable: true", "ignorable: false\n  enableHTTPS: true\n  tlsConfig: "+cluster.ScheduleTLS,
).Replace(schedulerConfig(cluster.AwareAddress))

// vector is the only complete list of scores that HAMi's tests have, of 1 to 8 GPUs.
const vector = `{"1":0,"2":110,"3":270,"4":540,"5":580,"6":730,"7":930,"8":1240}`

// publishedRows are rows of the tests and documents of HAMi (4707fb02) and of Kunlunxin, as
// choices between nodes. The name has what they publish: HAMi's node score, of which the
// highest wins with binpack and the lowest with spread, or by how much the least number of
// jobs that fill the node changes (delta), of which the least is best.
var publishedRows = []struct {
	name, policy string
	gpus         int
	nodes        []string // used GPUs as Kunlunxin writes them, 7 to 0, or the values of HAMi's annotation
	want         int      // of nodes; none if none may have the pod
}{
	{"1800 and 1679", "binpack", 2, []string{`{"1":123,"2":321}`, `{"1":100,"2":200}`}, 1},
	{"1800 and 1890", "binpack", 2, []string{vector, `{"1":100,"2":200}`}, 0},
	{"1900 and 2000", "spread", 1, []string{vector, `{"1":100,"2":200}`}, 1},
	{"1800 and 1890", "spread", 2, []string{vector, `{"1":100,"2":200}`}, 1},

	{"delta -1, 0, 1 and 2", "mtf", 1, []string{"00000000", "00001111", "00000111", "00000011"}, 2},
	{"delta 0, 1 and 2", "mtf", 1, []string{"00000000", "00001111", "00000011"}, 2},
	{"delta 1 and 2", "mtf", 1, []string{"00000000", "00001111"}, 1},
	{"00000111 to 00110111 is 0, a pair -1", "mtf", 2, []string{"00000111", "00000011"}, 1},
	{"used 0 to 3, delta -1, and none, delta 0", "mtf", 4, []string{"00000000", "00001111"}, 1},
	{"full allocate", "mtf", 8, []string{"00100000", "00000000"}, 1},
	{"full allocate not success", "mtf", 8, []string{"00100000"}, none},
	{"allocate 2 cards", "mtf", 2, []string{"00100000"}, 0},
	{"allocate 1 card", "mtf", 1, []string{"00100000"}, 0},
	{"allocate 1 card", "mtf", 1, []string{"11000000"}, 0},
	// HAMi's code for Kunlunxin takes these across NUMA nodes, which Kunlunxin's own rules
	// forbid.
	{"allocate 2 card according to interconnect", "mtf", 2, []string{"01110111"}, none},
	{"allocate 4 cards when have 5 cards", "mtf", 4, []string{"10001100"}, none},
	{"allocate 4 cards when have 6 cards, leave 2 cards unconnected", "mtf", 4, []string{"01001000", "00001111"}, 1},
	{"allocate 4 cards when have 6 cards, leave 2 cards connected", "mtf", 4, []string{"01000100", "00001111"}, 1},
	{"only 1, 2, 4, 8 are legal: 3", "mtf", 3, []string{"00000000"}, none},
	{"only 1, 2, 4, 8 are legal: 6", "mtf", 6, []string{"00000000"}, none},
}

const none = -1

// TestAwarePublished sends the published rows through Kubernetes' scheduler with the manual's
// values. With these a pod waits while the extender is away, and is placed when it is back.
func TestAwarePublished(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	var nodes []nodescoretest.Node
	group := map[int]string{} // of a node
	for row, r := range publishedRows {
		for i, is := range r.nodes {
			group[len(nodes)] = fmt.Sprint("row-", row)
			nodes = append(nodes, publishedNode(t, fmt.Sprintf("row-%d-%d", row, i), is))
		}
	}
	if err := n.createNodes(within(t), nodes, func(i int) string { return group[i] }); err != nil {
		t.Fatal(err)
	}
	for row, r := range publishedRows {
		for i, is := range r.nodes {
			if strings.HasPrefix(is, "{") {
				n.publishHAMi(t, fmt.Sprintf("row-%d-%d", row, i), r.policy, is)
			}
		}
	}
	if err := n.RunAware(within(t), cluster.AwareTLS...); err != nil {
		t.Fatal(err)
	}
	if err := n.Reschedule(within(t), manualConfig); err != nil {
		t.Fatal(err)
	}
	for row, r := range publishedRows {
		pod := gpuPod(fmt.Sprint("row-", row), r.gpus, fmt.Sprint("row-", row))
		pod.Annotations = map[string]string{protocol.PolicyAnnotation: r.policy}
		n.create(t, pod)
	}
	for row, r := range publishedRows {
		name, want := fmt.Sprint("row-", row), ""
		if r.want != none {
			want = fmt.Sprintf("row-%d-%d", row, r.want)
		}
		if got := n.decided(t, name).Spec.NodeName; got != want {
			t.Errorf("%s, %d GPUs by %s of %q: the pod is on %q, want %q", r.name, r.gpus, r.policy, r.nodes, got, want)
		}
	}
	if errors := n.metric(t, `metax_gpu_aware_questions_total{result="error",verb="filter"}`); errors > 0 {
		t.Errorf("%v questions were not answered", errors)
	}

	if err := n.Daemon(cluster.Aware).Stop(); err != nil {
		t.Fatal(err)
	}
	n.createNodesOf(t, map[string][]int{"waited-for": {0, 1, 2, 3}})
	n.create(t, gpuPod("waits", 1, "made"))
	if pod := n.decided(t, "waits"); pod.Spec.NodeName != "" {
		t.Errorf("without the extender, which may not be ignored, the pod is on %s", pod.Spec.NodeName)
	}
	if err := n.RunAware(within(t), cluster.AwareTLS...); err != nil {
		t.Fatal(err)
	}
	n.bound(t, "waits")
}

// publishedNode is a node of two domains of four, each in a NUMA node, with the used GPUs of a
// published row.
func publishedNode(t *testing.T, name, used string) nodescoretest.Node {
	t.Helper()
	node, err := nodescoretest.Simulated("c500-8-sys")
	if err != nil {
		t.Fatal(err)
	}
	n := nodescoretest.Node{Name: name, GPUs: node}
	for g := range node.GPUs {
		if strings.HasPrefix(used, "{") || used[len(used)-1-g] == '0' {
			n.Free = append(n.Free, g)
		}
	}
	return n
}

// publishHAMi leaves a node HAMi's annotations only: the values for the policy, and equal ones
// of the other kind.
func (n *node) publishHAMi(t *testing.T, name, policy, values string) {
	t.Helper()
	decides, other := scores, losses
	if policy == "binpack" {
		decides, other = losses, scores
	}
	n.annotate(t, name, protocol.NodeAnnotation, nil)
	n.annotate(t, name, protocol.StateAnnotation, nil)
	n.annotate(t, name, decides, values)
	n.annotate(t, name, other, `{"1":0,"2":0}`)
}

// decided waits until the scheduler has chosen a node for the pod, or has said why it cannot.
func (n *node) decided(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	wait(t, "pod "+name, func(ctx context.Context) (err error) {
		if pod, err = n.pods().Get(ctx, name, metav1.GetOptions{}); err != nil || pod.Spec.NodeName != "" || state(pod) != "" {
			return err
		}
		return fmt.Errorf("the scheduler says nothing of it")
	})
	return pod
}
