// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

func find(t *testing.T, o objects.Objects, name string) *corev1.Pod {
	t.Helper()
	at := slices.IndexFunc(o.Pods, func(p corev1.Pod) bool { return p.Name == name })
	if at < 0 {
		t.Fatalf("the fixture has no pod %s", name)
	}
	return &o.Pods[at]
}

func TestWhyGolden(t *testing.T) {
	o := fixture(t)
	for _, name := range []string{"big", "four", "model", "infer", "slice", "done"} {
		w := NewWhy(o, find(t, o, name))
		golden.Equal(t, "testdata/why-"+name+".txt", document(t, w.Text(), w))
	}
}

// TestRemedies makes one thing missing at a time on node-b, the only node: of its GPUs, 0 to 2
// are free, 3 is unhealthy, 4 and 5 are those of the pod train-1, and 6 and 7 are in use
// outside.
func TestRemedies(t *testing.T) {
	for _, test := range []struct {
		name string
		gpus int64
		edit func(*corev1.Node, *corev1.Pod)
		want []RemedyKind
	}{
		{"it fits", 3, nil, []RemedyKind{Other}},
		{"one more", 4, nil, []RemedyKind{RequestFewer, Repair, EndOutside, EndPods}},
		{"two more", 5, nil, []RemedyKind{RequestFewer, EndOutside, EndPods}},
		{"three more", 6, nil, []RemedyKind{RequestFewer}},
		{"more than there are", 16, nil, []RemedyKind{RequestFewer}},
		{"cordoned", 3, func(n *corev1.Node, _ *corev1.Pod) { n.Spec.Unschedulable = true }, []RemedyKind{Uncordon}},
		{"cordoned and too few", 4, func(n *corev1.Node, _ *corev1.Pod) { n.Spec.Unschedulable = true }, nil},
		{"not ready", 3, func(n *corev1.Node, _ *corev1.Pod) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, []RemedyKind{Repair}},
		{"taint", 3, func(n *corev1.Node, _ *corev1.Pod) {
			n.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		}, []RemedyKind{Tolerate}},
		{"taint tolerated", 3, func(n *corev1.Node, p *corev1.Pod) {
			n.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}, []RemedyKind{Other}},
		{"selector", 3, func(_ *corev1.Node, p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "b"} }, []RemedyKind{Select}},
		{"the policy mtf", 3, func(_ *corev1.Node, p *corev1.Pod) {
			p.Annotations = map[string]string{protocol.PolicyAnnotation: "mtf"}
		}, []RemedyKind{RequestFewer}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := fixture(t)
			p := find(t, o, "big").DeepCopy()
			p.Spec.Containers[0].Resources.Requests[protocol.Resource] = *resource.NewQuantity(test.gpus, resource.DecimalSI)
			o = o.OfNode("node-b.example.com")
			if test.edit != nil {
				test.edit(&o.Nodes[0], p)
			}
			w := NewWhy(o, p)
			var got []RemedyKind
			for _, r := range w.Remedies {
				got = append(got, r.Kind)
				if !slices.Equal(r.Nodes, []string{"node-b.example.com"}) {
					t.Errorf("%s: %s", r.Kind, r.Nodes)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, w.Text())
			}
		})
	}
}

// TestWhyIsShort: the answer for a thousand nodes in mixed states has a few lines.
func TestWhyIsShort(t *testing.T) {
	o := fixture(t)
	few := o.Nodes
	o.Nodes = nil
	for i := range 1000 {
		n := few[i%len(few)].DeepCopy()
		n.Name = fmt.Sprintf("node-%04d", i)
		o.Nodes = append(o.Nodes, *n)
	}
	for _, name := range []string{"big", "four", "infer"} {
		w := NewWhy(o, find(t, o, name))
		if text := w.Text(); strings.Count(text, "\n") > 30 || len(w.Nodes) != 1000 {
			t.Errorf("%d nodes:\n%s", len(w.Nodes), text)
		}
	}
}

// TestWhyRanks: Nodes are ranked as the metax-gpu-aware of the cluster does, by its weights
// and, for a pod that names no policy, by its policy.
func TestWhyRanks(t *testing.T) {
	for _, test := range []struct {
		name, pod string
		args      []string
		weights   map[string]string
		policy    string
		by        *Weights
		first     string // Node
		note      bool
	}{
		{"none runs", "infer", nil, nil, "spread", nil, "node-b.example.com", true},
		{"its policy", "infer", []string{"--address=:8080", "--policy=binpack"}, nil, "binpack", nil, "node-b.example.com", false},
		{"the policy of the pod", "four", []string{"--policy=spread"}, nil, "binpack", nil, "node-a", false},
		{"a policy that does not exist", "infer", []string{"--policy=best"}, nil, "spread", nil, "node-b.example.com", false},
		{"weights", "infer", []string{"--policy=spread"}, map[string]string{"scoreWeight": "2", "lossWeight": "0"}, "spread", &Weights{2, 0}, "node-a", false},
		{"no weights", "infer", []string{"--policy=spread"}, map[string]string{"scoreWeight": "", "lossWeight": "x"}, "spread", nil, "node-b.example.com", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := fixture(t)
			if test.args != nil {
				p := find(t, o, "metax-gpu-device-x7f2p").DeepCopy()
				p.Name, p.Namespace, p.Labels["app.kubernetes.io/name"] = "metax-gpu-aware-1", "metax-gpu", protocol.Aware
				p.Spec.Containers[0].Args = test.args
				o.Pods = append(o.Pods, *p)
			}
			if test.weights != nil {
				c := corev1.ConfigMap{Data: test.weights}
				c.Name, c.Namespace = protocol.AwareConfigMapName, "metax-gpu"
				o.Configs = append(o.Configs, c)
			}
			w := NewWhy(o, find(t, o, test.pod))
			first := w.Nodes[slices.IndexFunc(w.Nodes, func(v Verdict) bool { return v.Rank == 10 })].Node
			note := strings.Contains(strings.Join(w.Notes, "\n"), "no metax-gpu-aware runs")
			if w.Policy != test.policy || !cmp.Equal(w.Weights, test.by) || first != test.first || note != test.note {
				t.Errorf("%s, %v, %s first, %q:\n%s", w.Policy, w.Weights, first, w.Notes, w.Text())
			}
			if test.by != nil && !strings.Contains(w.Text(), "nodes are ranked by scoreWeight 2, lossWeight 0)") {
				t.Error(w.Text())
			}
		})
	}
}

// TestUnknownGPUs: a pod without a valid annotation of what it was given has GPUs that are not
// known.
func TestUnknownGPUs(t *testing.T) {
	o := fixture(t)
	for _, annotation := range []string{"", "GPU-1", "x"} {
		p := find(t, o, "model")
		p.Annotations = map[string]string{protocol.GivenAnnotation: annotation}
		w := NewWhy(o, p)
		if v := w.Nodes[0]; w.Own != nil || !strings.HasPrefix(v.Reason, "which GPUs the pod has is not known") {
			t.Errorf("%q: %+v, %+v", annotation, w.Own, v)
		}
	}
}

// TestWhyNotAsked: a scheduler that does not ask does not know the ranks.
func TestWhyNotAsked(t *testing.T) {
	o := fixture(t)
	p := find(t, o, "big").DeepCopy()
	p.Spec.SchedulerName = "s"
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for asked, want := range map[time.Time]bool{{}: true, at.Add(time.Second): false} {
		o.Asked = map[string]protocol.Asked{"s": {Last: asked, Unasked: at, Pod: "ns/p"}}
		const note = "s does not ask metax-gpu-aware, so it does not know these ranks: it placed ns/p without a question at 2026-01-01T00:00:00Z (docs/kubernetes-schedulers.md)"
		if text := NewWhy(o, p).Text(); strings.Contains(text, note) != want {
			t.Errorf("asked %v:\n%s", asked, text)
		}
	}
}
