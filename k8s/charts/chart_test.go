// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/golden"
)

const (
	extensions = "metax-gpu-extensions"
	operator   = "metax-operator"
)

// render is what "helm template" does with metax-gpu-extensions, for a version of Kubernetes,
// with values as YAML.
func render(t *testing.T, kubernetes, values string) (*release.Release, error) {
	t.Helper()
	return renderChart(t, extensions, kubernetes, values)
}

func renderChart(t *testing.T, name, kubernetes, values string) (*release.Release, error) {
	t.Helper()
	chart, err := loader.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(new(action.Configuration))
	install.ClientOnly, install.DryRun, install.KubeVersion = true, true, version
	install.ReleaseName, install.Namespace = name, name
	return install.Run(chart, v)
}

func mustRender(t *testing.T, kubernetes, values string) *release.Release {
	t.Helper()
	r, err := render(t, kubernetes, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGolden renders the chart for the oldest version that it is for, one between, and the one
// that it is run on.
func TestGolden(t *testing.T) {
	for _, version := range []string{"1.23.0", "1.28.0", "1.34.4"} {
		golden.Equal(t, "testdata/"+version+".yaml", wholeText(mustRender(t, version, "")))
	}
}

// wholeText is a release with its hooks and notes.
func wholeText(r *release.Release) string {
	var text strings.Builder
	text.WriteString(strings.TrimPrefix(r.Manifest, "\n"))
	for _, hook := range r.Hooks {
		text.WriteString("---\n# Source: " + hook.Path + "\n" + hook.Manifest + "\n")
	}
	text.WriteString("=== NOTES\n" + r.Info.Notes + "\n")
	return text.String()
}
