// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// edited are the ConfigMaps that people edit, by chart.
var edited = map[string][]string{
	extensions: {"metax-device-config", "metax-gpu-aware-plugin"},
	operator:   {"driver-config", "metax-device-config", "metax-gpu-aware-plugin", "metax-vfio-config"},
}

// TestEdited: no manifest of a release says anything of what people edit, so that no upgrade
// and no rollback does.
func TestEdited(t *testing.T) {
	for name, maps := range edited {
		r, err := renderChart(t, name, "1.34.4", "{deployExtenderGPUAware: true}")
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, r)
		for _, m := range maps {
			if c := as[corev1.ConfigMap](t, all, "ConfigMap/"+m); len(c.Data)+len(c.BinaryData) > 0 {
				t.Errorf("%s states the data of %s", name, m)
			}
			if c := as[corev1.ConfigMap](t, all, "ConfigMap/"+m+"-values"); len(c.Data) == 0 {
				t.Errorf("%s: %s-values has no data", name, m)
			}
		}
	}
}

// TestEditedBefore upgrades from a chart that stated the data.
func TestEditedBefore(t *testing.T) {
	config := func(name, text string, annotations map[string]string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"version": "v1", "node-vfnums": text}}}
		u.SetNamespace(operator)
		u.SetName(name)
		u.SetAnnotations(annotations)
		return u
	}
	keep := map[string]string{"helm.sh/resource-policy": "keep"}
	values := config("driver-config-values", "nodes: {}", nil)
	const edit = "nodes: {a: {vfnum: 2}}"
	for _, test := range []struct {
		what   string
		there  []*unstructured.Unstructured
		stated bool
		want   string
	}{
		{"nothing", []*unstructured.Unstructured{config("x", "", nil)}, true, ""},
		{"the default", []*unstructured.Unstructured{config("driver-config", "nodes: {}\n", nil)}, true, ""},
		{"an edit", []*unstructured.Unstructured{config("driver-config", edit, nil)}, false, "kubectl annotate configmap -n metax-operator driver-config helm.sh/resource-policy=keep"},
		{"an edit that is kept", []*unstructured.Unstructured{config("driver-config", edit, keep)}, false, ""},
		{"the next upgrade", []*unstructured.Unstructured{config("driver-config", edit, keep), values}, true, ""},
		{"an edit of this version", []*unstructured.Unstructured{config("driver-config", edit, nil), values}, true, ""},
	} {
		all, err := beside(t, operator, test.there[0], nil, test.there[1:]...)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.what, err)
		}
		text := all[operator+"/templates/controller/config.yaml"]
		if err == nil && (strings.Contains(text, "name: driver-config\n") != test.stated || !strings.Contains(text, "name: driver-config-values\n")) {
			t.Errorf("%s:\n%s", test.what, text)
		}
	}
}
