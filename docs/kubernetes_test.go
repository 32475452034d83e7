// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/golden"
)

// kubernetesRuns is the file that k8s/test/e2e/versions writes.
const kubernetesRuns = "testdata/kubernetes.json"

// clusterRows are the rows of TestVersion of k8s/test/e2e, and what the pages call them.
var clusterRows = []struct{ name, english, chinese string }{
	{"pods", "`metax-gpu-extensions`, a pod sees its four GPUs alone", "`metax-gpu-extensions`，Pod 只看到自己的 4 张 GPU"},
	{"labels", "labels, conditions", "节点的标签和状态条件"},
	{"health", "health", "GPU 的健康状态"},
	{"health of devices", "the same in the pod's status and in `kubectl metax`", "同上，见 Pod 的状态和 `kubectl metax`"},
	{"policies", "policies", "防被盗令牌的策略"},
	{"upgrade", "upgrade, rollback", "升级和回滚"},
	{"gpu-aware", "`metax-gpu-aware`", "`metax-gpu-aware`，使用它为 kube-scheduler 生成的文件"},
	{"gangs", "[gangs](kubernetes-schedulers.md#gangs)", "[Gang 调度](kubernetes-schedulers.md#gang-调度)"},
	{"uninstall", "uninstall", "卸载后没有残留"},
	{"operator", "`metax-operator`", "`metax-operator`，包括 Pod 和卸载"},
}

// clusterRun is what a run of TestVersion found: of each row that it came to "passed",
// "failed", or the version of Kubernetes that it needs.
type clusterRun struct {
	Engine string            `json:"engine"`
	CDI    bool              `json:"cdi"`
	Rows   map[string]string `json:"rows"`
}

var clusterTable = regexp.MustCompile(`(?m)^\|Kubernetes\|.*\n(\|.*\n)+`)

// TestKubernetesTable compares the table of the versions of Kubernetes with the runs.
func TestKubernetesTable(t *testing.T) {
	var runs map[string]clusterRun
	if err := json.Unmarshal([]byte(readFile(t, kubernetesRuns)), &runs); err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, found := range regexp.MustCompile(`(?m)^(\d[\d.]+) `).FindAllStringSubmatch(readFile(t, "../k8s/test/cluster/versions"), -1) {
		versions = append(versions, found[1])
	}
	for version, run := range runs {
		if !slices.Contains(versions, version) {
			t.Errorf("%s has a run of %s, which k8s/test/cluster/versions does not list", kubernetesRuns, version)
		}
		for name := range run.Rows {
			if !slices.ContainsFunc(clusterRows, func(row struct{ name, english, chinese string }) bool { return row.name == name }) {
				t.Errorf("%s: what do the pages call the row %q?", version, name)
			}
		}
	}
	for page, chinese := range map[string]bool{"platforms.md": false, "zh/platforms.md": true} {
		text := readFile(t, page)
		if len(clusterTable.FindAllString(text, -1)) != 1 {
			t.Fatalf("%s has not one table of versions of Kubernetes", page)
		}
		fresh := clusterTable.ReplaceAllLiteralString(text, renderRuns(versions, runs, chinese))
		if fresh == text {
			continue
		}
		if !*golden.Update {
			t.Errorf("%s does not say what %s does: go test ./docs -run TestKubernetesTable -update", page, kubernetesRuns)
		} else if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenderRuns: what did not run, failed or is not there has no tick.
func TestRenderRuns(t *testing.T) {
	runs := map[string]clusterRun{"1.2.3": {Engine: "containerd://1.6.20~ds1", Rows: map[string]string{"pods": "passed", "labels": "failed", "policies": "1.30"}}}
	table := renderRuns([]string{"1.2.3", "1.4.5"}, runs, false)
	for _, want := range []string{"|containerd|1.6.20|not&nbsp;run|\n", "four GPUs alone|✓|not&nbsp;run|\n", "labels, conditions|**failed**|not&nbsp;run|\n", "policies|from 1.30|not&nbsp;run|\n", "uninstall|not&nbsp;run|not&nbsp;run|\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// renderRuns is the table of runs, with a column for each version.
func renderRuns(versions []string, runs map[string]clusterRun, chinese bool) string {
	say := func(english, inChinese string) string {
		if chinese {
			return inChinese
		}
		return english
	}
	var text strings.Builder
	line := func(head string, cell func(version string) string) {
		text.WriteString("|" + head + "|")
		for _, version := range versions {
			text.WriteString(cell(version) + "|")
		}
		text.WriteString("\n")
	}
	missing := say("not&nbsp;run", "未运行")
	line("Kubernetes", func(version string) string { return version })
	line("---", func(string) string { return "---" })
	line("containerd", func(version string) string {
		engine := strings.TrimPrefix(runs[version].Engine, "containerd://")
		if engine, _, _ = strings.Cut(engine, "~"); engine != "" {
			return strings.TrimSuffix(engine, "+unknown")
		}
		return missing
	})
	line(say("GPUs come by", "注入方式"), func(version string) string {
		switch run := runs[version]; {
		case run.Engine == "":
			return missing
		case run.CDI:
			return "CDI"
		}
		return say("devices", "设备列表")
	})
	for _, row := range clusterRows {
		line(say(row.english, row.chinese), func(version string) string {
			switch result := runs[version].Rows[row.name]; result {
			case "":
				return missing
			case "passed":
				return "✓"
			case "failed":
				return say("**failed**", "**失败**")
			default:
				return fmt.Sprintf(say("from %s", "%s 起"), result)
			}
		})
	}
	return text.String()
}
