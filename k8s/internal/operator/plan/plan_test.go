// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/charts"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func manifests(t *testing.T, values string) Manifests {
	t.Helper()
	m, err := NewManifests(charts.Extensions, charts.Operator, []byte(values), "gpus", "metax-operator")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// object is a ClusterOperator with a spec as YAML.
func object(t *testing.T, spec string) *v1alpha1.ClusterOperator {
	t.Helper()
	o := &v1alpha1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name, UID: "1", Generation: 2}}
	if err := yaml.UnmarshalStrict([]byte(spec), &o.Spec); err != nil {
		t.Fatal(err)
	}
	return o
}

// world is a cluster in which plans are carried out at once.
type world struct {
	Manifests
	nodes   Nodes
	present map[string]*appsv1.DaemonSet
	configs map[string]map[string]string
}

func (w *world) plan(o *v1alpha1.ClusterOperator) Plan {
	rendered, err := w.Render(o.Spec)
	return Decide(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err, Present: w.present, Configs: w.configs})
}

// run carries a plan out, as if all pods were ready at once.
func (w *world) run(o *v1alpha1.ClusterOperator) Plan {
	p := w.plan(o)
	for _, set := range p.Apply {
		set = set.DeepCopy()
		set.Generation, set.TypeMeta = 1, metav1.TypeMeta{}
		set.Spec.RevisionHistoryLimit = new(int32) // a default of the API server's
		set.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, NumberReady: 3, UpdatedNumberScheduled: 3}
		w.present[set.Name] = set
	}
	for _, name := range p.Delete {
		delete(w.present, name)
	}
	o.Status = p.Status
	return p
}

// lines are the conditions as TYPE=STATUS REASON.
func lines(s v1alpha1.ClusterOperatorStatus) (list []string) {
	for _, c := range s.Conditions {
		if c.Type == ConfigUnderstood && c.Status == metav1.ConditionTrue {
			continue // always
		}
		list = append(list, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return list
}

func message(s v1alpha1.ClusterOperatorStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

const (
	host = "RuntimeReady=True Host, DriverReady=True Host, MACAReady=True Host, "
	all  = "LabelgenReady=True Deployed, " + host + "DevicePluginReady=True Deployed, NodesValidated=True Validated"
)

// TestDecide has specs and nodes, and what is deployed and said once all pods are ready.
func TestDecide(t *testing.T) {
	drivers := map[string]map[string]report.Report{"driver": {
		"a": {Reason: "InUse", Message: "it waits for pod team/job"}, "b": {Ready: true, Reason: "NoModule", Message: "driver 1 stays"},
		"c": {Ready: true, Reason: "Host", Message: "driver 1 of the host is used"}, "e": {Ready: true},
	}}
	three := Nodes{GPU: 3, Families: map[string]int32{"MXC": 3}}
	with := func(versions ...string) Nodes {
		n := Nodes{GPU: 3, Families: map[string]int32{"MXC": 3}, Reports: map[string]map[string]report.Report{report.MACA: {}}}
		for i, version := range versions {
			r := report.Report{Ready: version != "", Version: version}
			if version == "" {
				r.Reason, r.Message = "BadPayload", "a link leads out"
			}
			n.Reports[report.MACA][string(rune('a'+i))] = r
		}
		return n
	}
	maca := func(reason string) string {
		return "Ready=" + reason + ", " + strings.Replace(all, "MACAReady=True Host", "MACAReady="+reason+", MACADeployed=True Deployed", 1)
	}
	for _, test := range []struct {
		what, spec string
		nodes      Nodes
		sets       string
		conditions string
		message    string // KIND: part of its message
	}{
		{what: "nothing said", spec: "{}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=True Deployed, " + all},
		{what: "no GPU", spec: "{dataExporter: {deploy: true}}", sets: "metax-gpu-label", conditions: "Ready=True NoGPUNode, LabelgenReady=True Deployed, " + host + "DevicePluginReady=True NoGPUNode, DataExporterReady=True NoGPUNode"},
		{what: "minimal mode", spec: "{minimalMode: true, dataExporter: {deploy: true}, driver: {deployPolicy: Always}, maca: {payload: {images: ['a:1']}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=True Deployed, LabelgenReady=True Deployed, DevicePluginReady=True Deployed, DataExporterReady=True MinimalMode"},
		{what: "exporter", spec: "{dataExporter: {deploy: true}}", nodes: three, sets: "metax-exporter metax-gpu-device metax-gpu-label", conditions: "Ready=True Deployed, " + all + ", DataExporterReady=True Deployed"},
		{what: "plugin off", spec: "{devicePlugin: {deploy: false}}", nodes: three, sets: "metax-gpu-label", conditions: "Ready=True Deployed, LabelgenReady=True Deployed, " + strings.TrimSuffix(host, ", ")},
		{what: "a node without driver", spec: "{driver: {deployPolicy: Never}}", nodes: Nodes{GPU: 5, NoDriver: []string{"a", "b", "c", "d"}}, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False Incomplete", 1), message: "DriverReady: 4 of 5 nodes with a GPU have no driver: a, b, c and 1 more"},
		{what: "nodes that are not ready", spec: "{}", nodes: Nodes{GPU: 5, NotReady: []string{"a (NoPlugin)", "b (BadSpec)"}}, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "NodesValidated=True Validated", "NodesValidated=False Incomplete", 1), message: "NodesValidated: 2 of 5 nodes with a GPU cannot give it to a container: a (NoPlugin), b (BadSpec)"},
		{what: "a driver from an image", spec: "{driver: {deployPolicy: Always, payload: {version: '1'}}}", nodes: three, sets: "metax-driver metax-gpu-device metax-gpu-label", conditions: "Ready=True Deployed, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=True Deployed", 1)},
		{what: "a driver for nodes without a GPU", spec: "{driver: {deployPolicy: Always, payload: {version: '1'}}}", sets: "metax-gpu-label", conditions: "Ready=True NoGPUNode, LabelgenReady=True Deployed, " + strings.Replace(host, "DriverReady=True Host", "DriverReady=True NoGPUNode", 1) + "DevicePluginReady=True NoGPUNode"},
		{what: "a driver that is switched off", spec: "{driver: {deploy: false, deployPolicy: Always, payload: {version: '1'}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=True Deployed, " + all},
		{what: "drivers that are not as requested", spec: "{driver: {deployPolicy: PreferHost, payload: {version: '1'}}}", nodes: Nodes{GPU: 5, NoDriver: []string{"a", "d"}, Reports: drivers}, sets: "metax-driver metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False Incomplete", 1), message: "DriverReady: not as requested on 3 of 5 nodes with a GPU: a: it waits for pod team/job (InUse), b: driver 1 stays (NoModule), d: it has no driver yet"},
		{what: "firmware", spec: "{driver: {deployPolicy: IfNotPresent, fwUpgradePolicy: Always, payload: {version: '1'}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False NotBuilt", 1), message: "DriverReady: writes no firmware"},
		{what: "MXMACA from images", spec: "{maca: {payload: {images: ['maca:1', 'maca-n100:1']}}}", nodes: with("1", "1", "1"), sets: "metax-gpu-device metax-gpu-label metax-maca", conditions: maca("True Deployed")},
		{what: "MXMACA on its way", spec: "{maca: {payload: {images: ['maca:1']}}}", nodes: with("1", "1"), sets: "metax-gpu-device metax-gpu-label metax-maca", conditions: maca("False Progressing"), message: "MACAReady: 2 of 3 nodes have the configured MXMACA"},
		{what: "MXMACA that is refused", spec: "{maca: {payload: {images: ['maca:1']}}}", nodes: with("1", "", ""), sets: "metax-gpu-device metax-gpu-label metax-maca", conditions: maca("False Incomplete"), message: "MACAReady: 2 of 3 nodes do not have the configured MXMACA: b: a link leads out (BadPayload), c: "},
		{what: "no MXMACA for the nodes", spec: "{maca: {payload: {images: ['maca-n100:1']}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "MACAReady=True Host", "MACAReady=False Incomplete", 1), message: "MACAReady: no image of maca.payload.images is for the GPUs of 3 of 3 nodes"},
		{what: "parts that do not exist", spec: "{topoDiscovery: {deploy: true}, gpuScheduler: {deploy: true}, openshift: {deploy: false}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + all + ", OptionsSupported=False NotBuilt", message: "OptionsSupported: does not have topoDiscovery, gpuScheduler"},
		{what: "paused", spec: "{paused: true}", nodes: three, conditions: "Ready=False Paused, " + strings.ReplaceAll(all, "True Deployed", "False Progressing")},
		{what: "a bad option", spec: "{devicePlugin: {healthyInterval: -5}}", nodes: three, conditions: "Ready=False Invalid, " + strings.TrimSuffix(host, ", "), message: "Ready: healthyInterval"},
		{what: "a bad template", spec: "{devicePlugin: {podTemplateSpec: {spec: {nodeSelektor: {a: b}}}}}", nodes: three, sets: "metax-gpu-label", conditions: "Ready=False Invalid, " + strings.Replace(all, "DevicePluginReady=True Deployed", "DevicePluginReady=False Invalid", 1), message: `DevicePluginReady: unknown field "nodeSelektor"`},
		{what: "an image without a tag", spec: "{devicePlugin: {image: hub/gpu-device}}", nodes: three, sets: "metax-gpu-label", conditions: "Ready=False Invalid, " + strings.Replace(all, "DevicePluginReady=True Deployed", "DevicePluginReady=False Invalid", 1)},
	} {
		t.Run(test.what, func(t *testing.T) {
			w := &world{Manifests: manifests(t, ""), nodes: test.nodes, present: map[string]*appsv1.DaemonSet{}}
			o := object(t, test.spec)
			w.run(o)
			p := w.run(o)
			if len(p.Apply)+len(p.Delete) > 0 {
				t.Errorf("what is as requested is written again: %v %v", p.Apply, p.Delete)
			}
			var sets []string
			for name := range w.present {
				sets = append(sets, name)
			}
			slices.Sort(sets)
			if d := cmp.Diff(test.sets, strings.Join(sets, " ")); d != "" {
				t.Errorf("DaemonSets:\n%s", d)
			}
			if d := cmp.Diff(strings.Split(test.conditions, ", "), lines(p.Status)); d != "" {
				t.Errorf("conditions:\n%s", d)
			}
			if kind, want, ok := strings.Cut(test.message, ": "); ok && !strings.Contains(message(p.Status, kind), want) {
				t.Errorf("%s: %s", kind, message(p.Status, kind))
			}
		})
	}
}

// TestVendor deploys what a ClusterOperator of the vendor's describes, by this project's
// images, and says what it cannot do.
func TestVendor(t *testing.T) {
	text := testfile.Read(t, "../../../api/v1alpha1/testdata/vendor.yaml")
	o := &v1alpha1.ClusterOperator{}
	if err := yaml.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	w := &world{Manifests: manifests(t, "registry: hub.example.com/gpu"), nodes: Nodes{GPU: 1, Families: map[string]int32{"MXC": 1}}, present: map[string]*appsv1.DaemonSet{}}
	w.run(o)
	p := w.run(o)
	image := w.present["metax-gpu-device"].Spec.Template.Spec.Containers[0].Image
	if !strings.HasPrefix(image, "hub.example.com/gpu/gpu-device:") {
		t.Error(image)
	}
	want := []string{
		"Ready=False Progressing", "LabelgenReady=True Deployed", "RuntimeReady=True Host", "DriverReady=True Deployed",
		"MACAReady=False Progressing", "MACADeployed=True Deployed", "DevicePluginReady=True Deployed", "NodesValidated=True Validated",
	}
	if d := cmp.Diff(want, lines(p.Status)); d != "" {
		t.Error(d)
	}
	if m := message(p.Status, "LabelgenReady"); !strings.Contains(m, "cr.metax-tech.com/cloud/gpu-label:0.9.2 holds a program of the vendor's") {
		t.Error(m)
	}
}

// TestDriverPods has the policies, where the pods of the driver's agent are, and what their
// payload is. gpu-device is where a driver is ready.
func TestDriverPods(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct{ spec, image, host string }{
		{"{deployPolicy: PreferHost, payload: {version: '3.7'}}", "hub.example.com/driver-image:3.7", "false"},
		{"{deployPolicy: IfNotPresent, payload: {version: '3.7', registry: r.example.com/x}}", "r.example.com/x/driver-image:3.7", "false"},
		{"{deployPolicy: IfNotExist, payload: {version: '3.7', name: mine}}", "hub.example.com/mine:3.7", "false"},
		{"{deployPolicy: PreferCloud, payload: {version: '" + digest + "'}}", "hub.example.com/driver-image@" + digest, ""},
		{"{deployPolicy: Always, payload: {version: '3.7'}}", "hub.example.com/driver-image:3.7", ""},
	} {
		w := &world{Manifests: manifests(t, "registry: hub.example.com"), nodes: Nodes{GPU: 1}, present: map[string]*appsv1.DaemonSet{}}
		w.run(object(t, "{dataExporter: {deploy: true}, driver: "+test.spec+"}"))
		set := w.present["metax-driver"]
		pod := set.Spec.Template.Spec
		if got := pod.InitContainers[1].Image; got != test.image {
			t.Errorf("%s: the payload is %s", test.spec, got)
		}
		if s := pod.InitContainers[1].SecurityContext; len(pod.InitContainers[1].VolumeMounts) != 2 || s.Privileged != nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("%s: the payload's container may do more than write files", test.spec)
		}
		if got := pod.NodeSelector["metax-tech.com/driver.host"]; got != test.host || set.Spec.UpdateStrategy.Type != "OnDelete" {
			t.Errorf("%s: driver.host is %q, the strategy %s", test.spec, got, set.Spec.UpdateStrategy.Type)
		}
		if prefers := slices.Contains(pod.Containers[0].Args, "--prefer-host"); prefers != (test.host != "") {
			t.Errorf("%s: %q", test.spec, pod.Containers[0].Args)
		}
		for name, want := range map[string]string{"metax-gpu-device": "true", "metax-exporter": "true", "metax-gpu-label": "", "metax-driver": ""} {
			if got := w.present[name].Spec.Template.Spec.NodeSelector["metax-tech.com/driver.ready"]; got != want {
				t.Errorf("%s: %s wants driver.ready=%q", test.spec, name, got)
			}
		}
	}
}

// TestProgress has how far a DaemonSet is, and what is said.
func TestProgress(t *testing.T) {
	w := &world{Manifests: manifests(t, ""), nodes: Nodes{GPU: 3}, present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{}")
	if m := message(w.plan(o).Status, "DevicePluginReady"); m != "metax-gpu-device is being deployed" {
		t.Error(m)
	}
	w.run(o)
	for _, test := range []struct {
		status appsv1.DaemonSetStatus
		want   string
	}{
		{appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, NumberReady: 2, UpdatedNumberScheduled: 3}, "False Progressing metax-gpu-device is ready on 2 of 3 nodes (kubectl get pods -n metax-operator -l app.kubernetes.io/name=metax-gpu-device -o wide)"},
		{appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, NumberReady: 3, UpdatedNumberScheduled: 2}, "False Progressing"},
		{appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, NumberReady: 3, UpdatedNumberScheduled: 3}, "False Progressing"},
		{appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, NumberReady: 3, UpdatedNumberScheduled: 3}, "True Deployed metax-gpu-device is ready on 3 of 3 nodes"},
	} {
		w.present["metax-gpu-device"].Status = test.status
		p := w.plan(o)
		at := slices.IndexFunc(p.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "DevicePluginReady" })
		c := p.Status.Conditions[at]
		if got := string(c.Status) + " " + c.Reason + " " + c.Message; !strings.HasPrefix(got, test.want) {
			t.Errorf("got %s, want %s", got, test.want)
		}
		if (p.Status.Conditions[0].Status == metav1.ConditionTrue) != (c.Status == metav1.ConditionTrue) {
			t.Errorf("%+v", p.Status.Conditions[0])
		}
	}
}

// TestDrift writes a DaemonSet again if somebody changed it, or if something of it is no
// longer requested.
func TestDrift(t *testing.T) {
	spec := "{labelgen: {podTemplateSpec: {metadata: {annotations: {a: b}}}}}"
	for what, change := range map[string]func(*appsv1.DaemonSet, *v1alpha1.ClusterOperator){
		"another image": func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { s.Spec.Template.Spec.Containers[0].Image = "x" },
		"one argument more": func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) {
			c := &s.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "x")
		},
		"a label":             func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { delete(s.Labels, "app.kubernetes.io/name") },
		"the owner":           func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { s.OwnerReferences[0].UID = "2" },
		"no longer requested": func(_ *appsv1.DaemonSet, o *v1alpha1.ClusterOperator) { o.Spec.Labelgen.PodTemplateSpec = nil },
	} {
		w := &world{Manifests: manifests(t, ""), present: map[string]*appsv1.DaemonSet{}}
		o := object(t, spec)
		w.run(o)
		change(w.present["metax-gpu-label"], o)
		if p := w.plan(o); len(p.Apply) != 1 {
			t.Errorf("%s: %d DaemonSets are written", what, len(p.Apply))
		}
	}
}

// TestSwitch switches components off and on; what is switched off is deleted.
func TestSwitch(t *testing.T) {
	w := &world{Manifests: manifests(t, ""), nodes: Nodes{GPU: 1, Families: map[string]int32{"MXC": 1}}, present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{dataExporter: {deploy: true}}")
	w.run(o)
	no := false
	o.Spec.DevicePlugin.Deploy, o.Spec.DataExporter.Deploy = &no, &no
	if p := w.run(o); !slices.Equal(p.Delete, []string{"metax-exporter", "metax-gpu-device"}) {
		t.Errorf("deleted: %v", p.Delete)
	}
	o.Spec.DevicePlugin.Deploy = nil
	if p := w.run(o); len(p.Apply) != 1 || p.Apply[0].Name != "metax-gpu-device" {
		t.Errorf("applied: %v", p.Apply)
	}
}

// TestFail says why a plan was not carried out, in the condition that sums up.
func TestFail(t *testing.T) {
	w := &world{Manifests: manifests(t, ""), present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{}")
	p := w.run(o)
	p.Fail(o, errors.New("apply DaemonSet metax-gpu-label: no"))
	if c := p.Status.Conditions[0]; c.Type != Ready || c.Status != metav1.ConditionFalse || c.Reason != Refused || c.Message != "apply DaemonSet metax-gpu-label: no" {
		t.Errorf("%+v", c)
	}
}

func TestCount(t *testing.T) {
	meta := func(name string, annotation string, labels map[string]string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{protocol.ReportsAnnotation: annotation}}}
		if name == "b" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: protocol.ModePendingCondition, Status: corev1.ConditionTrue, Message: "mode stays native"}}
		}
		return n
	}
	const busy = `{"driver": {"ready": false, "reason": "InUse", "message": "pod x uses a GPU"}, "gpu": {"ready": true}}`
	got := Count([]corev1.Node{
		meta("a", "", map[string]string{"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true", "metax-tech.com/validation.ready": "true", "metax-tech.com/gpu.driver.major": "3", "metax-tech.com/gpu.driver.minor": "4", "metax-tech.com/gpu.driver.patch": "4"}),
		meta("c", busy, map[string]string{"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "false", "metax-tech.com/validation.ready": "false", "metax-tech.com/validation.reason": "NoDriver"}),
		meta("b", `{"driver": {"ready": true}}`, map[string]string{"metax-tech.com/gpu.installed": "true"}),
		meta("d", busy, map[string]string{"metax-tech.com/gpu.installed": "false"}), meta("e", "", nil),
	})
	want := Nodes{All: []string{"a", "b", "c", "d", "e"}, Pending: []string{"b: mode stays native"}, GPU: 3, NoDriver: []string{"b", "c"}, NotReady: []string{"b (not looked at yet)", "c (NoDriver)"}, Ready: map[string]string{"a": "3.4.4"}, Families: map[string]int32{}, Reports: map[string]map[string]report.Report{
		"driver": {"b": {Ready: true}, "c": {Reason: "InUse", Message: "pod x uses a GPU"}},
	}}
	if len(got.Labels) != 3 || got.Labels["a"]["metax-tech.com/driver.ready"] != "true" {
		t.Errorf("%v", got.Labels)
	}
	got.Labels = nil
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if list := got.notReady("driver"); !slices.Equal(list, []string{"c: pod x uses a GPU (InUse)"}) {
		t.Error(list)
	}
}

// BenchmarkPlan makes the plan of a cluster of 1,000 nodes, all as requested.
func BenchmarkPlan(b *testing.B) {
	m, err := NewManifests(charts.Extensions, charts.Operator, nil, "gpus", "metax-operator")
	if err != nil {
		b.Fatal(err)
	}
	var nodes []corev1.Node
	for i := range 1000 {
		nodes = append(nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("node-", i), Labels: map[string]string{"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true"},
		}})
	}
	w := &world{Manifests: m, nodes: Count(nodes), present: map[string]*appsv1.DaemonSet{}}
	o := &v1alpha1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name}}
	w.run(o)
	for b.Loop() {
		w.nodes = Count(nodes)
		if p := w.plan(o); len(p.Apply) > 0 {
			b.Fatal(p.Apply)
		}
	}
}

// TestLongMessage: what nodes report does not make a condition that the API server refuses.
func TestLongMessage(t *testing.T) {
	o := object(t, "{}")
	o.Status.DriverUpgrade = &v1alpha1.DriverUpgradeStatus{Reason: "Waiting", Message: strings.Repeat("é", 40000)}
	for _, c := range Decide(Input{Operator: o}).Status.Conditions {
		if len(c.Message) > 32768 {
			t.Errorf("%s has %d bytes", c.Type, len(c.Message))
		}
	}
}
