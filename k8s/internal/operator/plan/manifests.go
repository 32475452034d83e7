// SPDX-License-Identifier: Apache-2.0

package plan

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

// templates are the files of the charts that make the DaemonSets, by the DaemonSets' names.
var templates = map[string]string{
	protocol.Label:    "templates/gpu-label/daemonset.yaml",
	protocol.Device:   "templates/gpu-device/daemonset.yaml",
	protocol.Exporter: "templates/exporter/daemonset.yaml",
	protocol.Driver:   "templates/agents/driver.yaml",
	protocol.MACA:     "templates/agents/maca.yaml",
	protocol.MACAN:    "templates/agents/maca-n.yaml",

	protocol.VFManager:   "templates/agents/vf-manager.yaml",
	protocol.VFIOManager: "templates/agents/vfio-manager.yaml",
	protocol.Runtime:     "templates/agents/container-runtime.yaml",
}

// Manifests makes the DaemonSets of the components: from the chart metax-gpu-extensions, and
// those of the agents from the directory agents of the chart metax-operator.
type Manifests struct {
	chart              *chart.Chart
	values             map[string]any
	release, namespace string
}

// NewManifests returns the manifests of charts, each in the directory of its name, with values
// of metax-operator as YAML that it was installed with. The names of the release and the
// namespace are in labels and arguments.
func NewManifests(extensions, operator fs.FS, values []byte, release, namespace string) (Manifests, error) {
	m := Manifests{release: release, namespace: namespace}
	if err := yaml.UnmarshalStrict(values, &m.values); err != nil {
		return m, fmt.Errorf("read the values: %w", err)
	}
	own, err := chartFiles(operator, "metax-operator")
	if err != nil {
		return m, err
	}
	shared, err := chartFiles(extensions, "metax-gpu-extensions")
	if err != nil {
		return m, err
	}
	for _, f := range shared {
		if isShared(f.Name) {
			own = append(own, f)
		}
	}
	if m.chart, err = loader.LoadFiles(own); err != nil {
		return m, fmt.Errorf("read the charts: %w", err)
	}
	_, err = m.Render(v1alpha1.ClusterOperatorSpec{})
	return m, err
}

// chartFiles are the files of a chart. Those of the directory agents are templates.
func chartFiles(files fs.FS, name string) (all []*loader.BufferedFile, err error) {
	err = fs.WalkDir(files, name, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, at)
		at = strings.TrimPrefix(at, name+"/")
		if strings.HasPrefix(at, "agents/") {
			at = "templates/" + at
		}
		all = append(all, &loader.BufferedFile{Name: at, Data: text})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart %s: %w", name, err)
	}
	return all, nil
}

// isShared reports whether a file of metax-gpu-extensions takes part in making the DaemonSets.
func isShared(name string) bool {
	for _, template := range templates {
		if name == template {
			return true
		}
	}
	return strings.HasPrefix(path.Base(name), "_")
}

// Render returns the DaemonSets by their names, with the options of a spec over the values. It
// fails if the chart refuses an option.
func (m Manifests) Render(spec v1alpha1.ClusterOperatorSpec) (map[string]*appsv1.DaemonSet, error) {
	// The values say whether the cluster has policies (admissionPolicy.deploy); Helm's own
	// default is older than those.
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.30.0", Major: "1", Minor: "30"}
	values, err := chartutil.ToRenderValues(m.chart, chartutil.CoalesceTables(overlay(spec), m.values),
		chartutil.ReleaseOptions{Name: m.release, Namespace: m.namespace, IsInstall: true}, capabilities)
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
		if err := yaml.UnmarshalStrict([]byte(rendered[path.Join(m.chart.Name(), template)]), set); err != nil {
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
	vfio := of(spec.VFIOManager)
	vfio["deploy"] = requestsVFIO(spec)
	runtime := of(spec.Runtime.Component)
	if yes := spec.Runtime.Config.SetAsDefault; yes != nil {
		runtime["config"] = map[string]any{"setAsDefault": *yes}
	}
	return map[string]any{
		"gpuDevice": device, "gpuLabel": label, "dataExporter": exporter, "runtime": runtime,
		"driver": driverValues(spec.Driver), "maca": overMACA(spec, device), "vfioManager": vfio,
	}
}

// driverValues are the values of the driver's agent.
func driverValues(d *v1alpha1.Driver) map[string]any {
	if d == nil {
		return map[string]any{}
	}
	values := of(d.Component)
	if d.DeployPolicy != "" {
		values["deployPolicy"] = d.DeployPolicy
	}
	if p := d.Payload; p != nil {
		payload := map[string]any{}
		for name, value := range map[string]string{"name": p.Name, "version": p.Version, "registry": p.Registry} {
			if value != "" {
				payload[name] = value
			}
		}
		values["payload"] = payload
	}
	return values
}

// overMACA are the values of MXMACA. With images of it, containers get it whose image has
// none.
func overMACA(spec v1alpha1.ClusterOperatorSpec, device map[string]any) map[string]any {
	maca := of(spec.MACA.Component)
	images := []any{}
	for _, image := range spec.MACA.Payload.Images {
		images = append(images, image)
	}
	from := map[string]any{"images": images}
	if registry := spec.MACA.Payload.Registry; registry != "" {
		from["registry"] = registry
	}
	maca["payload"] = from
	cleanup := map[string]any{}
	if n := spec.MACA.CleanupConfig.Threshold; n != nil {
		cleanup["threshold"] = *n
	}
	if policy := spec.MACA.CleanupConfig.CleanupPolicy; policy != "" {
		cleanup["cleanupPolicy"] = policy
	}
	maca["cleanupConfig"] = cleanup
	if len(images) > 0 && !spec.MinimalMode {
		device["maca"] = "fallback"
	}
	return maca
}

// of are the values of one component.
func of(c v1alpha1.Component) map[string]any {
	values := map[string]any{}
	if image, err := protocol.ParseImage(c.Image); err == nil && !protocol.IsVendorImage(c.Image) {
		values["image"] = map[string]any{"registry": image.Registry, "name": image.Name, "version": image.Version}
	}
	log := map[string]any{}
	for name, value := range map[string]string{
		"dir": c.Log.Dir, "level": c.Log.Level, "format": c.Log.Format, "rotationTime": c.Log.RotationTime,
		"maxAge": c.Log.MaxAge,
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
