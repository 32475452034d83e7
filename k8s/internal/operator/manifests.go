package operator

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

const chartName = "metax-gpu-extensions"

// templates are those of the chart that make the DaemonSets, by the DaemonSets' names, and what they share.
var templates = map[string]string{
	protocol.Label:    "templates/gpu-label/daemonset.yaml",
	protocol.Device:   "templates/gpu-device/daemonset.yaml",
	protocol.Exporter: "templates/exporter/daemonset.yaml",
}

// Manifests makes the DaemonSets of the components from the chart metax-gpu-extensions.
type Manifests struct {
	chart              *chart.Chart
	values             map[string]any
	release, namespace string
}

// NewManifests returns the manifests of a chart, with values as YAML that the operator was installed with. The
// names of the release and the namespace are in labels and arguments.
func NewManifests(files fs.FS, values []byte, release, namespace string) (Manifests, error) {
	m := Manifests{release: release, namespace: namespace}
	if err := yaml.UnmarshalStrict(values, &m.values); err != nil {
		return m, fmt.Errorf("read the values: %w", err)
	}
	var needed []*loader.BufferedFile
	err := fs.WalkDir(files, chartName, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name = strings.TrimPrefix(name, chartName+"/")
		if !isNeeded(name) {
			return nil
		}
		text, err := fs.ReadFile(files, path.Join(chartName, name))
		needed = append(needed, &loader.BufferedFile{Name: name, Data: text})
		return err
	})
	if err == nil {
		m.chart, err = loader.LoadFiles(needed)
	}
	if err != nil {
		return m, fmt.Errorf("read the chart %s: %w", chartName, err)
	}
	_, err = m.Render(v1alpha1.ClusterOperatorSpec{})
	return m, err
}

// isNeeded reports whether a file of the chart takes part in making the DaemonSets.
func isNeeded(name string) bool {
	for _, template := range templates {
		if name == template {
			return true
		}
	}
	return !strings.Contains(name, "/") || strings.HasPrefix(path.Base(name), "_")
}

// Render returns the DaemonSets by their names, with the options of a spec over the values. It fails if the
// chart refuses an option.
func (m Manifests) Render(spec v1alpha1.ClusterOperatorSpec) (map[string]*appsv1.DaemonSet, error) {
	values, err := chartutil.ToRenderValues(m.chart, chartutil.CoalesceTables(overlay(spec), m.values),
		chartutil.ReleaseOptions{Name: m.release, Namespace: m.namespace, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(m.chart, values)
	if err != nil {
		return nil, err
	}
	sets := map[string]*appsv1.DaemonSet{}
	for name, template := range templates {
		set := &appsv1.DaemonSet{}
		if err := yaml.UnmarshalStrict([]byte(rendered[path.Join(chartName, template)]), set); err != nil {
			return nil, fmt.Errorf("read the manifest of %s: %w", name, err)
		}
		set.Labels["app.kubernetes.io/managed-by"] = protocol.Operator
		delete(set.Labels, "helm.sh/chart")
		sets[name] = set
	}
	return sets, nil
}

// overlay are the values that a spec states.
func overlay(spec v1alpha1.ClusterOperatorSpec) map[string]any {
	device := of(spec.DevicePlugin.Component)
	if n := spec.DevicePlugin.HealthyInterval; n != nil {
		device["healthyInterval"] = *n
	}
	exporter := of(spec.DataExporter)
	exporter["deploy"] = true // else the template is empty
	label := of(spec.Labelgen)
	label["validate"] = !spec.MinimalMode
	return map[string]any{"gpuDevice": device, "gpuLabel": label, "dataExporter": exporter}
}

// of are the values of one component.
func of(c v1alpha1.Component) map[string]any {
	values := map[string]any{}
	if image, err := protocol.ParseImage(c.Image); err == nil && !protocol.IsVendorImage(c.Image) {
		values["image"] = map[string]any{"registry": image.Registry, "name": image.Name, "version": image.Version}
	}
	log := map[string]any{}
	for name, value := range map[string]string{
		"dir": c.Log.Dir, "level": c.Log.Level, "format": c.Log.Format, "rotationTime": c.Log.RotationTime, "maxAge": c.Log.MaxAge,
	} {
		if value != "" {
			log[name] = value
		}
	}
	if len(log) > 0 {
		values["log"] = log
	}
	return values
}
