// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/kubectl/view"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

func fixture(t *testing.T) (text string, o objects.Objects) {
	t.Helper()
	data, err := os.ReadFile("../../objects/testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if o, err = objects.Parse(data); err != nil {
		t.Fatal(err)
	}
	o.Missing = []string{"node-b.example.com did not answer"}
	return string(data), o
}

func TestGolden(t *testing.T) {
	_, o := fixture(t)
	text, err := New(o, []string{"kubectl metax v1", "Kubernetes v1.34.4"})
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/report.yaml", text)
}

// TestNoNames looks for what must not be in a report.
func TestNoNames(t *testing.T) {
	cluster, o := fixture(t)
	text, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"node-b.example", "example.com", "registry.", "train-1", "infer", "big", "x7f2p", "10.1.2.3", "hunter2", "Alice", "rack", "r7",
		"retired-node", "pool/secret", "c33d2d24", "f00dcafe", "private",
	} {
		if !strings.Contains(cluster, secret) {
			t.Errorf("the fixture does not have %q", secret)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("the report has %q", secret)
		}
	}
}

// TestReplay reads a report: it shows the same as the cluster did, and its own report is the
// same.
func TestReplay(t *testing.T) {
	_, o := fixture(t)
	text, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := objects.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	was, is := view.NewCluster(o), view.NewCluster(again)
	was.Missing = nil
	rename := func(c *view.Cluster) {
		for i := range c.Pending {
			c.Pending[i].Namespace, c.Pending[i].Name = "", ""
		}
		for i := range c.Problems {
			c.Problems[i].Node = ""
		}
	}
	rename(&was)
	rename(&is)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("(-cluster +report):\n%s", diff)
	}
	second, err := New(again, nil)
	if err != nil {
		t.Fatal(err)
	}
	strip := func(text []byte) string { _, list, _ := strings.Cut(string(text), "apiVersion: v1\n"); return list }
	if diff := cmp.Diff(strip(text), strip(second)); diff != "" {
		t.Errorf("the report of a report:\n%s", diff)
	}
}

// TestAware: a report says how metax-gpu-aware ranks nodes, and nothing else of its arguments.
func TestAware(t *testing.T) {
	_, o := fixture(t)
	at := slices.IndexFunc(o.Pods, func(p corev1.Pod) bool { return objects.IsProgram(&p) })
	aware := o.Pods[at].DeepCopy()
	aware.Name, aware.Namespace, aware.Labels["app.kubernetes.io/name"] = "metax-gpu-aware-1", "gpus", protocol.Aware
	aware.Spec.Containers[0].Args = []string{"--policy=binpack", "--tls-cert=/secret", "--policy=secret"}
	weights := corev1.ConfigMap{Data: map[string]string{"scoreWeight": "1", "lossWeight": "0.5"}}
	weights.Name, weights.Namespace = protocol.AwareConfigMapName, "gpus"
	o.Pods, o.Configs = append(o.Pods, *aware), append(o.Configs, weights)
	text, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := objects.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	at = slices.IndexFunc(again.Pods, func(p corev1.Pod) bool { return objects.Requested(&p, protocol.Resource) == 2 })
	w := view.NewWhy(again, &again.Pods[at])
	if w.Policy != "binpack" || w.Weights == nil || *w.Weights != (view.Weights{Score: 1, Loss: 0.5}) || strings.Contains(string(text), "secret") {
		t.Errorf("%s, %v in\n%s", w.Policy, w.Weights, text)
	}
}

// TestInvalid: an annotation that is not of its form is kept, since it may be the fault.
func TestInvalid(t *testing.T) {
	_, o := fixture(t)
	o.Nodes[0].Annotations[protocol.NodeAnnotation] = `{"version": "model"}`
	text, err := New(o, nil)
	if err != nil || !strings.Contains(string(text), `{"version": "pod-`) {
		t.Errorf("%v, %s", err, text)
	}
}

// TestReasons: a name in a reason, which other programs write, is replaced as in a message.
func TestReasons(t *testing.T) {
	_, o := fixture(t)
	name := o.Pods[0].Name
	o.Nodes[0].Status.Conditions = append(o.Nodes[0].Status.Conditions, corev1.NodeCondition{Type: "Ready", Reason: "A" + name + " " + name})
	o.Pods[0].Status.Reason = "evicted by " + name
	o.Pods[0].Status.Conditions = append(o.Pods[0].Status.Conditions, corev1.PodCondition{Type: "Ready", Reason: name})
	o.Events[0].Reason = name
	text, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := objects.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, n := range again.Nodes {
		for _, c := range n.Status.Conditions {
			reasons = append(reasons, c.Reason)
		}
	}
	for _, p := range again.Pods {
		reasons = append(reasons, p.Status.Reason)
		for _, c := range p.Status.Conditions {
			reasons = append(reasons, c.Reason)
		}
	}
	for _, e := range again.Events {
		reasons = append(reasons, e.Reason)
	}
	if all := strings.Join(reasons, "\n"); strings.Contains(all, " "+name) || strings.Contains(all, "\n"+name) || !strings.Contains(all, "evicted by pod-") {
		t.Errorf("the report has %s in %q", name, reasons)
	}
}

// TestControlCharacters: a report with one in an Event, also of those that JSON does not
// escape, is written and read.
func TestControlCharacters(t *testing.T) {
	_, o := fixture(t)
	o.Events[0].Message, o.Events[0].Reason = "a\x1b[31m\x7fb\u0085c\xff\nd", "R\u200e"
	text, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := objects.Parse(text)
	if err != nil || len(again.Events) != len(o.Events) {
		t.Fatalf("%d Events, %v", len(again.Events), err)
	}
	if e := again.Events[0]; e.Message != "a\ufffd[31m\ufffdb\ufffdc\ufffd\nd" || e.Reason != "R\ufffd" {
		t.Errorf("%q %q", e.Message, e.Reason)
	}
}
