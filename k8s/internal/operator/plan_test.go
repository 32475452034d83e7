package operator

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/charts"
)

func manifests(t *testing.T, values string) Manifests {
	t.Helper()
	m, err := NewManifests(charts.Extensions, []byte(values), "gpus", "metax-operator")
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
}

func (w *world) plan(o *v1alpha1.ClusterOperator) Plan {
	rendered, err := w.Render(o.Spec)
	return Decide(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err, Present: w.present})
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
	three := Nodes{GPU: 3}
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
		{what: "a node without driver", spec: "{driver: {deployPolicy: PreferHost, payload: {version: '1'}}}", nodes: Nodes{GPU: 5, NoDriver: []string{"a", "b", "c", "d"}}, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False Incomplete", 1), message: "DriverReady: 4 of 5 nodes with a GPU have no driver: a, b, c and 1 more"},
		{what: "nodes that are not ready", spec: "{}", nodes: Nodes{GPU: 5, NotReady: []string{"a (NoPlugin)", "b (BadSpec)"}}, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False Incomplete, " + strings.Replace(all, "NodesValidated=True Validated", "NodesValidated=False Incomplete", 1), message: "NodesValidated: 2 of 5 nodes with a GPU cannot give it to a container: a (NoPlugin), b (BadSpec)"},
		{what: "a driver from an image", spec: "{driver: {deployPolicy: Always, payload: {version: '1'}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False NotBuilt", 1), message: "DriverReady: driver.deployPolicy=Always cannot be met"},
		{what: "firmware", spec: "{driver: {deployPolicy: IfNotPresent, fwUpgradePolicy: Always, payload: {version: '1'}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + strings.Replace(all, "DriverReady=True Host", "DriverReady=False NotBuilt", 1), message: "DriverReady: writes no firmware"},
		{what: "MXMACA from images", spec: "{maca: {payload: {images: ['maca:1']}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + strings.Replace(all, "MACAReady=True Host", "MACAReady=False NotBuilt", 1)},
		{what: "an engine without CDI", spec: "{runtime: {config: {cdiMode: false}}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + strings.Replace(all, "RuntimeReady=True Host", "RuntimeReady=False NotBuilt", 1)},
		{what: "parts that do not exist", spec: "{vfioManager: {deploy: true}, gpuScheduler: {deploy: true}, openshift: {deploy: false}}", nodes: three, sets: "metax-gpu-device metax-gpu-label", conditions: "Ready=False NotBuilt, " + all + ", OptionsSupported=False NotBuilt", message: "OptionsSupported: does not have vfioManager, gpuScheduler"},
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
				t.Errorf("what is as wished is written again: %v %v", p.Apply, p.Delete)
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

// TestVendor deploys what a ClusterOperator of the vendor's describes, by this project's images, and says what
// it cannot do.
func TestVendor(t *testing.T) {
	text, err := os.ReadFile("../../api/v1alpha1/testdata/vendor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := &v1alpha1.ClusterOperator{}
	if err := yaml.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	w := &world{Manifests: manifests(t, "registry: hub.example.com/gpu"), nodes: Nodes{GPU: 1}, present: map[string]*appsv1.DaemonSet{}}
	w.run(o)
	p := w.run(o)
	image := w.present["metax-gpu-device"].Spec.Template.Spec.Containers[0].Image
	if !strings.HasPrefix(image, "hub.example.com/gpu/gpu-device:") {
		t.Error(image)
	}
	want := []string{
		"Ready=False NotBuilt", "LabelgenReady=True Deployed", "RuntimeReady=True Host", "DriverReady=False NotBuilt",
		"MACAReady=False NotBuilt", "DevicePluginReady=True Deployed", "NodesValidated=True Validated",
	}
	if d := cmp.Diff(want, lines(p.Status)); d != "" {
		t.Error(d)
	}
	if m := message(p.Status, "LabelgenReady"); !strings.Contains(m, "cr.metax-tech.com/cloud/gpu-label:0.9.2 holds a program of the vendor's") {
		t.Error(m)
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

// TestDrift writes a DaemonSet again if somebody changed it, or if something of it is no longer wished.
func TestDrift(t *testing.T) {
	spec := "{labelgen: {podTemplateSpec: {metadata: {annotations: {a: b}}}}}"
	for what, change := range map[string]func(*appsv1.DaemonSet, *v1alpha1.ClusterOperator){
		"another image": func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { s.Spec.Template.Spec.Containers[0].Image = "x" },
		"one argument more": func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) {
			c := &s.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "x")
		},
		"a label":          func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { delete(s.Labels, "app.kubernetes.io/name") },
		"the owner":        func(s *appsv1.DaemonSet, _ *v1alpha1.ClusterOperator) { s.OwnerReferences[0].UID = "2" },
		"no longer wished": func(_ *appsv1.DaemonSet, o *v1alpha1.ClusterOperator) { o.Spec.Labelgen.PodTemplateSpec = nil },
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
	w := &world{Manifests: manifests(t, ""), nodes: Nodes{GPU: 1}, present: map[string]*appsv1.DaemonSet{}}
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
	got := Count(map[string]map[string]string{
		"a": {"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true", "metax-tech.com/validation.ready": "true"},
		"c": {"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "false", "metax-tech.com/validation.ready": "false", "metax-tech.com/validation.reason": "NoDriver"},
		"b": {"metax-tech.com/gpu.installed": "true"},
		"d": {"metax-tech.com/gpu.installed": "false"}, "e": nil,
	})
	if d := cmp.Diff(Nodes{GPU: 3, NoDriver: []string{"b", "c"}, NotReady: []string{"b (not looked at yet)", "c (NoDriver)"}}, got); d != "" {
		t.Error(d)
	}
}

// BenchmarkPlan makes the plan of a cluster of 1,000 nodes, all as wished.
func BenchmarkPlan(b *testing.B) {
	m, err := NewManifests(charts.Extensions, nil, "gpus", "metax-operator")
	if err != nil {
		b.Fatal(err)
	}
	labels := map[string]map[string]string{}
	for i := range 1000 {
		labels[fmt.Sprint("node-", i)] = map[string]string{"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true"}
	}
	w := &world{Manifests: m, nodes: Count(labels), present: map[string]*appsv1.DaemonSet{}}
	o := &v1alpha1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name}}
	w.run(o)
	for b.Loop() {
		w.nodes = Count(labels)
		if p := w.plan(o); len(p.Apply) > 0 {
			b.Fatal(p.Apply)
		}
	}
}
