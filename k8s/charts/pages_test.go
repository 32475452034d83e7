// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// pages have the tables of the chart, in both languages.
var pages = []string{"../../docs/kubernetes-reference.md", "../../docs/zh/kubernetes-reference.md"}

// table are the cells of the rows below <!-- NAME --> on a page, without the head and without
// the last column, which is prose.
func table(t *testing.T, page, name string) []string {
	t.Helper()
	text := testfile.Text(t, page)
	_, below, ok := strings.Cut(text, "<!-- "+name+" -->\n")
	if !ok {
		t.Fatalf("%s has no table %s", page, name)
	}
	var rows []string
	for line := range strings.Lines(below) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[len(cells)-1] == "" {
			t.Errorf("%s: no reason in %s", page, line)
		}
		rows = append(rows, strings.Join(cells[:len(cells)-1], " | "))
	}
	if len(rows) < 3 {
		t.Fatalf("%s: the table %s is empty", page, name)
	}
	slices.Sort(rows[2:])
	return rows[2:]
}

func compare(t *testing.T, name string, want []string) {
	t.Helper()
	comparePages(t, pages, name, want)
}

func comparePages(t *testing.T, pages []string, name string, want []string) {
	t.Helper()
	slices.Sort(want)
	for _, page := range pages {
		if d := cmp.Diff(want, table(t, page, name)); d != "" {
			t.Errorf("%s: table %s, - the chart, + the page:\n%s", page, name, d)
		}
	}
}

// leaves are values that the table has in one row each; shared are those that every component
// has, which the page describes once.
var (
	leaves = regexp.MustCompile(`(^|\.)(image|nodeSelector|affinity|tolerations|labels|imagePullSecrets)$`)
	shared = regexp.MustCompile(`\.(image|podTemplateSpec|log|nodeSelector|affinity|tolerations|resources|updateStrategy)$`)
)

// TestValuesTable compares names and defaults with values.yaml.
func TestValuesTable(t *testing.T) {
	compare(t, "values", valueRows(t, readText(t, extensions+"/values.yaml")))
}

// valueRows are the rows of a table of values.
func valueRows(t *testing.T, text string) []string {
	t.Helper()
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	var want []string
	var walk func(prefix string, v map[string]any)
	walk = func(prefix string, v map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if shared.MatchString(prefix + key) {
				continue
			}
			if inner, ok := v[key].(map[string]any); ok && len(inner) > 0 && !leaves.MatchString(prefix+key) {
				walk(prefix+key+".", inner)
				continue
			}
			want = append(want, fmt.Sprintf("`%s` | `%s`", prefix+key, flow(v[key])))
		}
	}
	walk("", values)
	return want
}

// flow is a value as the table shows it: YAML on one line.
func flow(v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+": "+flow(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case nil:
		return "null"
	case string:
		if v == "" {
			return `""`
		}
	}
	return fmt.Sprint(v)
}

// TestPermissionsTable compares programs, verbs and resources with the roles.
func TestPermissionsTable(t *testing.T) {
	compare(t, "permissions", permissionRows(t, objects(t, mustRender(t, "1.34.4", "dataExporter: {deploy: true}\ndeployExtenderGPUAware: true\nreaders: [{kind: Group, name: users}]")), extensions+"-"))
}

// permissionRows are the rows of a table of permissions, of the roles whose names begin with
// the prefix.
func permissionRows(t *testing.T, all map[string]*unstructured.Unstructured, prefix string) []string {
	t.Helper()
	var want []string
	for name := range all {
		kind, role, _ := strings.Cut(name, "/")
		if kind != "ClusterRole" && kind != "Role" || !strings.HasPrefix(role, prefix) {
			continue
		}
		where := "the cluster"
		if ns := all[name].GetNamespace(); ns != "" {
			where = "`" + ns + "`"
		}
		for _, rule := range as[rbacv1.ClusterRole](t, all, name).Rules {
			for _, resource := range rule.Resources {
				want = append(want, fmt.Sprintf("%s | `%s` | %s | %s", strings.TrimPrefix(role, prefix), resource, where, strings.Join(rule.Verbs, ", ")))
			}
		}
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "the cluster", "–")
	}
	return want
}

// TestHostPathsTable compares the directories of the host, and the containers that read and
// write each, with the pods. The containers of one name have the same directories.
func TestHostPathsTable(t *testing.T) {
	writes := map[string]map[string]bool{} // by directory and container
	for _, values := range []string{"dataExporter: {deploy: true}", "gpuLabel: {output: nfd}", "gpuLabel: {validate: true}", "gpuDevice: {mixedNodes: true}", "gpuDevice: {koordletDir: /var/run/koordlet/xpu-device-infos}"} {
		for name, object := range objects(t, mustRender(t, "1.34.4", values)) {
			if object.GetKind() != "DaemonSet" {
				continue
			}
			pod := daemonset(t, values, strings.TrimPrefix(name, "DaemonSet/")).Spec.Template.Spec
			for _, c := range append(pod.InitContainers, pod.Containers...) {
				for _, m := range c.VolumeMounts {
					at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
					if v := pod.Volumes[at]; v.HostPath != nil {
						dir := path.Clean(v.HostPath.Path)
						if writes[dir] == nil {
							writes[dir] = map[string]bool{}
						}
						writes[dir][c.Name] = writes[dir][c.Name] || !m.ReadOnly
					}
				}
			}
		}
	}
	var want []string
	for dir, containers := range writes {
		var by [2][]string // readers, writers
		for _, name := range slices.Sorted(maps.Keys(containers)) {
			i := 0
			if containers[name] {
				i = 1
			}
			by[i] = append(by[i], name)
		}
		want = append(want, fmt.Sprintf("`%s` | %s | %s", dir, strings.Join(by[0], ", "), strings.Join(by[1], ", ")))
	}
	compare(t, "hostpaths", want)
}

// TestPrintedConfigMaps: a ConfigMap of the pages can be applied as it is printed. Without a
// namespace it would be one of the namespace default, which nobody reads.
func TestPrintedConfigMaps(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := map[string]int{}
	for _, dir := range []string{"../../docs", "../../docs/zh"} {
		for _, page := range []string{"kubernetes.md", "kubernetes-operator.md"} {
			text := testfile.Text(t, path.Join(dir, page))
			for _, b := range block.FindAllStringSubmatch(text, -1) {
				var c corev1.ConfigMap
				if yaml.Unmarshal([]byte(b[1]), &c) == nil && len(c.Data) > 0 {
					found[c.Kind+" "+c.Namespace+"/"+c.Name]++
				}
			}
		}
	}
	want := map[string]int{"ConfigMap metax-gpu-extensions/metax-device-config": 2, "ConfigMap metax-operator/driver-config": 2, "ConfigMap metax-operator/metax-vfio-config": 2}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}
