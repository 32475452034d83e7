// SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const uuid = "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b"

// of is data of one key.
func of(key string) func(string) map[string]string {
	return func(text string) map[string]string { return map[string]string{key: text} }
}

// outcome is a value, or that there is an error.
func outcome(v any, err error) string {
	if err != nil {
		return "refused"
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// vfs is what follows for a node that an entry names, and for one that none does.
func vfs(data map[string]string) string {
	v := protocol.ParseVFNums(data)
	say := func(w protocol.VFWish) string {
		switch {
		case w.Problem != "":
			return "stays"
		case w.Named:
			return fmt.Sprint(w.Count)
		}
		return "none"
	}
	return say(v.For("a", true)) + ", others: " + say(v.For("z", true))
}

func vfio(data map[string]string) string {
	v := protocol.ParseVFIOGPUs(data)
	say := func(w protocol.VFIOWish) string {
		if w.Problem != "" {
			return "stays"
		}
		return fmt.Sprint(w.GPUs)
	}
	return say(v.For("a", true)) + ", others: " + say(v.For("z", true))
}

func mode(data map[string]string) string {
	c := protocol.ParseDeviceConfig(data)
	say := func(name string) string {
		s, _ := c.For(name, nil)
		if s.Mode == "" {
			return "stays"
		}
		return fmt.Sprint(s.Mode, " ", s.Shares)
	}
	return say("a") + ", others: " + say("z")
}

func weights(data map[string]string) string {
	w, problems := protocol.ParseWeights(data)
	if len(problems) > 0 {
		return "stays"
	}
	return fmt.Sprint(w)
}

// given is what the annotations of a pod say, as far as they are valid.
func given(annotations map[string]string) string {
	c, errs := protocol.ParsePod(annotations)
	return fmt.Sprint(c.Policy != nil, c.GPUs, c.MACA != nil, len(errs))
}

// TestMistakes has for each parser what follows if what it reads is absent, null, empty,
// misspelt or mistyped. Nothing of it may take from a node, or give to a pod, what a right
// text would not.
func TestMistakes(t *testing.T) {
	table := func(key string) func(string) string {
		return func(text string) string { return outcome(protocol.ParseTable(key, text)) }
	}
	state := func(text string) string { return outcome(protocol.ParseNodeState(text, 1)) }
	faults := func(text string) string { return outcome(protocol.ParseFaults(text)) }
	topology := func(text string) string {
		t, err := protocol.ParseNodeTopology(text)
		return outcome(len(t.GPUs), err)
	}
	choice := func(key string) func(string) string {
		return func(text string) string { return outcome(foreign.ParseSliceChoice(of(key)(text))) }
	}
	slice := func(text string) string { return outcome(foreign.ParseSlices(text)) }
	lock := func(text string) string { return outcome(foreign.ParseLock(text)) }
	args := func(text string) string {
		a, err := foreign.ParseExtenderArgs([]byte(text), "metax-tech.com/gpu")
		return outcome(len(a.Names()), err)
	}
	volcano := func(text string) string {
		a, err := foreign.ParseVolcanoArgs([]byte(text), nil, "metax-tech.com/gpu")
		return outcome(len(a.Nodes), err)
	}
	file := func(text string) string { return outcome(protocol.ParseSliceFile(text)) }
	image := func(text string) string { return outcome(protocol.ParseImage(text)) }
	uuids := func(text string) string { return outcome(protocol.ParseGiven(text)) }
	clocks := func(text string) string { return outcome(protocol.ParseClocks([]byte(text))) }
	rows := map[string]bool{}
	for _, row := range []struct{ parser, what, got, want string }{
		{"ParseVFNums", "absent", vfs(nil), "none, others: none"},
		{"ParseVFNums", "null", vfs(of("node-vfnums")("null")), "none, others: none"},
		{"ParseVFNums", "empty", vfs(of("node-vfnums")("")), "none, others: none"},
		{"ParseVFNums", "no entry", vfs(of("node-vfnums")("nodes:")), "none, others: none"},
		{"ParseVFNums", "zero", vfs(of("node-vfnums")("nodes: {a: {vfnum: 0}}")), "0, others: none"},
		{"ParseVFNums", "misspelt number, as the manual prints it", vfs(of("node-vfnums")("nodes: {a: {vinum: 2}}")), "stays, others: stays"},
		{"ParseVFNums", "the newer form's number", vfs(of("node-vfnums")("nodes: {a: {vfNum: 4}}")), "stays, others: stays"},
		{"ParseVFNums", "null number", vfs(of("node-vfnums")("nodes: {a: {vfnum: null}}")), "stays, others: stays"},
		{"ParseVFNums", "empty entry", vfs(of("node-vfnums")("nodes: {a: {}}")), "stays, others: stays"},
		{"ParseVFNums", "null entry", vfs(of("node-vfnums")("nodes: {a: }")), "stays, others: stays"},
		{"ParseVFNums", "mistyped number", vfs(of("node-vfnums")("nodes: {a: {vfnum: '2'}}")), "stays, others: stays"},
		{"ParseVFNums", "mistyped entry", vfs(of("node-vfnums")("nodes: {a: 2}")), "stays, others: stays"},
		{"ParseVFNums", "a field more", vfs(of("node-vfnums")("nodes: {a: {vfnum: 2, x: 1}}")), "2, others: stays"},
		{"ParseVFNums", "misspelt field", vfs(of("node-vfnums")("node: {a: {vfnum: 2}}")), "stays, others: stays"},
		{"ParseVFNums", "misspelt key", vfs(of("node-vfnum")("nodes: {a: {vfnum: 2}}")), "stays, others: stays"},
		{"ParseVFNums", "mistyped nodes", vfs(of("node-vfnums")("nodes: [a]")), "stays, others: stays"},
		{"ParseVFNums", "list: misspelt name", vfs(of("nodes-config")("[{nodename: a, vfNum: 2}]")), "stays, others: stays"},
		{"ParseVFNums", "list: misspelt number", vfs(of("nodes-config")("[{nodeName: a, vfnum: 2}]")), "stays, others: stays"},
		{"ParseVFNums", "list: null", vfs(of("nodes-config")("null")), "none, others: none"},
		{"ParseVFNums", "list: a null entry", vfs(of("nodes-config")("[null]")), "stays, others: stays"},
		{"ParseVFNums", "parameters, which are known", vfs(of("module-params")("x=1")), "none, others: none"},
		{"ParseVFNums", "unknown version", vfs(of("version")("v9")), "stays, others: stays"},

		{"ParseVFIOGPUs", "absent", vfio(nil), "[], others: []"},
		{"ParseVFIOGPUs", "null", vfio(of("vfio")("null")), "[], others: []"},
		{"ParseVFIOGPUs", "empty", vfio(of("vfio")("")), "[], others: []"},
		{"ParseVFIOGPUs", "none", vfio(of("vfio")("[{nodeName: a, gpus: []}]")), "[], others: []"},
		{"ParseVFIOGPUs", "null GPUs", vfio(of("vfio")("[{nodeName: a, gpus: null}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "absent GPUs", vfio(of("vfio")("[{nodeName: a}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "misspelt GPUs", vfio(of("vfio")("[{nodeName: a, gpu: [0]}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "mistyped GPUs", vfio(of("vfio")("[{nodeName: a, gpus: 0}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "mistyped GPU", vfio(of("vfio")("[{nodeName: a, gpus: [{}]}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "misspelt name", vfio(of("vfio")("[{nodename: a, gpus: [0]}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "misspelt field", vfio(of("config.yaml")("vfi: [{nodeName: a, gpus: [0]}]")), "stays, others: stays"},
		{"ParseVFIOGPUs", "a field more", vfio(of("vfio")("[{nodeName: a, gpus: [0], x: 1}]")), "[0], others: stays"},

		{"ParseDeviceConfig", "absent", mode(nil), "native 4, others: native 4"},
		{"ParseDeviceConfig", "null", mode(of("cluster-config")("null")), "native 4, others: native 4"},
		{"ParseDeviceConfig", "empty", mode(of("cluster-config")("")), "native 4, others: native 4"},
		{"ParseDeviceConfig", "null mode", mode(of("cluster-config")("mode: null")), "stays, others: stays"},
		{"ParseDeviceConfig", "empty mode", mode(of("cluster-config")("mode: ''")), "stays, others: stays"},
		{"ParseDeviceConfig", "misspelt mode", mode(of("cluster-config")("mode: sGPU")), "stays, others: stays"},
		{"ParseDeviceConfig", "mistyped mode", mode(of("cluster-config")("mode: 1")), "stays, others: stays"},
		{"ParseDeviceConfig", "misspelt field", mode(of("cluster-config")("mod: sgpu")), "stays, others: stays"},
		{"ParseDeviceConfig", "misspelt key", mode(of("clusterconfig")("mode: sgpu")), "stays, others: stays"},
		{"ParseDeviceConfig", "a field more", mode(of("cluster-config")("{mode: sgpu, x: 1}")), "sgpu 4, others: sgpu 4"},
		{"ParseDeviceConfig", "mistyped shares", mode(of("cluster-config")("{mode: shared, shareNums: many}")), "stays, others: stays"},
		{"ParseDeviceConfig", "null shares", mode(of("cluster-config")("{mode: shared, shareNums: null}")), "stays, others: stays"},
		{"ParseDeviceConfig", "misspelt name", mode(map[string]string{"cluster-config": "mode: native", "nodes-config": "[{nodename: a, mode: sgpu}]"}), "stays, others: stays"},
		{"ParseDeviceConfig", "misspelt mode of a node", mode(map[string]string{"cluster-config": "mode: native", "nodes-config": "[{nodeName: a, mod: sgpu}]"}), "stays, others: native 4"},
		{"ParseDeviceConfig", "another node's mistake", mode(map[string]string{"cluster-config": "mode: native", "nodes-config": "[{nodeName: a, mode: sgpu}, {nodename: b}]"}), "sgpu 4, others: stays"},
		{"ParseDeviceConfig", "unreadable nodes", mode(map[string]string{"cluster-config": "mode: shared", "nodes-config": "["}), "stays, others: stays"},

		{"ParseWeights", "absent", weights(nil), "{0 0}"},
		{"ParseWeights", "empty", weights(map[string]string{"scoreWeight": "", "lossWeight": "1"}), "{0 1}"},
		{"ParseWeights", "null", weights(map[string]string{"scoreWeight": "null", "lossWeight": "1"}), "stays"},
		{"ParseWeights", "mistyped", weights(map[string]string{"scoreWeight": "lots", "lossWeight": "1"}), "stays"},
		{"ParseWeights", "misspelt", weights(map[string]string{"scoreweight": "2", "lossWeight": "1"}), "stays"},

		{"ParsePod", "absent", given(nil), "false [] false 0"},
		{"ParsePod", "empty", given(map[string]string{protocol.PolicyAnnotation: "", protocol.GPUsAnnotation: "", protocol.MACAAnnotation: ""}), "false [] false 3"},
		{"ParsePod", "null", given(map[string]string{protocol.PolicyAnnotation: "null", protocol.GPUsAnnotation: "null", protocol.MACAAnnotation: "null"}), "false [] false 3"},
		{"ParsePod", "mistyped", given(map[string]string{protocol.PolicyAnnotation: "1", protocol.GPUsAnnotation: "1", protocol.MACAAnnotation: "1"}), "false [] false 3"},
		{"ParsePod", "misspelt", given(map[string]string{"metax-ctk.io/polcy": "spread", "metax-ctk.io/gpu": uuid}), "false [] false 0"},
		{"ParsePod", "one mistake", given(map[string]string{protocol.PolicyAnnotation: "sprea", protocol.GPUsAnnotation: uuid}), "false [GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b] false 1"},

		{"ParseGiven", "empty", uuids(""), "refused"},
		{"ParseGiven", "null", uuids("null"), "refused"},
		{"ParseGiven", "mistyped", uuids("0,1"), "refused"},

		{"ParseTable", "empty", table("k")(""), "refused"},
		{"ParseTable", "null", table("k")("null"), "{}"},
		{"ParseTable", "mistyped", table("k")(`{"1": "x"}`), "refused"},

		{"ParseFaults", "empty", faults(""), "refused"},
		{"ParseFaults", "null", faults("null"), "null"},
		{"ParseFaults", "absent fields", faults("[{}]"), "refused"},
		{"ParseFaults", "mistyped", faults(`[{"uuid": 1, "code": "missing"}]`), "refused"},
		{"ParseFaults", "misspelt", faults(`[{"uid": "GPU-1", "code": "missing"}]`), "refused"},
		{"ParseNodeState", "empty", state(""), "refused"},
		{"ParseNodeState", "null", state("null"), "refused"},
		{"ParseNodeState", "absent fields", state("{}"), "refused"},
		{"ParseNodeState", "mistyped", state(`{"gpus": "1"}`), "refused"},
		{"ParseNodeState", "misspelt", state(`{"gpu": 1, "fre": "1"}`), "refused"},

		{"ParseNodeTopology", "empty", topology(""), "refused"},
		{"ParseNodeTopology", "null", topology("null"), "refused"},
		{"ParseNodeTopology", "absent version", topology(`{"gpus": []}`), "refused"},
		{"ParseNodeTopology", "mistyped", topology(`{"version": "1"}`), "refused"},

		{"ParseImage", "empty", image(""), "refused"},
		{"ParseImage", "absent tag", image("r.example/a"), "refused"},
		{"ParseImage", "mistyped digest", image("r.example/a@sha256:0"), "refused"},

		{"ParseSliceFile", "empty", file(""), "refused"},
		{"ParseSliceFile", "absent id", file("compute=10"), "refused"},
		{"ParseSliceFile", "misspelt id", file("ids=a;compute=10"), "refused"},
		{"ParseSliceFile", "mistyped", file("id=a;compute=x"), "refused"},

		{"ParseSlices", "empty", slice(""), "refused"},
		{"ParseSlices", "null", slice("null"), "[]"},
		{"ParseSlices", "mistyped", slice(`[[{"uuid": "` + uuid + `", "compute": "10"}]]`), "refused"},
		{"ParseSlices", "misspelt GPU", slice(`[[{"uid": "` + uuid + `", "compute": 10}]]`), "refused"},
		{"ParseSlices", "misspelt share", slice(`[[{"uuid": "` + uuid + `", "comput": 10}]]`), `[[{"uuid":"GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b","compute":0,"vRam":0}]]`},
		{"ParseSlices", "null share", slice(`[[{"uuid": "` + uuid + `", "compute": null}]]`), `[[{"uuid":"GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b","compute":0,"vRam":0}]]`},

		{"ParseSliceChoice", "absent", choice("x")(""), `{"Lists":null,"QoS":"","Online":false,"Phase":""}`},
		{"ParseSliceChoice", "empty", choice(foreign.SlicesAnnotation)(""), "refused"},
		{"ParseSliceChoice", "empty class", choice(foreign.QoSAnnotation)(""), "refused"},
		{"ParseSliceChoice", "misspelt class", choice(foreign.QoSAnnotation)("best"), "refused"},

		{"ParseLock", "empty", lock(""), `{"Namespace":"","Pod":""}`},
		{"ParseLock", "mistyped", lock("2026-08-21T10:00:00Z,a"), "refused"},
		{"ParseLock", "empty pod", lock("2026-08-21T10:00:00Z,a,"), "refused"},

		{"ParseClocks", "empty", clocks(""), "{}"},
		{"ParseClocks", "misspelt metric", clocks("metax_gpu_clocks_hertz{gpu=\"0\",unit=\"compute\"} 1\n"), "{}"},
		{"ParseClocks", "absent GPU", clocks("# TYPE metax_gpu_clock_hertz gauge\nmetax_gpu_clock_hertz{unit=\"compute\"} 1\n"), "refused"},
		{"ParseClocks", "mistyped", clocks("<html>"), "refused"},

		{"ParseAsked", "absent", outcome(protocol.ParseAsked(nil), nil), "{}"},
		{"ParseAsked", "empty", outcome(protocol.ParseAsked(map[string]string{"asked.a": "", "unasked.a": ""}), nil), "{}"},
		{"ParseAsked", "misspelt key", outcome(protocol.ParseAsked(map[string]string{"aked.a": "2026-01-01T00:00:00Z"}), nil), "{}"},
		{"ParseAsked", "mistyped time", outcome(protocol.ParseAsked(map[string]string{"asked.a": "1767225600"}), nil), "{}"},

		{"ParseExtenderArgs", "empty", args(""), "refused"},
		{"ParseExtenderArgs", "null", args("null"), "refused"},
		{"ParseExtenderArgs", "absent pod", args(`{"NodeNames": ["a"]}`), "refused"},
		{"ParseExtenderArgs", "absent nodes", args(`{"Pod": {}}`), "0"},
		{"ParseExtenderArgs", "mistyped nodes", args(`{"Pod": {}, "NodeNames": "a"}`), "refused"},

		{"ParseVolcanoArgs", "empty", volcano(""), "refused"},
		{"ParseVolcanoArgs", "null", volcano("null"), "refused"},
		{"ParseVolcanoArgs", "absent pod", volcano(`{"nodes": [{"Name": "a"}]}`), "refused"},
		{"ParseVolcanoArgs", "null pod", volcano(`{"task": {"Pod": null}, "nodes": [{"Name": "a"}]}`), "refused"},
		{"ParseVolcanoArgs", "absent nodes", volcano(`{"task": {"Pod": {}}}`), "0"},
		{"ParseVolcanoArgs", "misspelt nodes", volcano(`{"task": {"Pod": {}}, "node_names": ["a"]}`), "0"},
		{"ParseVolcanoArgs", "mistyped nodes", volcano(`{"task": {"Pod": {}}, "nodes": "a"}`), "refused"},
	} {
		rows[row.parser] = true
		if row.got != row.want {
			t.Errorf("%s, %s: got %s, want %s", row.parser, row.what, row.got, row.want)
		}
	}
	for _, name := range parsers(t) {
		if !rows[name] {
			t.Errorf("%s has no row", name)
		}
	}
}

// parsers are the names of the functions that read what others write.
func parsers(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "foreign/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text := testfile.Text(t, file)
			for _, m := range regexp.MustCompile(`(?m)^func (Parse\w+)\(`).FindAllStringSubmatch(text, -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}
