// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// cluster is what lookup sees in the test.
type cluster struct{ dynamic.Interface }

func (c cluster) GetClientFor(version, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	group, err := schema.ParseGroupVersion(version)
	return c.Resource(group.WithResource(strings.ToLower(kind) + "s")), true, err
}

// lists are the kinds of what lookup finds.
var lists = map[schema.GroupVersionResource]string{
	{Group: "apps", Version: "v1", Resource: "daemonsets"}: "DaemonSetList", {Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList",
	{Group: "apps", Version: "v1", Resource: "services"}: "ServiceList",
}

// beside renders a chart with values in a cluster that has an object.
func beside(t *testing.T, name string, object *unstructured.Unstructured, values map[string]any, more ...*unstructured.Unstructured) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: name, Namespace: name, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	there := []runtime.Object{object}
	for _, o := range more {
		there = append(there, o)
	}
	return engine.RenderWithClientProvider(chart, all, cluster{fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, there...)})
}

// daemonSet is one with a container of that image and a volume of that path of the host.
func daemonSet(t *testing.T, namespace, name, image, path string, annotations map[string]string) *unstructured.Unstructured {
	t.Helper()
	var object map[string]any
	text := `{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: {
		containers: [{name: c, image: "` + image + `"}],
		volumes: [{name: t, emptyDir: {}}, {name: d, hostPath: {path: "` + path + `"}}]}}}}`
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", "")), &object); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetAnnotations(annotations)
	return u
}

// withArgs gives the container arguments.
func withArgs(set *unstructured.Unstructured, args ...any) *unstructured.Unstructured {
	spec := set.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	spec["containers"].([]any)[0].(map[string]any)["args"] = args
	return set
}

// TestBesideAnother installs the chart into clusters that have a DaemonSet.
func TestBesideAnother(t *testing.T) {
	const plugins = "/var/lib/kubelet/device-plugins"
	const another = "another device plugin for metax-tech.com/gpu is in this cluster: DaemonSet "
	owned := map[string]string{"meta.helm.sh/release-name": extensions, "meta.helm.sh/release-namespace": extensions}
	for _, test := range []struct {
		what string
		set  *unstructured.Unstructured
		want string // in the message, or "" if the chart is installed
	}{
		{"the vendor's", daemonSet(t, "metax-operator", "metax-gpu-device", "cr.metax-tech.com/cloud/gpu-device:0.8.0", plugins, nil), another + "metax-operator/metax-gpu-device."},
		{"the vendor's from a mirror", daemonSet(t, "gpu", "gpudevice-x", "hub.example.com/cloud/gpu-device:0.8.0", plugins+"/", nil), another + "gpu/gpudevice-x."},
		{"one that mounts more", daemonSet(t, "gpu", "metax-plugin", "hub.example.com/plugin:1", "/var/lib/kubelet", nil), another + "gpu/metax-plugin."},
		{"another release of this chart", daemonSet(t, "other", "metax-gpu-device", "ghcr.io/metax-ctk/gpu-device:0.1.0", plugins, map[string]string{"meta.helm.sh/release-name": extensions, "meta.helm.sh/release-namespace": "other"}), another + "other/metax-gpu-device."},
		{"this release, in an upgrade", daemonSet(t, extensions, "metax-gpu-device", "ghcr.io/metax-ctk/gpu-device:0.1.0", plugins, owned), ""},
		{"labels, in an upgrade", withArgs(daemonSet(t, extensions, "metax-gpu-label", "ghcr.io/metax-ctk/gpu-label:0.1.0", "/sys", owned), "--output=labels"), ""},
		{"features for NFD, in an upgrade to labels", withArgs(daemonSet(t, extensions, "metax-gpu-label", "ghcr.io/metax-ctk/gpu-label:0.1.0", "/sys", owned), "--output=nfd"), "gpuLabel.output: an upgrade cannot change it"},
		{"a clean-up", daemonSet(t, extensions, "metax-gpu-cleanup", "ghcr.io/metax-ctk/gpu-label:0.1.0", "/run", owned), "kubectl delete daemonset -n metax-gpu-extensions metax-gpu-cleanup"},
		{"the plugin of another vendor", daemonSet(t, "kube-system", "nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0", plugins, nil), ""},
		{"a program of the vendor that is not a plugin", daemonSet(t, "gpu", "metax-gpu-label", "cr.metax-tech.com/cloud/gpu-label:0.8.0", "/sys", nil), ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			_, err := beside(t, extensions, test.set, nil)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestOperatorBeside has the DaemonSets that metax-operator deploys itself, and those of
// others.
func TestOperatorBeside(t *testing.T) {
	const plugins = "/var/lib/kubelet/device-plugins"
	for _, test := range []struct {
		what, namespace, managedBy, instance, want string
	}{
		{"its own", operator, operator, operator, ""},
		{"that of another release", "other", operator, operator, "DaemonSet other/metax-gpu-device"},
		{"that of metax-gpu-extensions", extensions, "Helm", extensions, "DaemonSet metax-gpu-extensions/metax-gpu-device"},
	} {
		set := daemonSet(t, test.namespace, "metax-gpu-device", "ghcr.io/metax-ctk/gpu-device:0.1.0", plugins, nil)
		set.SetLabels(map[string]string{"app.kubernetes.io/managed-by": test.managedBy, "app.kubernetes.io/instance": test.instance})
		if _, err := beside(t, operator, set, nil); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.what, err)
		}
	}
}
