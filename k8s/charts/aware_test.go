// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/golden"
)

// TestAwareGolden renders what deployExtenderGPUAware adds, for the versions of Kubernetes
// with the two forms of the scheduler's configuration.
func TestAwareGolden(t *testing.T) {
	for _, version := range []string{"1.24.0", "1.34.4"} {
		r := mustRender(t, version, "{deployExtenderGPUAware: true, gpuAware: {service: {clusterIP: 10.96.0.77}}}")
		var text strings.Builder
		for part := range strings.SplitSeq(r.Manifest, "---\n") {
			if strings.Contains(part, "/templates/gpu-aware/") {
				text.WriteString("---\n" + part)
			}
		}
		golden.Equal(t, "testdata/aware-"+version+".yaml", text.String()+"=== NOTES\n"+r.Info.Notes+"\n")
	}
}

// TestAwareIsAnOption demands that nothing of it is there by default.
func TestAwareIsAnOption(t *testing.T) {
	for name, object := range objects(t, mustRender(t, "1.34.4", "")) {
		if strings.Contains(name, "aware") || object.GetNamespace() == "metax-gpu" {
			t.Errorf("%s is there without deployExtenderGPUAware", name)
		}
	}
}

// TestSchedulerConfig has values, and what the scheduler's configuration says then.
func TestSchedulerConfig(t *testing.T) {
	const address = "service: {clusterIP: 10.96.0.77}"
	for _, test := range []struct{ values, want string }{
		{"service: {clusterIP: 10.96.0.77}", `urlPrefix: http://10.96.0.77:8080`},
		{"service: {clusterIP: 'fd00::7'}", `urlPrefix: http://[fd00::7]:8080`},
		{"tls: {secret: a}, service: {clusterIP: 10.96.0.77}", `urlPrefix: https://10.96.0.77:8080`},
		{"tls: {secret: a}, service: {clusterIP: 10.96.0.77}", `enableHTTPS: true`},
		{"extender: {urlPrefix: 'https://gpu.example.com/x'}", `urlPrefix: https://gpu.example.com/x`},
		// As in the vendor's manual.
		{address + ", extender: {nodeCacheCapable: false, ignorable: false}", `nodeCacheCapable: false`},
		{address + ", extender: {nodeCacheCapable: false, ignorable: false}", `ignorable: false`},
		{address + ", extender: {weight: 7, httpTimeout: 500ms}", `weight: 7`},
		{address + ", extender: {weight: 7, httpTimeout: 500ms}", `httpTimeout: 500ms`},
		{address, `ignoredByScheduler: false`},
	} {
		config := as[corev1.ConfigMap](t, objects(t, mustRender(t, "1.34.4", "{deployExtenderGPUAware: true, gpuAware: {"+test.values+"}}")), "ConfigMap/metax-gpu-aware-scheduler")
		for _, file := range []string{"extender.yaml", "second.yaml"} {
			if !strings.Contains(config.Data[file], test.want+"\n") && !strings.HasSuffix(config.Data[file], test.want) {
				t.Errorf("%s: no %s in %s:\n%s", test.values, test.want, file, config.Data[file])
			}
		}
	}
}

// TestVolcanoPlugin: with gpuAware.volcano, the ConfigMap has what Volcano's configuration needs,
// in the types that Volcano's plugin reads, and questions may be large.
func TestVolcanoPlugin(t *testing.T) {
	for _, values := range []string{"volcano: true, service: {clusterIP: 10.96.0.77}, extender: {httpTimeout: 500ms}", "service: {clusterIP: 10.96.0.77}"} {
		all := objects(t, mustRender(t, "1.34.4", "{deployExtenderGPUAware: true, gpuAware: {"+values+"}}"))
		args := as[appsv1.DaemonSet](t, all, "DaemonSet/metax-gpu-aware").Spec.Template.Spec.Containers[0].Args
		text, has := as[corev1.ConfigMap](t, all, "ConfigMap/metax-gpu-aware-scheduler").Data["volcano.yaml"]
		if on := strings.HasPrefix(values, "volcano"); has != on || slices.Contains(args, "--max-body=33554432") != on {
			t.Errorf("%s: there is a configuration: %t, the arguments are %q", values, has, args)
		}
		if !has {
			continue
		}
		var plugins []any
		if err := yaml.Unmarshal([]byte(text), &plugins); err != nil {
			t.Fatal(err)
		}
		want := []any{map[string]any{"name": "extender", "arguments": map[string]any{
			"extender.urlPrefix": "http://10.96.0.77:8080/volcano", "extender.predicateVerb": "predicate", "extender.prioritizeVerb": "prioritize",
			"extender.httpTimeout": "500ms", "extender.ignorable": true, "extender.managedResources": []any{"metax-tech.com/gpu"},
		}}}
		if diff := cmp.Diff(want, plugins); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestNoAddress: without an address there is no configuration that a scheduler could take, and
// the notes say how it gets one.
func TestNoAddress(t *testing.T) {
	for _, name := range []string{extensions, operator} {
		for values, has := range map[string]bool{"{}": false, "{service: {clusterIP: 10.96.0.77}}": true, "{extender: {urlPrefix: 'http://a.example'}}": true} {
			r, err := renderChart(t, name, "1.34.4", "{deployExtenderGPUAware: true, gpuAware: "+values+"}")
			if err != nil {
				t.Fatal(err)
			}
			if _, got := objects(t, r)["ConfigMap/metax-gpu-aware-scheduler"]; got != has {
				t.Errorf("%s, %s: the configuration is there: %t", name, values, got)
			}
			notes := r.Info.Notes
			if strings.Contains(notes, "helm upgrade "+name+" CHART -n "+name+" --reuse-values") == has || !strings.Contains(notes, "DESIRED must not be 0") || strings.Contains(notes, "gpu-aware runs") {
				t.Errorf("%s, %s:\n%s", name, values, notes)
			}
		}
	}
}

// TestAwareNamespace: the namespace is made unless it is there, or is that of the release.
func TestAwareNamespace(t *testing.T) {
	for values, want := range map[string]bool{"": true, "createNamespace: false": false, "namespace: " + extensions: false} {
		_, got := objects(t, mustRender(t, "1.34.4", "{deployExtenderGPUAware: true, gpuAware: {"+values+"}}"))["Namespace/metax-gpu"]
		if got != want {
			t.Errorf("%q: made: %v", values, got)
		}
	}
}

// TestBesideHAMi installs gpu-aware into clusters with HAMi.
func TestBesideHAMi(t *testing.T) {
	deployment := func(image string) *unstructured.Unstructured {
		u := daemonSet(t, "kube-system", "vgpu-hami-scheduler", image, "/x", nil)
		u.SetKind("Deployment")
		return u
	}
	const refused = "HAMi's scheduler is in this cluster: Deployment kube-system/vgpu-hami-scheduler."
	for _, test := range []struct{ image, values, want string }{
		{"docker.io/projecthami/hami:v2.7.0", "deployExtenderGPUAware: true", refused},
		{"hub.example.com/mirror/hami-scheduler@sha256:12", "deployExtenderGPUAware: true", refused},
		{"docker.io/projecthami/hami:v2.7.0", "{deployExtenderGPUAware: true, gpuAware: {besideHAMi: true}}", ""},
		{"docker.io/projecthami/hami:v2.7.0", "{}", ""},
		{"hub.example.com/hamiltonian:1", "deployExtenderGPUAware: true", ""},
	} {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
			t.Fatal(err)
		}
		_, err := beside(t, extensions, deployment(test.image), values)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: got %v, want %q", test.image, test.values, err, test.want)
		}
	}
}
