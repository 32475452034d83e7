// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVFNums(t *testing.T) {
	one := func(text string) map[string]string { return map[string]string{"node-vfnums": text} }
	list := func(text string) map[string]string { return map[string]string{"version": "v2", "nodes-config": text} }
	for _, test := range []struct {
		what  string
		data  map[string]string
		want  VFWish // of node a
		notes string
	}{
		{"no ConfigMap", nil, VFWish{}, ""},
		{"the manual's", one("nodes:\n  a: {vfnum: 4}\n  b: {vfnum: 2}"), VFWish{Named: true, Count: 4}, ""},
		{"another node", one("nodes: {b: {vfnum: 2}}"), VFWish{}, ""},
		{"none", one("nodes: {a: {vfnum: 0}}"), VFWish{Named: true}, ""},
		{"no number", one("nodes: {a: }"), VFWish{Named: true, Problem: `node-vfnums: nodes."a" has no vfnum; want 0, 1, 2, 4 or 8`}, ""},
		{"a misspelt number", one("nodes: {a: {vinum: 2}}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a" has no vfnum; want 0, 1, 2, 4 or 8`}, `node-vfnums: nodes."a": field "vinum" is not applied`},
		{"another node's field", one("nodes: {b: {vfnum: 2, x: 1}}"), VFWish{Problem: `no entry names this node, but node-vfnums: nodes."b": field "x" is not applied`}, `node-vfnums: nodes."b": field "x" is not applied`},
		{"three", one("nodes: {a: {vfnum: 3}}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a": vfnum "3"; want 0, 1, 2, 4 or 8`}, ""},
		{"sixteen", one("nodes: {a: {vfnum: 16}}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a": vfnum "16"; want 0, 1, 2, 4 or 8`}, ""},
		{"text", one("nodes: {a: {vfnum: four}}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a": vfnum "four"; want 0, 1, 2, 4 or 8`}, ""},
		{"a number as text", one("nodes: {a: {vfnum: '4'}}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a": vfnum "4"; want 0, 1, 2, 4 or 8`}, ""},
		{"a mistake of another node", one("nodes: {a: {vfnum: 8}, b: {vfnum: 3}}"), VFWish{Named: true, Count: 8}, ""},
		{"an entry that is none", one("nodes: {a: 4}"), VFWish{Named: true, Problem: `node-vfnums: nodes."a" has no vfnum; want {vfnum: NUMBER}`}, ""},
		{"no map", one("nodes: [a]"), VFWish{Named: true, Problem: `node-vfnums cannot be read: "nodes is not a map of nodes"`}, ""},
		{"unknown fields", one("{nodes: {a: {vfnum: 1, x: 2}}, w: 3}"), VFWish{Named: true, Count: 1}, `node-vfnums: field "w" is not known; want nodes|node-vfnums: nodes."a": field "x" is not applied`},
		{"the newer form", list("- {nodeName: a, vfNum: 2}\n- {nodeName: b, vfNum: 3}"), VFWish{Named: true, Count: 2}, ""},
		{"the newer form, wrong", list("- {nodeName: b, vfNum: 2}\n- {nodeName: a, vfNum: 3}"), VFWish{Named: true, Problem: `nodes-config[1]: vfNum "3"; want 0, 1, 2, 4 or 8`}, ""},
		{"the newer form, more fields", list("- {nodeName: a, vfNum: 2, moduleParams: x}\n- {vfNum: 2}"), VFWish{Named: true, Count: 2}, `nodes-config[0]: field "moduleParams" is not applied|nodes-config[1]: nodeName "<nil>" is not a name`},
		{"twice", list("- {nodeName: a, vfNum: 2}\n- {nodeName: a, vfNum: 4}"), VFWish{Named: true, Problem: "nodes-config[1] says another number than an entry before it"}, ""},
		{"twice the same", map[string]string{"node-vfnums": "nodes: {a: {vfnum: 2}}", "nodes-config": "[{nodeName: a, vfNum: 2}]"}, VFWish{Named: true, Count: 2}, ""},
		{"parameters", map[string]string{"module-params": "x=1", "node-module-params": "{a: x=1}", "version": "v3", "z": ""}, VFWish{Problem: `no entry names this node, but version "v3" is not known; want v1 or v2`}, `module-params is not applied: this version does not set parameters of the kernel module|node-module-params is not applied: this version does not set parameters of the kernel module|version "v3" is not known; want v1 or v2|key "z" is not known`},
		{"no parameters", map[string]string{"module-params": "", "node-module-params": "{}"}, VFWish{}, ""},
		{"large", one(strings.Repeat(" ", maxConfig+1)), VFWish{Named: true, Problem: "1048577 bytes; at most 1048576 are read"}, ""},
	} {
		v := ParseVFNums(test.data)
		if d := cmp.Diff(test.want, v.For("a", true)) + cmp.Diff(test.notes, strings.Join(v.Notes(), "|")); d != "" {
			t.Errorf("%s: %s", test.what, d)
		}
	}
	for _, text := range []string{"{", "nodes: {a: {vfnum: 1}, a: {vfnum: 2}}", "[]"} {
		if v := ParseVFNums(one(text)); !v.Wishes() || !strings.HasPrefix(v.For("a", true).Problem, "node-vfnums cannot be read: ") {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

func FuzzVFNums(f *testing.F) {
	f.Add("nodes: {a: {vfnum: 4}}", "- {nodeName: a, vfNum: 2}", "x")
	f.Add("nodes: {a: {vfnum: 1e99}}", "[null]", "{a: b}")
	f.Fuzz(func(t *testing.T, nodes, list, params string) {
		v := ParseVFNums(map[string]string{"node-vfnums": nodes, "nodes-config": list, "module-params": params})
		w := v.For("a", true)
		if w.Problem != "" && w.Count != 0 || len(v.Notes()) > maxProblems {
			t.Errorf("%+v, %d notes", w, len(v.Notes()))
		}
		isLine(t, append(v.Notes(), w.Problem)...)
	})
}

// isLine demands lines that can be printed.
func isLine(t *testing.T, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if len(l) > 1200 || strings.ContainsAny(l, "\n\x1b") {
			t.Errorf("line %q", l)
		}
	}
}

func TestVFIOGPUs(t *testing.T) {
	for _, test := range []struct {
		what    string
		data    map[string]string
		want    string // of node a
		problem string
		notes   string
	}{
		{"no ConfigMap", nil, "[]", "", ""},
		{"the vendor's", map[string]string{"config.yaml": "vfio:\n- nodeName: a\n  gpus: [0, '0000:0e:00.0', GPU-1]\n- nodeName: b\n  gpus: [1]"}, "[0 0000:0e:00.0 GPU-1]", "", ""},
		{"the list alone", map[string]string{"vfio": "- {nodeName: a, gpus: [2, 2]}"}, "[2]", "", ""},
		{"no GPUs", map[string]string{"vfio": "[{nodeName: a}]"}, "[]", `the gpus of "a" are not a list; want gpus: [0], or gpus: [] for none`, ""},
		{"empty", map[string]string{"config.yaml": "vfio: []"}, "[]", "", ""},
		{"nothing", map[string]string{"config.yaml": ""}, "[]", "", ""},
		{"unknown fields", map[string]string{"config.yaml": "{vfio: [{nodeName: a, gpus: [1], x: 1}], w: 1}"}, "[1]", "", `"config.yaml": field "w" is not known; want vfio|vfio of "a": field "x" is not known`},
		{"no name", map[string]string{"vfio": "[{gpus: [1]}]"}, "[]", `"vfio" cannot be read: "entry 0: nodeName \"<nil>\" is not a name"`, ""},
		{"no list", map[string]string{"vfio": "[{nodeName: a, gpus: 1}]"}, "[]", `the gpus of "a" are not a list; want gpus: [0], or gpus: [] for none`, ""},
		{"no GPU", map[string]string{"vfio": "[{nodeName: a, gpus: [{}]}]"}, "[]", `the gpus of "a": "map[]"; want an index, a PCI address or a UUID, at most 256`, ""},
		{"text", map[string]string{"config.yaml": "a"}, "[]", `"config.yaml" cannot be read: "want vfio: and a list of nodes"`, ""},
		{"a map", map[string]string{"vfio": "vfio: {a: b}"}, "[]", `"vfio" cannot be read: "vfio is not a list of nodes"`, ""},
		{"large", map[string]string{"vfio": strings.Repeat(" ", maxConfig+1)}, "[]", "1048577 bytes; at most 1048576 are read", ""},
	} {
		v := ParseVFIOGPUs(test.data)
		wish := v.For("a", true)
		names, problem := wish.GPUs, wish.Problem
		if d := cmp.Diff(test.want, fmt.Sprint(names)) + cmp.Diff(test.problem, problem) + cmp.Diff(test.notes, strings.Join(v.Notes(), "|")); d != "" {
			t.Errorf("%s: %s", test.what, d)
		}
	}
}

func FuzzVFIOGPUs(f *testing.F) {
	f.Add("vfio", "- {nodeName: a, gpus: [1]}")
	f.Add("x", "vfio: [{nodeName: a, gpus: [x, 1e99, null]}]")
	f.Fuzz(func(t *testing.T, key, text string) {
		v := ParseVFIOGPUs(map[string]string{key: text})
		wish := v.For("a", true)
		names, problem := wish.GPUs, wish.Problem
		if len(names) > maxNames {
			t.Errorf("%d names", len(names))
		}
		isLine(t, append(v.Notes(), problem)...)
	})
}
