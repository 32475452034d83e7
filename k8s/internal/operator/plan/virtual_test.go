// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestVirtual has ConfigMaps, specs and reports, and what is deployed and said of virtual
// functions and vfio.
func TestVirtual(t *testing.T) {
	reports := func(component, node string, r report.Report) Nodes {
		return Nodes{GPU: 3, Reports: map[string]map[string]report.Report{component: {node: r}}}
	}
	three := Nodes{GPU: 3}
	busy := report.Report{Reason: "InUse", Message: "in use by pod a/b"}
	const four = "nodes: {a: {vfnum: 4}}"
	for _, test := range []struct {
		what, spec, vfnums, params, vfio string
		nodes                            Nodes
		set, arg, condition, message     string
	}{
		{what: "nothing", spec: "{}", nodes: three, vfnums: "nodes: {}"},
		{what: "virtual functions", spec: "{}", nodes: three, vfnums: four, set: "metax-vf-manager", arg: "vf", condition: "VirtualFunctionsReady=True Deployed"},
		{what: "a node is busy", spec: "{}", nodes: reports("vf", "a", busy), vfnums: four, set: "metax-vf-manager", condition: "VirtualFunctionsReady=False Incomplete", message: "; 1 of 3 nodes with a GPU are not as requested: a: in use by pod a/b (InUse)"},
		{what: "a mistake", spec: "{}", nodes: three, vfnums: "[", set: "metax-vf-manager", condition: "VirtualFunctionsReady=True Deployed"},
		{what: "to be undone", spec: "{}", nodes: reports("vf", "a", report.Report{Ready: true}), set: "metax-vf-manager", condition: "VirtualFunctionsReady=True Deployed"},
		{what: "parameters", spec: "{}", nodes: three, params: "x=1", condition: "VirtualFunctionsReady=False NotBuilt", message: "ConfigMap driver-config: module-params is not applied"},
		{what: "both", spec: "{}", nodes: three, vfnums: four, params: "x=1", set: "metax-vf-manager", condition: "VirtualFunctionsReady=False NotBuilt", message: "is ready on 3 of 3 nodes; ConfigMap driver-config: module-params is not applied"},
		{what: "no GPU", spec: "{}", vfnums: four, condition: "VirtualFunctionsReady=True NoGPUNode"},
		{what: "minimal mode", spec: "{minimalMode: true, vfioManager: {deploy: true}}", nodes: three, vfnums: four},
		{what: "minimal mode, not undone", spec: "{minimalMode: true}", nodes: reports("vf", "a", report.Report{Ready: true}), vfnums: four, set: "metax-vf-manager", arg: "--give-back", condition: "VirtualFunctionsReady=True Deployed"},
		{what: "vfio", spec: "{vfioManager: {deploy: true}}", nodes: three, set: "metax-vfio-manager", arg: "--config-dir", condition: "VFIOReady=True Deployed"},
		{what: "vfio, an unknown field", spec: "{vfioManager: {deploy: true}}", nodes: three, vfio: "{x: 1}", set: "metax-vfio-manager", condition: "VFIOReady=False NotBuilt", message: `field "x" is not known`},
		{what: "vfio, not as requested", spec: "{vfioManager: {deploy: true}}", nodes: reports("vfio", "b", report.Report{Reason: "IOMMUDisabled", Message: "off"}), set: "metax-vfio-manager", condition: "VFIOReady=False Incomplete", message: "b: off (IOMMUDisabled)"},
		{what: "vfio off", spec: "{vfioManager: {deploy: false}}", nodes: three},
		{what: "vfio off, not given back", spec: "{vfioManager: {deploy: false}}", nodes: reports("vfio", "b", report.Report{Ready: true}), set: "metax-vfio-manager", arg: "--give-back", condition: "VFIOReady=True Deployed"},
	} {
		t.Run(test.what, func(t *testing.T) {
			w := &world{Manifests: manifests(t, ""), nodes: test.nodes, present: map[string]*appsv1.DaemonSet{}, configs: map[string]map[string]string{
				protocol.DriverConfigMap: {"node-vfnums": test.vfnums, "module-params": test.params}, protocol.VFIOConfigMap: {"c": test.vfio},
			}}
			o := object(t, test.spec)
			w.run(o)
			p := w.run(o)
			if len(p.Apply) > 0 {
				t.Error("what is as requested is written again")
			}
			var sets, conditions []string
			for name, set := range w.present {
				if name != protocol.VFManager && name != protocol.VFIOManager {
					continue
				}
				sets = append(sets, name)
				args := set.Spec.Template.Spec.Containers[0].Args
				if test.arg == "--config-dir" {
					if slices.Contains(args, "--give-back") {
						t.Errorf("arguments %q", args)
					}
				} else if test.arg != "" && !slices.Contains(args, test.arg) {
					t.Errorf("no %s in %q", test.arg, args)
				}
			}
			for _, line := range lines(p.Status) {
				if strings.HasPrefix(line, "V") {
					conditions = append(conditions, line)
				}
			}
			if d := cmp.Diff(test.set, strings.Join(sets, " ")) + cmp.Diff(test.condition, strings.Join(conditions, " ")); d != "" {
				t.Error(d)
			}
			if kind, _, _ := strings.Cut(test.condition, "="); !strings.Contains(message(p.Status, kind), test.message) {
				t.Error(message(p.Status, kind))
			}
		})
	}
}

// TestUnderstood has ConfigMaps, and what Ready and the conditions about them say. The agent
// may take virtual functions from nodes that are not named only if every name is that of a
// node.
func TestUnderstood(t *testing.T) {
	type data = map[string]string
	vfs := func(text string) map[string]data {
		return map[string]data{protocol.DriverConfigMap: {"node-vfnums": text}}
	}
	for _, test := range []struct {
		what       string
		configs    map[string]data
		pending    []string
		conditions string
		ready      string
		named      bool
	}{
		{"understood", vfs("nodes: {a: {vfnum: 2}}"), nil, "", "Ready=True all components are as requested", true},
		{"an unknown node", vfs("nodes: {a: {vfnum: 2}, nod-b: {vfnum: 2}}"), nil, `ConfigUnderstood=False NotUnderstood ConfigMap driver-config: no node is named "nod-b"`, `Ready=True all components are deployed; ConfigMap driver-config: no node is named "nod-b"`, false},
		{"a misspelt number", vfs("nodes: {a: {vfnum: 3}}"), nil, `ConfigUnderstood=False NotUnderstood ConfigMap driver-config: node-vfnums: nodes."a": vfnum "3"; want 0, 1, 2, 4 or 8`, `Ready=True all components are deployed; ConfigMap driver-config: node-vfnums: nodes."a": vfnum "3"`, true},
		{"a misspelt mode", map[string]data{protocol.ConfigMapName: {"cluster-config": "mode: sGPU"}}, nil, `ConfigUnderstood=False NotUnderstood ConfigMap metax-device-config: cluster-config: mode "sGPU" is not known; want native, sgpu, shared or vgpu`, `Ready=True all components are deployed; ConfigMap metax-device-config: cluster-config: mode "sGPU"`, false},
		{"a mode that waits", nil, []string{"a: mode stays native, sgpu is configured: x/y"}, "ConfigUnderstood=False Pending a: mode stays native, sgpu is configured: x/y", "Ready=True all components are deployed; a: mode stays native", false},
		{"an unknown node of vfio", map[string]data{protocol.VFIOConfigMap: {"vfio": "[{nodeName: c, gpus: [0]}]"}}, nil, `ConfigUnderstood=False NotUnderstood ConfigMap metax-vfio-config: no node is named "c"`, "Ready=True", false},
		{
			"an edit",
			map[string]data{protocol.DriverConfigMap: {"node-vfnums": "nodes: {a: {vfnum: 2}}"}, protocol.ValuesOf(protocol.DriverConfigMap): {"node-vfnums": "nodes: {}", "version": "v1"}},
			nil,
			"ValuesApplied=False Edited ConfigMap driver-config is edited and holds instead of the chart's values: node-vfnums", "Ready=True all components are as requested", true,
		},
		{
			"a scheduler that does not ask",
			map[string]data{protocol.AskedConfigMap: {"unasked.b": "2026-01-01T00:00:00Z ns/p", "asked.a": "2026-01-01T00:00:00Z"}},
			nil,
			"SchedulerAsks=False NotAsked metax-gpu-aware is not asked (docs/kubernetes-schedulers.md): b placed pod ns/p at 2026-01-01T00:00:00Z without a question", "Ready=True all components are as requested", false,
		},
		{"schedulers that ask", map[string]data{protocol.AskedConfigMap: {"unasked.a": "2026-01-01T00:00:00Z ns/p", "asked.a": "2026-01-01T00:00:01Z"}}, nil, "", "Ready=True all components are as requested", false},
	} {
		w := &world{Manifests: manifests(t, ""), nodes: Nodes{All: []string{"a", "b"}, GPU: 2, Pending: test.pending, Families: map[string]int32{}}, present: map[string]*appsv1.DaemonSet{}, configs: test.configs}
		o := object(t, "{}")
		w.run(o)
		p := w.run(o)
		var conditions []string
		for _, c := range p.Status.Conditions {
			if c.Type == ConfigUnderstood && c.Status == "False" || c.Type == ValuesApplied || c.Type == SchedulerAsks {
				conditions = append(conditions, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
			}
		}
		ready := p.Status.Conditions[0]
		if d := cmp.Diff(test.conditions, strings.Join(conditions, "|")); d != "" || !strings.HasPrefix(fmt.Sprintf("%s=%s %s", ready.Type, ready.Status, ready.Message), test.ready) {
			t.Errorf("%s: %s\n%s: %s", test.what, d, ready.Status, ready.Message)
		}
		named := false
		if set := w.present[protocol.VFManager]; set != nil {
			named = slices.ContainsFunc(set.Spec.Template.Spec.Containers[0].Args, func(a string) bool { return strings.HasPrefix(a, "--named=") })
		}
		if named != test.named {
			t.Errorf("%s: the agent is told that every name is that of a node: %t", test.what, named)
		}
	}
}

// TestConfigRestarts: the pods of an agent start again when its ConfigMap changes, and not
// otherwise.
func TestConfigRestarts(t *testing.T) {
	w := &world{Manifests: manifests(t, ""), nodes: Nodes{GPU: 1}, present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{}")
	for _, test := range []struct {
		vfnums, other string
		applied       int
	}{{"nodes: {a: {vfnum: 4}}", "", 3}, {"nodes: {a: {vfnum: 2}}", "", 1}, {"nodes: {a: {vfnum: 2}}", "vfio: []", 0}} {
		w.configs = map[string]map[string]string{protocol.DriverConfigMap: {"node-vfnums": test.vfnums}, protocol.VFIOConfigMap: {"c": test.other}}
		if p := w.run(o); len(p.Apply) != test.applied {
			t.Errorf("%s %s: %d DaemonSets are written, want %d", test.vfnums, test.other, len(p.Apply), test.applied)
		}
	}
}
