// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeviceConfig(t *testing.T) {
	const nodes = `
- {nodeSelector: {pool: b}, mode: shared, shareNums: 8}
- {nodeSelector: {zone: x}, mode: vgpu}
- {nodeName: a, mode: sgpu}
- {nodeName: c, shareNums: 2}
- {nodeName: d, mode: fast}
`
	cluster := map[string]string{"version": "v1", "cluster-config": "mode: native\nsgpuHybrid: null\nshareNums: 4\ndeviceAllocationStrategy: native", "nodes-config": nodes}
	for _, test := range []struct {
		what     string
		data     map[string]string
		node     string
		labels   map[string]string
		want     string
		problems string
	}{
		{"no ConfigMap", nil, "a", nil, "native 4", ""},
		{"the cluster's", cluster, "x", nil, "native 4", ""},
		{"by name", cluster, "a", nil, "sgpu 4", ""},
		{"by name before labels", cluster, "a", map[string]string{"pool": "b"}, "sgpu 8", ""},
		{"by labels", cluster, "x", map[string]string{"pool": "b"}, "shared 8", ""},
		{"by the first labels", cluster, "x", map[string]string{"pool": "b", "zone": "x"}, "shared 8", ""},
		{"another label", cluster, "x", map[string]string{"pool": "bb"}, "native 4", ""},
		{"one field of the node's", cluster, "c", nil, "native 2", ""},
		{"an unknown mode", cluster, "d", nil, " 4", `nodes-config[4]: mode "fast" is not known; want native, sgpu, shared or vgpu`},
		{"unknown values", map[string]string{"cluster-config": "{mode: sgpu, sgpuHybrid: true, deviceAllocationStrategy: best, shareNums: 0, extra: 1}"}, "a", nil, "sgpu 4", `cluster-config: deviceAllocationStrategy "best" has no effect here; want native|cluster-config: field "extra" is not known|cluster-config: sgpuHybrid "true" has no effect here; want false|cluster-config: shareNums "0"; want 1 to 256`},
		{"too many shares", map[string]string{"cluster-config": "shareNums: 257"}, "a", nil, "native 4", `cluster-config: shareNums "257"; want 1 to 256`},
		{"half a share", map[string]string{"cluster-config": "shareNums: 1.5"}, "a", nil, "native 4", `cluster-config: shareNums "1.5"; want 1 to 256`},
		{"unknown keys", map[string]string{"version": "v2", "other": ""}, "a", nil, " 4", `key "other" is not known|version "v2" is not known; want v1`},
		{"kinds", map[string]string{"kind-config": "[{kind: C500}]"}, "a", nil, "native 4", "kind-config has no effect here"},
		{"no kinds", map[string]string{"kind-config": "[]"}, "a", nil, "native 4", ""},
		{"no YAML", map[string]string{"cluster-config": "{"}, "a", nil, " 4", "cluster-config cannot be read: "},
		{"the mode twice", map[string]string{"cluster-config": "mode: sgpu\nmode: native"}, "a", nil, " 4", "cluster-config cannot be read: "},
		{"no node", map[string]string{"nodes-config": "[{mode: sgpu}]"}, "a", nil, " 4", "nodes-config[0]: want nodeName or nodeSelector"},
		{"every node", map[string]string{"nodes-config": "[{nodeSelector: {}, mode: sgpu}]"}, "a", nil, " 4", "nodes-config[0]: nodeSelector has no labels"},
		{"a number for a label", map[string]string{"nodes-config": "[{nodeSelector: {a: 1}, mode: sgpu}]"}, "a", nil, " 4", `nodes-config[0]: nodeSelector: the value of "a" is not text; quote it`},
		{"a number for a name", map[string]string{"nodes-config": "[{nodeName: 1, mode: sgpu}]"}, "1", nil, " 4", `nodes-config[0]: nodeName "1" is not a name`},
		{"large", map[string]string{"cluster-config": strings.Repeat(" ", maxConfig+1)}, "a", nil, " 4", "1048577 bytes; at most 1048576 are read"},
	} {
		t.Run(test.what, func(t *testing.T) {
			settings, problems := ParseDeviceConfig(test.data).For(test.node, test.labels)
			if got := fmt.Sprint(settings.Mode, " ", settings.Shares); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			got := strings.Join(problems, "|")
			if prefix := strings.HasSuffix(test.problems, ": ") && strings.HasPrefix(got, test.problems); !prefix {
				if d := cmp.Diff(test.problems, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func FuzzDeviceConfig(f *testing.F) {
	f.Add("mode: sgpu", "[{nodeName: a, mode: shared, shareNums: 3}]", "[]")
	f.Add("a: &a [*a]", "- {nodeSelector: {x: y}}", "{")
	f.Add("shareNums: 1e99", "[null]", "~")
	f.Fuzz(func(t *testing.T, cluster, nodes, kinds string) {
		settings, problems := ParseDeviceConfig(map[string]string{"cluster-config": cluster, "nodes-config": nodes, "kind-config": kinds}).For("a", map[string]string{"x": "y"})
		if settings.Shares < 1 || settings.Shares > MaxShares || len(problems) > maxProblems {
			t.Errorf("%v, %d problems", settings, len(problems))
		}
		for _, p := range problems {
			if len(p) > 1200 || strings.ContainsAny(p, "\n\x1b") {
				t.Errorf("problem %q", p)
			}
		}
	})
}
