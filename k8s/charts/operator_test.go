// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func renderOperator(t *testing.T, values string) *release.Release {
	t.Helper()
	r, err := renderChart(t, operator, "1.34.4", values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOperatorGolden(t *testing.T) {
	golden.Equal(t, "testdata/operator.yaml", wholeText(renderOperator(t, "")))
}

// TestCleanupWaits demands that the pods which remove files wait for the end of every agent,
// and remove the logs of each.
func TestCleanupWaits(t *testing.T) {
	logs := ""
	for _, component := range []string{"runtime", "driver", "maca", "vfManager", "vfioManager"} {
		logs += component + ": {log: {dir: /var/log/" + component + "}}\n"
	}
	pod := as[appsv1.DaemonSet](t, objects(t, renderOperator(t, logs)), "DaemonSet/metax-gpu-cleanup").Spec.Template.Spec
	names := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchExpressions[0].Values
	agents, err := filepath.Glob(operator + "/agents/[^_]*.yaml")
	if err != nil || len(agents) == 0 {
		t.Fatalf("%v, %d agents", err, len(agents))
	}
	for _, agent := range agents {
		if name := "metax-" + strings.TrimSuffix(filepath.Base(agent), ".yaml"); !slices.Contains(names, name) {
			t.Errorf("the pods do not wait for %s", name)
		}
	}
	text := toYAML(t, pod)
	for _, component := range []string{"runtime", "driver", "maca", "vfManager", "vfioManager"} {
		if !strings.Contains(text, "/var/log/"+component+"\n") {
			t.Errorf("the pods do not have the log directory of %s", component)
		}
	}
}

// withDriver are values with which the operator upgrades drivers.
const withDriver = "driver: {deployPolicy: PreferHost, payload: {version: '1'}}"

// withAll are values with which the operator has all rights that it can have.
const withAll = withDriver + "\ngpuDevice: {onFatal: evict}"

// TestOperatorTags names payloads that are not pinned, in the notes.
func TestOperatorTags(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for values, want := range map[string]string{
		withDriver:                          "driver.payload.version is a tag",
		"driver: {payload: {version: '1'}}": "",
		"driver: {deployPolicy: PreferHost, payload: {version: '" + digest + "'}}":         "",
		"maca: {payload: {images: ['maca@" + digest + "', 'r.example:5000/maca-c500:3']}}": "maca.payload.images: r.example:5000/maca-c500:3 is a tag",
		"maca: {payload: {images: ['maca@" + digest + "']}}":                               "",
	} {
		notes := renderOperator(t, values).Info.Notes
		if got := strings.Count(notes, " is a tag"); got != min(len(want), 1) || !strings.Contains(notes, want) {
			t.Errorf("%s:\n%s", values, notes)
		}
	}
}

// below is the line of values.yaml after which the values of metax-gpu-extensions are.
const below = "# Everything below is as in the chart metax-gpu-extensions.\n"

// TestOperatorPages compares the tables of the pages with the chart.
func TestOperatorPages(t *testing.T) {
	pages := []string{"../../docs/kubernetes-operator.md", "../../docs/zh/kubernetes-operator.md"}
	own, _, _ := strings.Cut(readText(t, operator+"/values.yaml"), below)
	comparePages(t, pages, "operator", valueRows(t, own))
	rows := permissionRows(t, objects(t, renderOperator(t, withAll)), operator+"-operator")
	for i := range rows {
		rows[i] = "operator" + rows[i]
	}
	comparePages(t, pages, "operator-permissions", rows)
}

// TestOperatorFailures demands that each test which the decision about failures of other
// operators names exists.
func TestOperatorFailures(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, dir := range []string{"..", "../../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				for _, found := range declared.FindAllStringSubmatch(readText(t, path), -1) {
					tests[found[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const page = "../../docs/adr/0035-what-fails-in-other-operators-is-a-test.md"
	_, table, _ := strings.Cut(readText(t, page), "<!-- operator-failures -->\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		for name := range strings.SplitSeq(strings.TrimSuffix(cells[len(cells)-1], " |"), ", ") {
			if !tests[name] {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
	}
	if len(rows) < 16 {
		t.Errorf("%s has %d rows", page, len(rows))
	}
}

// TestOperatorNull has values that are null or empty, as they are where other tools make the
// file of values.
func TestOperatorNull(t *testing.T) {
	for _, values := range []string{
		"openshift: {deploy: null}", "openshift: null", "vendor: null", "cmInit: null", "podTemplateSpec: null", "gpuDevice: {cmInit: null, podTemplateSpec: null}", "moduleParams: null", "nodeModuleParams: null", "registry: null",
		"vfnumsConfig: null", "driverConfig: null", "driver: {payload: {version: ''}}", "maca: {payload: {images: null}}", "nodeSelector: null", "tolerations: null",
	} {
		if _, err := renderChart(t, operator, "1.34.4", values); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
	for key, object := range objects(t, renderOperator(t, "")) {
		kind, _, _ := strings.Cut(key, "/")
		if cluster := strings.HasPrefix(kind, "Cluster") || strings.HasPrefix(kind, "ValidatingAdmission") || kind == "RuntimeClass" || kind == "PriorityClass"; (object.GetNamespace() == "") != cluster {
			t.Errorf("%s is in the namespace %q", key, object.GetNamespace())
		}
	}
}

// TestShared demands that metax-operator has the values of metax-gpu-extensions, with the same
// defaults and the same schema. -update writes both.
func TestShared(t *testing.T) {
	own, _, ok := strings.Cut(readText(t, operator+"/values.yaml"), below)
	if !ok {
		t.Fatalf("values.yaml has no line %s", below)
	}
	golden.Equal(t, operator+"/values.yaml", own+below+readText(t, extensions+"/values.yaml"))

	var schema, more map[string]any
	for path, v := range map[string]*map[string]any{extensions + "/values.schema.json": &schema, "testdata/operator.schema.json": &more} {
		if err := json.Unmarshal([]byte(readText(t, path)), v); err != nil {
			t.Fatal(err)
		}
	}
	addTo(schema, more)
	for path := range vendorOnly(t) {
		at := schema
		words := strings.Split(path, ".")
		for i, word := range words {
			fields, ok := at["properties"].(map[string]any)
			if !ok {
				fields = map[string]any{}
				at["properties"] = fields
			}
			next, ok := fields[word].(map[string]any)
			if !ok {
				next = map[string]any{}
				if i < len(words)-1 { // an object of the vendor's alone
					next["type"], next["additionalProperties"] = []any{"object", "null"}, false
				}
				fields[word] = next
			}
			at = next
		}
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, operator+"/values.schema.json", string(text)+"\n")
}

func addTo(base, more map[string]any) {
	for key, value := range more {
		over, ok := value.(map[string]any)
		under, both := base[key].(map[string]any)
		if ok && both {
			addTo(under, over)
		} else {
			base[key] = value
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	return testfile.Text(t, path)
}

// TestOperatorObject has values, and a field of the ClusterOperator or of the values for the
// controller.
func TestOperatorObject(t *testing.T) {
	for _, test := range []struct {
		values string
		path   []any
		want   any
	}{
		{"", []any{"spec", "driver", "deployPolicy"}, "Never"},
		{"", []any{"spec", "dataExporter"}, map[string]any{"deploy": false}},
		{"", []any{"spec", "devicePlugin"}, map[string]any{}},
		{"{minimalMode: true, paused: true}", []any{"spec", "minimalMode"}, true},
		{"gpuDevice: {deploy: false, healthyInterval: 9, podTemplateSpec: {spec: {hostPID: true}}}", []any{"spec", "devicePlugin"}, map[string]any{"deploy": false, "podTemplateSpec": map[string]any{"spec": map[string]any{"hostPID": true}}}},
		{"runtime: {config: {cdiMode: false}}", []any{"spec", "runtime"}, map[string]any{"config": map[string]any{"cdiMode": false, "setAsDefault": false}, "log": map[string]any{}}},
		{"podTemplateSpec: {metadata: {labels: {a: b}}}", []any{"spec", "podTemplateSpec", "metadata", "labels", "a"}, "b"},
		{"gpuLabel: {podTemplateSpecFile: 'metadata: {labels: {a: b}}'}", []any{"spec", "labelgen"}, map[string]any{"podTemplateSpec": map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}}},
		{"driver: {deployPolicy: PreferHost, payload: {version: 3.7.0.23-amd64}}", []any{"spec", "driver", "payload", "version"}, "3.7.0.23-amd64"},
	} {
		object := objects(t, renderOperator(t, test.values))["ClusterOperator/cluster-operator"].Object
		if d := cmp.Diff(test.want, at(t, object, test.path...)); d != "" {
			t.Errorf("%s:\n%s", test.values, d)
		}
	}
	all := objects(t, renderOperator(t, "{registry: hub, gpuDevice: {deploy: false, healthyInterval: 9, podTemplateSpec: {}}}"))
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(as[corev1.ConfigMap](t, all, "ConfigMap/metax-operator").Data["values.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	device := values["gpuDevice"].(map[string]any)
	if values["registry"] != "hub" || device["healthyInterval"] != float64(9) || device["deploy"] != nil || device["podTemplateSpec"] != nil {
		t.Errorf("%v", values)
	}
}

// TestOperatorRefuses has values of the vendor's chart that this version does not have.
func TestOperatorRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"driver: {deployPolicy: Always, payload: {version: 'a b'}}":   "at '/driver/payload/version'",
		"driver: {payload: {name: '../x'}}":                           "at '/driver/payload/name'",
		"driver: {deployPolicy: IfNotPresent}":                        "driver.payload.version: must be given unless driver.deployPolicy is Never",
		"driver: {deployPolicy: Sometimes}":                           "at '/driver/deployPolicy'",
		"gpuLabel: {output: nfd}":                                     "gpuLabel.output: nfd cannot bring to the operator",
		"driver: {fwUpgradePolicy: Always}":                           "driver.fwUpgradePolicy: this version of the chart writes no firmware",
		"driver: {upgradePolicy: {maxParallel: 0}}":                   "at '/driver/upgradePolicy/maxParallel'",
		"driver: {upgradePolicy: {maxUnavailable: 101%}}":             "at '/driver/upgradePolicy/maxUnavailable'",
		"driver: {upgradePolicy: {fallback: rollback}}":               "at '/driver/upgradePolicy/fallback'",
		"driver: {upgradePolicy: {upgradeSteps: [{replicas: some}]}}": "at '/driver/upgradePolicy/upgradeSteps/0/replicas'",
		"driver: {upgradePolicy: {drain: {enabled: true}}}":           "additional properties 'enabled' not allowed",
		"openshift: {deploy: true}":                                   "openshift.deploy: this version",
		"moduleParams: x=1":                                           "moduleParams: this version",
		"topoDiscovery: {deploy: true}":                               "topoDiscovery.deploy: this version",
		"gpuScheduler: {deploy: true}":                                "gpuScheduler.deploy: this version",
		"gpuDevice: {config: {sgpuHybrid: true}}":                     "gpuDevice.config.sgpuHybrid: this version",
		"gpuDevise: {}":                                               "additional properties 'gpuDevise' not allowed",
		"registry: cr.metax-tech.com/cloud":                           "at '/registry'",
		"maca: {payload: {images: [maca-c500]}}":                      "at '/maca/payload/images/0'",
		"maca: {cleanupConfig: {threshold: 0}}":                       "at '/maca/cleanupConfig/threshold'",
		"maca: {cleanupConfig: {cleanupPolicy: Always}}":              "at '/maca/cleanupConfig/cleanupPolicy'",
		"vfioManager: {nodes: [{nodeName: a}]}":                       "at '/vfioManager/nodes/0'",
		"vfnumsConfig: {nodes: {a: {vinum: 2}}}":                      "at '/vfnumsConfig/nodes/a'",
		"vfnumsConfig: {node: {a: {vfnum: 2}}}":                       "at '/vfnumsConfig'",
		"driverConfig: {nodes-config: [{nodename: a, vfNum: 2}]}":     "at '/driverConfig/nodes-config'",
		"cmInit: {a: 1}":                                              "cmInit: this version",
		"vendor: {domain: example.com}":                               "vendor: this version",
		"driverConfigFile: '{'":                                       "driverConfigFile: it is no YAML",
		"nodeModuleParams: {a: x=1}":                                  "nodeModuleParams: this version",
		"runtime: {config: {cdiMode: maybe}}":                         "at '/runtime/config/cdiMode'",
	} {
		if _, err := renderChart(t, operator, "1.34.4", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// TestOperatorPods wants no pod of the chart's own to be root, to see its host or to have a
// power.
func TestOperatorPods(t *testing.T) {
	all := objects(t, renderOperator(t, ""))
	pods := map[string]corev1.PodSpec{"controller": as[appsv1.Deployment](t, all, "Deployment/metax-operator").Spec.Template.Spec}
	for _, name := range []string{"define", "remove", "undefine"} {
		pods[name] = as[batchv1.Job](t, all, "Job/metax-operator-"+name).Spec.Template.Spec
	}
	for name, pod := range pods {
		s, c := pod.SecurityContext, pod.Containers[0]
		if !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: %+v", name, s)
		}
		if cs := c.SecurityContext; *cs.AllowPrivilegeEscalation || !*cs.ReadOnlyRootFilesystem || !slices.Equal(cs.Capabilities.Drop, []corev1.Capability{"ALL"}) || cs.Privileged != nil {
			t.Errorf("%s: %+v", name, cs)
		}
		if len(pod.Containers) != 1 || pod.HostNetwork || pod.HostPID || slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil }) {
			t.Errorf("%s sees its host", name)
		}
		if slices.ContainsFunc(pod.Tolerations, func(t corev1.Toleration) bool { return t.Key == "" }) || len(pod.Tolerations) != 4 || *pod.Tolerations[3].TolerationSeconds != 300 {
			t.Errorf("%s: %+v", name, pod.Tolerations)
		}
		if p := pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(p) != 1 || p[0].Weight != 100 || p[0].Preference.MatchExpressions[0].Key != "node-role.kubernetes.io/control-plane" {
			t.Errorf("%s: %+v", name, pod.Affinity)
		}
	}
}

// TestLookPolicy: the controller's token makes no pod but one that looks at a GPU.
func TestLookPolicy(t *testing.T) {
	const (
		me      = "system:serviceaccount:metax-operator:metax-operator"
		refused = "only pods that look at a GPU may be created, without token, volumes, variables from Secrets, namespaces of the host and privileges"
		look    = "{metadata: {name: metax-gpu-look-a, ownerReferences: [{kind: ClusterOperator}]}, spec: {automountServiceAccountToken: false, serviceAccountName: default, " +
			"containers: [{name: look, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, resources: {limits: {metax-tech.com/gpu: 1}}}]}}"
	)
	change := func(old, replacement string) string {
		if !strings.Contains(look, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(look, old, replacement, 1)
	}
	for _, test := range []struct{ what, user, pod, want string }{
		{"a look", me, look, ""},
		{"anything by others", "user:alice", change("name: metax-gpu-look-a", "name: x"), ""},
		{"another name", me, change("metax-gpu-look-a", "x"), refused},
		{"no owner", me, change("ClusterOperator", "ReplicaSet"), refused},
		{"a token", me, change("automountServiceAccountToken: false, ", ""), refused},
		{"another account", me, change("serviceAccountName: default", "serviceAccountName: metax-gpu-device"), refused},
		{"a volume", me, change("containers", "volumes: [{name: v, hostPath: {path: /}}], containers"), refused},
		{"the host's processes", me, change("containers", "hostPID: true, containers"), refused},
		{"the host's network", me, change("containers", "hostNetwork: true, containers"), refused},
		{"a node", me, change("containers", "nodeName: a, containers"), refused},
		{"a privilege", me, change("{allow", "{privileged: true, allow"), refused},
		{"a capability", me, change("drop: [ALL]", "drop: [ALL], add: [SYS_ADMIN]"), refused},
		{"an init container", me, change("containers", "initContainers: [{name: i}], containers"), refused},
		{"no GPU", me, change("metax-tech.com/gpu", "cpu"), refused},
		{"a variable", me, change("{name: look", "{name: look, env: [{name: GOMEMLIMIT, value: 1MiB}]"), ""},
		{"a Secret", me, change("{name: look", "{name: look, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"), refused},
		{"all of a Secret", me, change("{name: look", "{name: look, envFrom: [{secretRef: {name: s}}]"), refused},
	} {
		if got := admit(t, "metax-operator-operator-looks", request{test.user, "", "p", "", "", test.pod}); got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
}

// TestOperatorNodePolicy: of the taints of a Node, the controller writes the one of a lost
// GPU, without effect on pods that run.
func TestOperatorNodePolicy(t *testing.T) {
	const (
		me      = "system:serviceaccount:metax-operator:metax-operator"
		refused = "of a Node's spec, only unschedulable and the taint metax-tech.com/gpu-fatal:NoSchedule may be written"
		lost    = "{key: metax-tech.com/gpu-fatal, value: missing, effect: NoSchedule}"
		hard    = "{key: metax-tech.com/gpu-fatal, effect: NoExecute}"
	)
	node := func(spec string) string { return "{metadata: {name: a}, spec: {" + spec + "}}" }
	for _, test := range []struct{ user, before, after, want string }{
		{me, "", "taints: [" + lost + "]", ""},
		{me, "taints: [{key: k}, " + lost + "]", "taints: [{key: k}]", ""},
		{me, "taints: [{key: k}]", "taints: [{key: k}, " + lost + "], unschedulable: true", ""},
		{me, "taints: [{key: k}]", "taints: [" + lost + "]", refused},
		{me, "", "taints: [" + hard + "]", refused},
		{me, "taints: [" + hard + "]", "taints: [" + hard + ", " + lost + "]", ""}, // of an administrator
		{me, "", "taints: [{key: k, effect: NoSchedule}]", refused},
		{me, "", "providerID: x", refused},
		{"user:alice", "", "taints: [" + hard + "]", ""},
	} {
		if got := admit(t, "metax-operator-operator-nodes", request{test.user, "", "a", "", node(test.before), node(test.after)}); got != test.want {
			t.Errorf("%s, then %s: got %q, want %q", test.before, test.after, got, test.want)
		}
	}
}

// TestControlPlaneOnly: by a value, the controller runs on the control plane alone, whatever
// its affinity.
func TestControlPlaneOnly(t *testing.T) {
	for _, more := range []string{"", ", affinity: null", ", affinity: {nodeAffinity: null}"} {
		all := objects(t, renderOperator(t, "controller: {controlPlaneOnly: true"+more+"}"))
		required := as[appsv1.Deployment](t, all, "Deployment/metax-operator").Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if required == nil || required.NodeSelectorTerms[0].MatchExpressions[0].Key != "node-role.kubernetes.io/control-plane" {
			t.Errorf("%s: %+v", more, required)
		}
	}
}

// TestValuesSum: the controller is told the sum of the values that the release has.
func TestValuesSum(t *testing.T) {
	all := objects(t, renderOperator(t, "log: {level: debug}"))
	want := fmt.Sprintf("--values-sha256=%x", sha256.Sum256([]byte(as[corev1.ConfigMap](t, all, "ConfigMap/metax-operator").Data["values.yaml"])))
	if args := as[appsv1.Deployment](t, all, "Deployment/metax-operator").Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, want) {
		t.Errorf("%s is not in %q", want, args)
	}
}

// TestOperatorRights states what the accounts of the chart's own may do. None may give rights,
// and none of the rights goes to the roles admin and edit.
func TestOperatorRights(t *testing.T) {
	want := []string{
		"ClusterRole metax-operator-operator: list,watch,patch gpu.metax-tech.com/clusteroperators",
		"ClusterRole metax-operator-operator: list,watch,patch /nodes",
		"ClusterRole metax-operator-operator: patch gpu.metax-tech.com/clusteroperators/status",
		"ClusterRole metax-operator-operator-define: patch apiextensions.k8s.io/customresourcedefinitions clusteroperators.gpu.metax-tech.com",
		"ClusterRole metax-operator-operator-remove: delete,get,patch gpu.metax-tech.com/clusteroperators cluster-operator",
		"ClusterRole metax-operator-operator-undefine: delete apiextensions.k8s.io/customresourcedefinitions clusteroperators.gpu.metax-tech.com",
		"ClusterRole metax-operator-operator-undefine: delete coordination.k8s.io/leases metax-operator",
		"ClusterRole metax-operator-operator-undefine: list gpu.metax-tech.com/clusteroperators",
		"ClusterRole metax-operator-operator-drivers: create /pods/eviction",
		"ClusterRole metax-operator-operator-drivers: list,watch /pods",
		"ClusterRole metax-operator-operator-faults: create /pods/eviction",
		"ClusterRole metax-operator-operator-faults: get /pods",
		"Role metax-operator-operator: create /events",
		"Role metax-operator-operator: create coordination.k8s.io/leases",
		"Role metax-operator-operator: create,patch,delete apps/daemonsets metax-gpu-label,metax-gpu-device,metax-exporter,metax-container-runtime,metax-driver,metax-maca,metax-maca-n,metax-vf-manager,metax-vfio-manager",
		"Role metax-operator-operator: get,update coordination.k8s.io/leases metax-operator",
		"Role metax-operator-operator: list,watch /configmaps driver-config,driver-config-values,metax-vfio-config,metax-vfio-config-values,metax-device-config,metax-device-config-values",
		"Role metax-operator-operator: list,watch apps/daemonsets",
		"Role metax-operator-operator: list,watch,create,delete /pods",
	}
	for values, without := range map[string]string{"": "-drivers", "gpuDevice: {onFatal: taint}": "-faults"} {
		for name := range objects(t, renderOperator(t, values)) {
			if strings.Contains(name, without) {
				t.Errorf("with %q there is %s", values, name)
			}
		}
	}
	all := objects(t, renderOperator(t, withAll))
	if args := as[appsv1.Deployment](t, all, "Deployment/metax-operator").Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--on-fatal=evict") {
		t.Errorf("the controller does not know what follows: %q", args)
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		kind, role, _ := strings.Cut(name, "/")
		if !strings.HasSuffix(kind, "Role") {
			continue
		}
		for label := range all[name].GetLabels() {
			if strings.Contains(label, "aggregate-to") {
				t.Errorf("%s has the label %s", name, label)
			}
		}
		if !strings.HasPrefix(role, operator+"-operator") {
			continue // of the components, as in metax-gpu-extensions
		}
		for _, rule := range as[rbacv1.ClusterRole](t, all, name).Rules {
			for _, resource := range rule.Resources {
				line := kind + " " + role + ": " + strings.Join(rule.Verbs, ",") + " " + rule.APIGroups[0] + "/" + resource
				got = append(got, strings.TrimSpace(line+" "+strings.Join(rule.ResourceNames, ",")))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRuntimeClass: pods that name metax run only where it is set up, and the RuntimeClass is
// there only without CDI.
func TestRuntimeClass(t *testing.T) {
	if _, ok := objects(t, renderOperator(t, ""))["RuntimeClass/metax"]; ok {
		t.Error("there is a RuntimeClass although engines use CDI")
	}
	class := as[nodev1.RuntimeClass](t, objects(t, renderOperator(t, "runtime: {config: {cdiMode: false}}")), "RuntimeClass/metax")
	if class.Handler != "metax" || class.Scheduling.NodeSelector["metax-tech.com/runtime.ready"] != "true" {
		t.Errorf("%+v", class)
	}
}
