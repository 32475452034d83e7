// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// c500 is a node object with 8 GPUs in two quads.
func c500(t testing.TB, name string, generation int64, free ...int) *corev1.Node {
	t.Helper()
	g := simtest.Node(t, "c500-8")
	annotations, err := nodescoretest.Node{GPUs: g, Free: free}.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	annotations[protocol.StateAnnotation] = protocol.NodeState{Generation: generation, GPUs: 8, Free: free}.String()
	return object(name, annotations)
}

func object(name string, annotations map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{protocol.Resource: resource.MustParse("8")}},
	}
}

// pod is a pod with GPUs; one that the kubelet has seen if node is not empty and seen is true.
func pod(name, node string, gpus int, seen bool) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{protocol.Resource: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}},
		}}},
	}
	if seen {
		p.Status.StartTime = &metav1.Time{Time: start}
	}
	return p
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newCluster() *Cluster {
	c := NewCluster(protocol.Resource, key.Spread)
	c.now = func() time.Time { return start }
	return c
}

var all8 = []int{0, 1, 2, 3, 4, 5, 6, 7}

// TestCluster: what is said of a node for four GPUs after each event.
func TestCluster(t *testing.T) {
	c := newCluster()
	nodes, pods := nodeStore(c), podStore(c)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"unknown", func() error { return nil }, "judged by counts: it is not known yet"},
		{"a node", func() error { return nodes.Add(c500(t, "n", 1, all8...)) }, "[0 1 2 3]"},
		{"a pod a moment ago", func() error { return pods.Add(pod("a", "n", 2, false)) }, "[4 5 6 7]"},
		{"the same again", func() error { return pods.Update(pod("a", "n", 2, true)) }, "[4 5 6 7]"},
		{"its GPUs are counted", func() error { return nodes.Update(c500(t, "n", 2, 2, 3, 4, 5, 6, 7)) }, "[4 5 6 7]"},
		{"a second pod", func() error { return pods.Add(pod("b", "n", 4, false)) }, "judged by counts: pods that were placed a moment ago may have the GPUs"},
		{"it is deleted at once", func() error { return pods.Delete(pod("b", "n", 4, false)) }, "[4 5 6 7]"},
		{"a pod that was there before", func() error { return pods.Add(pod("c", "n", 1, true)) }, "judged by counts: its state has 6 GPUs free of 8, but pods request 3"},
		{"it ends", func() error {
			p := pod("c", "n", 1, true)
			p.Status.Phase = corev1.PodSucceeded
			return pods.Update(p)
		}, "[4 5 6 7]"},
		{"a pod without GPUs", func() error { return pods.Add(pod("d", "n", 0, false)) }, "[4 5 6 7]"},
		{"a new list of pods", func() error { return pods.Replace([]any{pod("e", "n", 4, false)}, "") }, "judged by counts: pods that were placed a moment ago may have the GPUs"},
		{"after a while", func() error {
			c.now = func() time.Time { return start.Add(nodescore.Patience + 1) }
			return nil
		}, "judged by counts: its state has 6 GPUs free of 8, but pods request 4"},
		{"it is counted", func() error { return nodes.Update(c500(t, "n", 3, 2, 3, 4, 5)) }, "[2 3 4 5]"},
		{"the node is replaced", func() error { return nodes.Replace([]any{c500(t, "m", 1, all8...)}, "") }, "judged by counts: it is not known yet"},
		{"it comes back", func() error { return nodes.Add(c500(t, "n", 4, 4, 5, 6, 7)) }, "[4 5 6 7]"},
		{"it has no annotations", func() error { return nodes.Update(object("n", nil)) }, "judged by counts: it does not have both annotations topology.metax-ctk.io/node and topology.metax-ctk.io/state"},
		{"it is deleted", func() error { return nodes.Delete(object("n", nil)) }, "judged by counts: it is not known yet"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		j := c.Judge([]string{"n"}, nil, nodescore.Request{GPUs: 4, Policy: key.Spread})[0]
		got := j.Reason
		if j.Offer != nil {
			got = fmt.Sprint(j.Offer.Key.GPUs)
		}
		if got != step.want || !j.Fits {
			t.Errorf("%s: got %s\nwant %s", step.name, got, step.want)
		}
	}
	if err := pods.Replace(nil, ""); err != nil || len(c.pods) != 0 || len(c.nodes) != 1 {
		t.Errorf("%v: %d pods, %d nodes are left", err, len(c.pods), len(c.nodes))
	}
}

func TestProblems(t *testing.T) {
	c := newCluster()
	vendor := map[string]string{protocol.ScoresAnnotation: `{"1":0}`, protocol.LossesAnnotation: `{"1":0}`}
	none := object("no GPUs", nil)
	none.Status.Allocatable = nil
	if err := nodeStore(c).Replace([]any{
		c500(t, "good", 1, all8...), object("vendor", vendor), object("missing", nil), none, c500(t, "stale", 1, all8...),
		object("malformed", map[string]string{protocol.NodeAnnotation: "{}", protocol.StateAnnotation: "{}"}),
	}, ""); err != nil {
		t.Fatal(err)
	}
	if err := podStore(c).Add(pod("a", "stale", 1, true)); err != nil {
		t.Fatal(err)
	}
	got := map[string]nodescore.ProblemKind{}
	for name, p := range c.Problems() {
		got[name] = p.Kind
	}
	if diff := cmp.Diff(map[string]nodescore.ProblemKind{"missing": nodescore.Missing, "malformed": nodescore.Malformed, "stale": nodescore.Stale}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if nodes, recent := c.Counts(); nodes != 5 || recent != 0 {
		t.Errorf("%d nodes, %d recent pods", nodes, recent)
	}
}

// TestJudgeRemembers: what is remembered of a node is what would be said of it now, after any
// events and with more requests than are remembered.
func TestJudgeRemembers(t *testing.T) {
	c, r := newCluster(), rand.New(rand.NewPCG(40, 3))
	now := start
	c.now = func() time.Time { return now }
	nodes, pods := nodeStore(c), podStore(c)
	names := []string{"a", "b", "c"}
	remembered := 0
	for i := range 2000 {
		name := names[r.IntN(len(names))]
		p := pod(fmt.Sprint(r.IntN(6)), name, 1+r.IntN(3), r.IntN(2) == 0)
		var err error
		switch r.IntN(9) {
		case 0:
			err = nodes.Delete(object(name, nil))
		case 1:
			err = nodes.Update(object(name, nil))
		case 2, 3:
			err = nodes.Update(c500(t, name, int64(i), all8[r.IntN(8):]...))
		case 4, 5:
			err = pods.Update(p)
		case 6:
			err = pods.Delete(p)
		case 7:
			now = now.Add(nodescore.Patience / 3)
		default: // nothing happens
		}
		if err != nil {
			t.Fatal(err)
		}
		request := nodescore.Request{GPUs: 1 + r.IntN(maxJudgements/2), Policy: []key.Policy{key.Spread, key.Binpack, key.MTF}[r.IntN(3)]}
		for at, got := range c.Judge(names, nil, request) {
			e := c.nodes[names[at]]
			if e == nil || e.Name == "" {
				continue
			}
			n := e.Node
			n.Recent = n.Recent.At(now)
			if want := c.shapes.Judge(n, request); got != want {
				t.Fatalf("event %d: node %s: got %+v\nwant %+v", i, names[at], got, want)
			}
			remembered = max(remembered, len(*e.judged))
		}
	}
	if remembered != maxJudgements {
		t.Errorf("%d requests are remembered, want %d", remembered, maxJudgements)
	}
}
