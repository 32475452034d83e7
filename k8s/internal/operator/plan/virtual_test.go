package plan

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TestVirtual has ConfigMaps, specs and reports, and what is deployed and said of virtual functions and vfio.
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

// TestConfigRestarts: the pods of an agent start again when its ConfigMap changes, and not otherwise.
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
