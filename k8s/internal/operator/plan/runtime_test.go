// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestRuntimeTurns has nodes as NAME, NAME+ with the label of a turn, and NAME+REPORT with a
// report also, and which node has the next turn.
func TestRuntimeTurns(t *testing.T) {
	for _, test := range []struct{ nodes, open, condition string }{
		{"a b c", "a", "False Progressing"},
		{"a+ b c", "", "False Progressing"},
		{"a+ready b c", "b", "False Progressing"},
		{"a+ready b+ c", "", "False Progressing"},
		{"a+ready b+ready c+ready", "", "True Deployed"},
		{"a+RestartNeeded b c", "b", "False Incomplete"},
		{"a+RestartFailed b c", "", "False Incomplete"},
		{"a+ready b+RestartFailed c", "", "False Incomplete"},
		{"a+ready b+InUse c+ready", "", "False Incomplete"},
	} {
		w := runtimeWorld(t, test.nodes)
		o := object(t, "{runtime: {config: {cdiMode: false}}}")
		w.run(o)
		p := w.run(o)
		if got := strings.Join(p.Open, " "); got != test.open || len(p.Shut) > 0 {
			t.Errorf("%s: %q is let in and %q shut, want %q", test.nodes, got, p.Shut, test.open)
		}
		if got := lines(p.Status)[2]; got != "RuntimeReady="+test.condition {
			t.Errorf("%s: %s: %s", test.nodes, got, message(p.Status, "RuntimeReady"))
		}
		set := w.present[protocol.Runtime]
		set.Status.NumberReady = 0
		if p := w.plan(o); len(p.Open) > 0 {
			t.Errorf("%s: %q is let in while a pod is not ready", test.nodes, p.Open)
		}
	}
}

// runtimeWorld has nodes in the form of TestRuntimeTurns.
func runtimeWorld(t *testing.T, nodes string) *world {
	t.Helper()
	n := Nodes{Reports: map[string]map[string]report.Report{report.Runtime: {}}, Labels: map[string]map[string]string{}}
	for word := range strings.SplitSeq(nodes, " ") {
		name, state, turn := strings.Cut(word, "+")
		n.GPU++
		n.Labels[name] = map[string]string{protocol.LabelInstalled: "true"}
		if turn {
			n.Labels[name][protocol.LabelRuntime] = "true"
		}
		if state == "ready" {
			n.Reports[report.Runtime][name] = report.Report{Ready: true}
		} else if state != "" {
			n.Reports[report.Runtime][name] = report.Report{Reason: state}
		}
	}
	return &world{Manifests: manifests(t, ""), nodes: n, present: map[string]*appsv1.DaemonSet{}}
}

// TestRuntimeOff takes back what was set up before the DaemonSet goes, and then the labels.
func TestRuntimeOff(t *testing.T) {
	for _, off := range []string{"{}", "{runtime: {deploy: false, config: {cdiMode: false}}}", "{minimalMode: true}"} {
		w := runtimeWorld(t, "a+ready b+ready")
		w.run(object(t, "{runtime: {config: {cdiMode: false}}}"))
		o := object(t, off)
		p := w.run(o)
		set := w.present[protocol.Runtime]
		pod := set.Spec.Template.Spec
		if !slices.Contains(pod.InitContainers[0].Args, "--remove") || !slices.Contains(pod.Containers[0].Args, "--remove") || len(p.Shut)+len(p.Delete) > 0 {
			t.Fatalf("%s: %q %q %q", off, pod.Containers[0].Args, p.Shut, p.Delete)
		}
		w.nodes.Reports[report.Runtime] = map[string]report.Report{"b": {Reason: "InUse", Message: "1 container"}}
		if p = w.run(o); len(p.Delete) > 0 || !strings.Contains(message(p.Status, "RuntimeReady"), "taken back: b: 1 container (InUse)") {
			t.Errorf("%s: %q %s", off, p.Delete, message(p.Status, "RuntimeReady"))
		}
		delete(w.nodes.Reports[report.Runtime], "b")
		set.Status.UpdatedNumberScheduled = 1
		if p = w.run(o); len(p.Delete) > 0 {
			t.Errorf("%s: it goes before all pods are new", off)
		}
		set.Status.UpdatedNumberScheduled = 3
		if p = w.run(o); !slices.Contains(p.Delete, protocol.Runtime) || len(p.Shut) > 0 {
			t.Errorf("%s: %q %q", off, p.Delete, p.Shut)
		}
		if p = w.run(o); strings.Join(p.Shut, " ") != "a b" {
			t.Errorf("%s: %q", off, p.Shut)
		}
	}
}

// TestRuntimeElsewhere lets in only nodes that pods of the DaemonSet can run on.
func TestRuntimeElsewhere(t *testing.T) {
	w := runtimeWorld(t, "a b")
	w.nodes.Labels["b"]["pool"] = "x"
	o := object(t, "{runtime: {config: {cdiMode: false}, podTemplateSpec: {spec: {nodeSelector: {pool: x}}}}}")
	if p := w.plan(o); strings.Join(p.Open, " ") != "b" {
		t.Errorf("%q", p.Open)
	}
}
