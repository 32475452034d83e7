// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestArguments has values, and the arguments of a container that come from them.
func TestArguments(t *testing.T) {
	for _, test := range []struct{ values, set, container, want string }{
		{"gpuDevice: {healthyInterval: 0}", "metax-gpu-device", "gpu-device", "--healthy-interval=0"},
		{"gpuDevice: {healthyInterval: 0}", "metax-gpu-device", "health", "--interval=0s"},
		{"gpuDevice: {goodLooks: 5, badLooks: 2}", "metax-gpu-device", "gpu-device", "--good-looks=5 --bad-looks=2"},
		{"gpuDevice: {ignoreCodes: [ecc, hot]}", "metax-gpu-device", "gpu-device", "--ignore-codes=ecc,hot"},
		{"gpuDevice: {excludeGPUs: [GPU-1, '3', 0]}", "metax-gpu-device", "gpu-device", "--exclude-gpus=GPU-1,3,0"},
		{"hostRoot: /srv/node", "metax-gpu-device", "cdi", "--root=/host --engine-root=/srv/node"},
		{"gpuDevice: {listUnhealthy: false}", "metax-gpu-device", "gpu-device", "--list-unhealthy=false"},
		{"gpuDevice: {deviceListStrategy: cdi, policy: binpack, podPolicies: false, maca: always}", "metax-gpu-device", "gpu-device", "--device-list-strategy=cdi --policy=binpack --pod-policies=false --maca=always"},
		{"gpuDevice: {kunlunxinDevices: true}", "metax-gpu-device", "gpu-device", "--kunlunxin-devices=true"},
		{"deployExtenderGPUAware: true\ngpuAware: {extender: {nodeCacheCapable: false}}", "metax-gpu-aware", "gpu-aware", "--max-body=33554432"},
		{"gpuDevice: {slicesWithoutLock: true}", "metax-gpu-device", "gpu-device", "--slices-without-lock=true"},
		{"", "metax-gpu-device", "health", "--slices"},
		{"gpuDevice: {metricsPort: 0}", "metax-gpu-device", "gpu-device", "--metrics-address="},
		{"gpuDevice: {metricsPort: 9}", "metax-gpu-device", "gpu-device", "--metrics-address=:9"},
		{"gpuDevice: {koordletDir: /var/run/koordlet/xpu-device-infos/}", "metax-gpu-device", "gpu-device", "--koordlet-dir=/var/run/koordlet/xpu-device-infos"},
		{"gpuDevice: {koordletDir: /var/run/koordlet/xpu-device-infos/}", "metax-gpu-cleanup", "files", "--koordlet-dir=/var/run/koordlet/xpu-device-infos"},
		{"log: {level: debug}", "metax-gpu-label", "gpu-label", "--log-level=debug --log-format=json"},
		{"log: {level: debug}\ngpuLabel: {log: {format: text}}", "metax-gpu-label", "gpu-label", "--log-level=debug --log-format=text"},
		{"gpuLabel: {log: {format: text}}", "metax-gpu-device", "cdi", "--log-format=json"},
		{"gpuDevice: {log: {maxAge: 3d}}", "metax-gpu-device", "health", "--log-max-age=3d"},
		{"dataExporter: {deploy: true, port: 9, log: {dir: /x}}", "metax-exporter", "exporter", "--address=:9 --log-dir=/x --vendor-names=true --node-name=$(NODE_NAME)"},
		{"dataExporter: {deploy: true, vendorNames: false}", "metax-exporter", "exporter", "--vendor-names=false"},
		{"gpuLabel: {interval: 5, product: mx-smi}", "metax-gpu-label", "gpu-label", "--interval=5s --product=mx-smi"},
		{"{deployExtenderGPUAware: true, gpuAware: {policy: mtf, log: {level: debug}}}", "metax-gpu-aware", "gpu-aware", "--policy=mtf --namespace=metax-gpu --log-dir= --log-level=debug"},
		{"{deployExtenderGPUAware: true, gpuAware: {namespace: x, tls: {secret: a, clientCA: true}}}", "metax-gpu-aware", "gpu-aware", "--namespace=x --tls-cert=/tls/tls.crt --tls-key=/tls/tls.key --tls-client-ca=/tls/ca.crt"},
		{"gpuLabel: {validate: true, metricsPort: 9}", "metax-gpu-label", "gpu-label", "--validate --engine-root=/ --metrics-address=:9"},
		{"gpuLabel: {output: nfd, nfdDir: /etc/nfd/}", "metax-gpu-label", "gpu-label", "--output=nfd --nfd-file=/etc/nfd/metax-gpu-label"},
	} {
		t.Run(test.values, func(t *testing.T) {
			args := container(t, daemonset(t, test.values, test.set).Spec.Template.Spec, test.container).Args
			for want := range strings.SplitSeq(test.want, " ") {
				if !slices.Contains(args, want) {
					t.Errorf("%s has no %s: %q", test.container, want, args)
				}
			}
		})
	}
}

// TestReaders binds the roles of readers, which do not exist without any.
func TestReaders(t *testing.T) {
	if all := objects(t, mustRender(t, "1.34.4", "")); all["ClusterRole/metax-gpu-extensions-reader"] != nil {
		t.Error("there is a role that nobody has")
	}
	for values, want := range map[string]bool{"": false, "dataExporter: {deploy: true}": true} {
		all := objects(t, mustRender(t, "1.34.4", values+"\nreaders: [{kind: Group, name: a}]"))
		for _, kind := range []string{"ClusterRole", "Role"} { // the pods of other namespaces are not reached
			role := as[rbacv1.ClusterRole](t, all, kind+"/metax-gpu-extensions-reader")
			got := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.Resources, "pods/proxy") && slices.Equal(r.Verbs, []string{"get"})
			})
			if got != (want && kind == "Role") {
				t.Errorf("%q: the %s has pods/proxy: %t", values, kind, got)
			}
		}
	}
	all := objects(t, mustRender(t, "1.34.4", "{deployExtenderGPUAware: true, readers: [{kind: Group, name: 'a:b'}, {kind: ServiceAccount, name: c, namespace: d}]}"))
	want := []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "a:b"}, {Kind: "ServiceAccount", Name: "c", Namespace: "d"}}
	for _, name := range []string{"ClusterRoleBinding/metax-gpu-extensions-reader", "RoleBinding/metax-gpu-extensions-reader", "RoleBinding/metax-gpu-extensions-reader-weights"} {
		b := as[rbacv1.ClusterRoleBinding](t, all, name)
		kind, _, _ := strings.Cut(name, "Binding")
		if diff := cmp.Diff(want, b.Subjects); diff != "" || b.RoleRef.Kind != kind || all[kind+"/"+b.RoleRef.Name] == nil {
			t.Errorf("%s %s: %s", b.RoleRef.Kind, b.RoleRef.Name, diff)
		}
	}
}

// TestImages has values, and the image of a container that comes from them.
func TestImages(t *testing.T) {
	for _, test := range []struct{ values, container, want string }{
		{"", "gpu-device", "ghcr.io/metax-ctk/gpu-device:0.1.0"},
		{"registry: hub.example.com/gpu/", "health", "hub.example.com/gpu/gpu-health:0.1.0"},
		{"gpuDevice: {image: {registry: a.example.com, name: dp, version: v2}}", "gpu-device", "a.example.com/dp:v2"},
		{"gpuDevice: {image: {version: 'sha256:12'}}", "gpu-device", "ghcr.io/metax-ctk/gpu-device@sha256:12"},
	} {
		got := container(t, daemonset(t, test.values, "metax-gpu-device").Spec.Template.Spec, test.container).Image
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.values, got, test.want)
		}
	}
}

// TestPlacement gives the global values, and lets a component replace or extend them.
func TestPlacement(t *testing.T) {
	const values = `
nodeSelector: {pool: gpu}
affinity: {nodeAffinity: {a: 1}}
tolerations: [{key: gpu, operator: Exists}]
priorityClassName: high
imagePullSecrets: [{name: hub}]
podSecurity: {seLinuxType: spc_t}
gpuLabel:
  nodeSelector: {zone: b}
  tolerations: [{key: other, operator: Exists}]
  resources: {limits: {memory: 1Gi}}
`
	all := objects(t, mustRender(t, "1.34.4", values))
	field := func(set string, path ...any) any {
		return at(t, all["DaemonSet/"+set].Object, append([]any{"spec", "template", "spec"}, path...)...)
	}
	for _, test := range []struct {
		set  string
		path []any
		want any
	}{
		{"metax-gpu-device", []any{"nodeSelector"}, map[string]any{"pool": "gpu", "metax-tech.com/gpu.installed": "true"}},
		{"metax-gpu-label", []any{"nodeSelector"}, map[string]any{"pool": "gpu", "zone": "b"}},
		{"metax-gpu-device", []any{"tolerations", 0, "key"}, "gpu"},
		{"metax-gpu-label", []any{"tolerations", 0, "key"}, "other"},
		{"metax-gpu-label", []any{"affinity", "nodeAffinity", "a"}, float64(1)},
		{"metax-gpu-device", []any{"priorityClassName"}, "high"},
		{"metax-gpu-device", []any{"imagePullSecrets", 0, "name"}, "hub"},
		{"metax-gpu-device", []any{"securityContext", "seLinuxOptions", "type"}, "spc_t"},
		{"metax-gpu-label", []any{"containers", 0, "resources", "limits", "memory"}, "1Gi"},
	} {
		if d := cmp.Diff(test.want, field(test.set, test.path...)); d != "" {
			t.Errorf("%s %v:\n%s", test.set, test.path, d)
		}
	}
}

// at follows keys and indices.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// TestGates demands that gpu-label runs everywhere and gpu-device where GPUs are, and that no
// taint keeps them away.
func TestGates(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"metax-gpu-label": {}, "metax-gpu-device": {"metax-tech.com/gpu.installed": "true"},
	} {
		pod := daemonset(t, "", name).Spec.Template.Spec
		if d := cmp.Diff(want, pod.NodeSelector); d != "" {
			t.Errorf("%s: nodeSelector:\n%s", name, d)
		}
		if d := cmp.Diff([]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, pod.Tolerations); d != "" {
			t.Errorf("%s: tolerations:\n%s", name, d)
		}
	}
}

// TestPodTemplates merges into the pods of every component but those of one that has its own.
// Maps are merged, lists are appended, other values are replaced, and the labels by which a
// DaemonSet finds its pods stay.
func TestPodTemplates(t *testing.T) {
	const values = `
deployExtenderGPUAware: true
podTemplateSpec:
  metadata: {annotations: {a: all, b: all}, labels: {app.kubernetes.io/name: x}}
  spec: {priorityClassName: high, tolerations: [{key: more}]}
dataExporter: {deploy: true}
gpuLabel:
  podTemplateSpec: {metadata: {annotations: {b: label}}}
  podTemplateSpecFile: |
    metadata: {annotations: {b: file}}
    spec: {tolerations: [{key: most}]}
`
	all := objects(t, mustRender(t, "1.34.4", values))
	for name, b := range map[string]string{"metax-gpu-device": "all", "metax-gpu-label": "file", "metax-exporter": "all", "metax-gpu-aware": "all"} {
		set := as[appsv1.DaemonSet](t, all, "DaemonSet/"+name)
		pod := set.Spec.Template
		annotations, priority, keys := map[string]string{"a": "all", "b": "all"}, "high", ",,more"
		if b == "file" {
			annotations, priority, keys = map[string]string{"b": "file"}, "system-node-critical", ",,most"
		}
		if d := cmp.Diff(annotations, pod.Annotations); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if pod.Labels["app.kubernetes.io/name"] != name || pod.Spec.PriorityClassName != priority || len(pod.Spec.Containers) == 0 {
			t.Errorf("%s: %v %v", name, pod.Labels, pod.Spec.PriorityClassName)
		}
		var got string
		for _, toleration := range pod.Spec.Tolerations {
			got += "," + toleration.Key
		}
		if got != keys {
			t.Errorf("%s tolerates %q, want %q", name, got, keys)
		}
	}
}

// TestDeviceConfig has values, and the keys of the ConfigMap metax-device-config that come
// from them.
func TestDeviceConfig(t *testing.T) {
	for _, test := range []struct{ values, key, want string }{
		{"", "cluster-config", "deviceAllocationStrategy: native\nmode: native\nsgpuHybrid: null\nshareNums: 4"},
		{"gpuDevice: {sGPUHybridMode: true}", "cluster-config", "deviceAllocationStrategy: native\nmode: sgpu\nsgpuHybrid: null\nshareNums: 4"},
		{"gpuDevice: {cmInit: {config: {cluster-config: 'mode: shared', version: v2}}}", "cluster-config", "mode: shared"},
		{"gpuDevice: {cmInit: {config: {cluster-config: {mode: shared}}}}", "cluster-config", "mode: shared"},
		{"gpuDevice: {cmInit: {config: {version: v2}}}", "nodes-config", ""},
		{"gpuDevice: {cmInit: {config: 'data: {nodes-config: \"[]\"}'}}", "nodes-config", "[]"},
	} {
		all := objects(t, mustRender(t, "1.34.4", test.values))
		if got := as[corev1.ConfigMap](t, all, "ConfigMap/metax-device-config-values").Data[test.key]; got != test.want {
			t.Errorf("%s: %s is %q, want %q", test.values, test.key, got, test.want)
		}
	}
}

// TestHostRoot takes the GPUs of a simulated node, and everything else from the host.
func TestHostRoot(t *testing.T) {
	pod := daemonset(t, "{hostRoot: /srv/node/, kubeletRootDir: /data/kubelet/}", "metax-gpu-device").Spec.Template.Spec
	want := map[string]string{
		"host-sys": "/srv/node/sys", "host-dev": "/srv/node/dev", "host-opt": "/srv/node/opt",
		"cdi": "/var/run/cdi", "run": "/run/metax-container-toolkit", "record": "/run/metax-container-toolkit/k8s", "slices": "/run/metax/device-plugin", "lib": "/var/lib/metax-container-toolkit",
		"device-plugins": "/var/lib/kubelet/device-plugins", "pod-resources": "/data/kubelet/pod-resources", "log": "/var/log/metax",
	}
	got := map[string]string{}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			got[v.Name] = v.HostPath.Path
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNoLogFiles mounts no directory for logs if none is wanted.
func TestNoLogFiles(t *testing.T) {
	const values = "{log: {dir: ''}, dataExporter: {deploy: true}}"
	for _, name := range []string{"metax-gpu-device", "metax-gpu-label", "metax-exporter"} {
		if text := toYAML(t, daemonset(t, values, name)); strings.Contains(text, "/var/log") || strings.Contains(text, "name: log") {
			t.Errorf("%s has a directory for logs", name)
		}
	}
}
