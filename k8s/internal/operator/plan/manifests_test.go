// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/charts"
)

// TestOptions has values and a spec, and what a DaemonSet has by them.
func TestOptions(t *testing.T) {
	for _, test := range []struct{ values, spec, set, want string }{
		{"", "{}", "metax-gpu-device", "--healthy-interval=5"},
		{"gpuDevice: {healthyInterval: 7, goodLooks: 4}", "{}", "metax-gpu-device", "--healthy-interval=7 --good-looks=4 --namespace=metax-operator"},
		{"gpuDevice: {healthyInterval: 7, goodLooks: 4}", "{devicePlugin: {healthyInterval: 9}}", "metax-gpu-device", "--healthy-interval=9 --good-looks=4"},
		{"log: {level: debug}", "{labelgen: {log: {format: text}}}", "metax-gpu-label", "--log-level=debug --log-format=text"},
		{"", "{dataExporter: {log: {maxAge: 3d}}}", "metax-exporter", "--log-max-age=3d"},
		{"hostRoot: /srv/node", "{}", "metax-gpu-device", "--root=/host"},
		{"", "{devicePlugin: {image: 'hub.example.com/x/gpu-device:2'}}", "metax-gpu-device", "hub.example.com/x/gpu-device:2"},
		{"", "{}", "metax-gpu-label", "--validate --metrics-address=:8000"},
		{"", "{runtime: {config: {setAsDefault: true}, log: {level: debug}}}", "metax-container-runtime", "--set-as-default --log-level=debug"},
		{"admissionPolicy: {deploy: true}", "{}", "metax-gpu-device", "--tell-pods=true"},
		{"admissionPolicy: {deploy: false}", "{}", "metax-gpu-device", "--tell-pods=false"},
		{"{admissionPolicy: {deploy: false}, gpuDevice: {config: {mode: sgpu}}}", "{}", "metax-gpu-device", "--tell-pods=true"},
		{"", "{labelgen: {image: gpu-label}}", "metax-gpu-label", "ghcr.io/metax-ctk/gpu-label:0.1.0"},
	} {
		sets, err := manifests(t, test.values).Render(object(t, test.spec).Spec)
		if err != nil {
			t.Fatal(err)
		}
		c := sets[test.set].Spec.Template.Spec.Containers[0]
		for want := range strings.SplitSeq(test.want, " ") {
			if !slices.Contains(append(c.Args, c.Image), want) {
				t.Errorf("%s %s: no %s in %q", test.values, test.spec, want, append(c.Args, c.Image))
			}
		}
	}
}

func TestValuesRefused(t *testing.T) {
	for values, want := range map[string]string{
		"gpuDevise: {}":                       "additional properties 'gpuDevise' not allowed",
		"registry: cr.metax-tech.com/cloud":   "at '/registry'",
		"{":                                   "read the values",
		"gpuDevice: {healthyInterval: often}": "got string, want integer",
	} {
		if _, err := NewManifests(charts.Extensions, charts.Operator, []byte(values), "gpus", "ns"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// TestPods merges templates: that of the component is over that of all, and maps are merged
// and lists appended.
func TestPods(t *testing.T) {
	sets, err := manifests(t, "").Render(object(t, "{}").Spec)
	if err != nil {
		t.Fatal(err)
	}
	set := sets["metax-gpu-label"]
	before := set.DeepCopy()
	o := object(t, `
podTemplateSpec:
  metadata: {labels: {app.kubernetes.io/name: mine, team: a}, annotations: {a: "1", b: "1"}}
  spec: {priorityClassName: low, tolerations: [{key: x}], nodeSelector: {pool: a}}
labelgen:
  podTemplateSpec:
    metadata: {annotations: {a: "2"}}
    spec: {tolerations: [{key: "y"}], nodeSelector: {zone: b}}
`)
	if err := mergePods(set, o.Spec.PodTemplateSpec, o.Spec.Labelgen.PodTemplateSpec); err != nil {
		t.Fatal(err)
	}
	got, pod := set.Spec.Template, set.Spec.Template.Spec
	for _, pair := range [][2]any{
		{map[string]string{"a": "2", "b": "1"}, got.Annotations},
		{"metax-gpu-label a", got.Labels["app.kubernetes.io/name"] + " " + got.Labels["team"]},
		{"low", pod.PriorityClassName},
		{[]corev1.Toleration{{Operator: "Exists"}, {Key: "x"}, {Key: "y"}}, pod.Tolerations},
		{map[string]string{"pool": "a", "zone": "b"}, pod.NodeSelector},
		{before.Spec.Template.Spec.Containers, pod.Containers},
	} {
		if d := cmp.Diff(pair[0], pair[1]); d != "" {
			t.Error(d)
		}
	}
}

// TestStrangersImages has the containers that run in payload images. Engines mount by depth
// and then in the order of the manifest, and resolve links of the image: nothing may be
// mounted after the program that the container runs, as it could cover it with files of the
// image.
func TestStrangersImages(t *testing.T) {
	sets, err := manifests(t, "{driver: {deployPolicy: Always, payload: {version: '1'}}}").Render(object(t, "{maca: {payload: {images: ['maca:1', 'maca:2']}}}").Spec)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for name, set := range sets {
		for _, c := range set.Spec.Template.Spec.InitContainers {
			if path.Dir(c.Command[0]) == "/" { // a program of its own image
				continue
			}
			found[name]++
			last := c.VolumeMounts[len(c.VolumeMounts)-1]
			if path.Dir(c.Command[0]) != last.MountPath || !last.ReadOnly {
				t.Errorf("%s/%s runs %s, and the last mount is %+v", name, c.Name, c.Command[0], last)
			}
			for _, m := range c.VolumeMounts[:len(c.VolumeMounts)-1] {
				if strings.Count(m.MountPath, "/") >= strings.Count(last.MountPath, "/") {
					t.Errorf("%s/%s: %s is as deep as the program's %s", name, c.Name, m.MountPath, last.MountPath)
				}
			}
		}
	}
	if d := cmp.Diff(map[string]int{"metax-driver": 1, "metax-maca": 2, "metax-maca-n": 2}, found); d != "" {
		t.Error(d)
	}
}
