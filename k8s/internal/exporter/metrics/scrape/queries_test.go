// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const files = "../../../../charts/metax-gpu-extensions/files"

// dashboardQueries returns the queries of all panels, with all nodes and GPUs chosen, and
// those of the variables.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("panel %q has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			name := panel.Title + " " + target.RefID
			if queries[name] != "" {
				t.Errorf("two panels have the title %q", panel.Title)
			}
			queries[name] = all(target.Expr)
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		list, ok := strings.CutPrefix(v.Definition, "label_values(")
		metric, label, ok2 := strings.Cut(strings.TrimSuffix(list, ")"), ", ")
		if !ok || !ok2 {
			t.Errorf("variable %q has the query %q", v.Name, v.Definition)
		}
		queries["variable "+v.Name] = "count by (" + label + ") (" + all(metric) + ") and on (" + label + `) {` + label + `!="", __name__=~"metax_.*"}`
	}
	if len(queries) < 20 {
		t.Errorf("only %d queries were found", len(queries))
	}
	return queries
}

// all replaces the variables of the dashboard as Grafana does when all of each are chosen.
func all(query string) string {
	return strings.NewReplacer("$node", ".*", "$gpu", ".*").Replace(query)
}

func alertQueries(t *testing.T) map[string]string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(read(t, "rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			queries["alert "+r.Alert] = r.Expr
		}
	}
	if len(queries) == 0 {
		t.Error("there are no alerts")
	}
	return queries
}

// TestPages: the pages have all alerts, in the order of the file.
func TestPages(t *testing.T) {
	alerts := regexp.MustCompile(`(?m)^      - alert: (\w+)$`).FindAllSubmatch(read(t, "rules.yaml"), -1)
	for _, page := range []string{"kubernetes-metrics.md", "zh/kubernetes-metrics.md"} {
		text := testfile.Read(t, "../../../../../docs/"+page)
		rows := regexp.MustCompile("(?m)^\\| `(MetaX\\w+)` \\|").FindAllSubmatch(text, -1)
		names := func(found [][][]byte) (all []string) {
			for _, m := range found {
				all = append(all, string(m[1]))
			}
			return all
		}
		if diff := cmp.Diff(names(alerts), names(rows)); diff != "" || len(alerts) == 0 {
			t.Errorf("%s: %s", page, diff)
		}
	}
}

// TestPluginPages: the pages have all metrics of the device plugin.
func TestPluginPages(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	plugin.NewMetrics(r, new(plugin.Server).Registered).SetDevices([]inventory.Device{{}})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range families {
		want = append(want, f.GetName())
	}
	for _, page := range []string{"kubernetes-metrics.md", "zh/kubernetes-metrics.md"} {
		text := testfile.Read(t, "../../../../../docs/"+page)
		var got []string
		for _, m := range regexp.MustCompile("(?m)^\\| `(metax_gpu_device_\\w+)` \\|").FindAllSubmatch(text, -1) {
			got = append(got, string(m[1]))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", page, diff)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	return testfile.Read(t, filepath.Join(files, name))
}
