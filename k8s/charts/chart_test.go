// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"
)

const (
	extensions = "metax-gpu-extensions"
	operator   = "metax-operator"
)

var update = flag.Bool("update", false, "rewrite the golden files and the plain manifest")

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

// golden compares text with a file; -update writes it.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s is out of date (go test ./charts -update):\n%s", path, d)
	}
}

// TestGolden renders the chart for the oldest version that it is for, one between, and the one
// that it is run on.
func TestGolden(t *testing.T) {
	for _, version := range []string{"1.23.0", "1.28.0", "1.34.4"} {
		golden(t, filepath.Join("testdata", version+".yaml"), wholeText(mustRender(t, version, "")))
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
