// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// document is a Node's JSON with these members besides version and kind.
func document(members string) []byte {
	return fmt.Appendf(nil, `{"apiVersion": "metax-ctk/v1", "kind": "Node", %s}`, members)
}

func TestDecodeNode(t *testing.T) {
	up := gpu.BDF{Bus: 0x0c}
	for _, test := range []struct {
		name, members string
		want          gpu.Node
	}{
		{"nothing", `"gpus": []`, gpu.NewNode("")},
		{
			"a GPU in full, and fields that are new",
			`"name": "c500-8", "driver": {"version": "3.4.4", "mode": "cloud", "path": "/opt/mxdriver"}, "maca": {"version": "3.3.0.15", "path": "/opt/maca"},
			 "gpus": [{"index": 0, "uuid": "GPU-a", "serial": "S1", "bdf": "0000:0e:00.0", "model": "MXC500", "vbios": "1.30.0.0", "sriov": "on", "memoryMiB": 65536, "numa": 0,
			   "pcieRoot": "pci0000:0a", "pciePath": ["0000:0a:03.0", "0000:0c:00.0", "0000:0d:00.0"], "pcieSwitch": "0000:0c:00.0",
			   "linkDomain": 1, "healthy": false, "nodes": ["/dev/dri/card1"], "gids": [44], "vfs": ["0000:0e:00.1"], "colour": "red"}],
			 "nics": [{"name": "eth0", "kind": "net", "bdf": "0000:11:00.0"}, {"name": "mlx5_0", "kind": "rdma", "bdf": "0000:12:00.0", "numa": 1}],
			 "shared": {"nodes": ["/dev/mxcd"], "gids": [44]}, "warnings": ["w"], "future": {}`,
			gpu.Node{
				APIVersion: gpu.APIVersion, Kind: gpu.NodeKind, Name: "c500-8",
				Driver: &gpu.Driver{Version: "3.4.4", Mode: gpu.DriverCloud, Path: "/opt/mxdriver"},
				MACA:   &gpu.MACA{Version: "3.3.0.15", Path: "/opt/maca"},
				GPUs: []gpu.GPU{{
					UUID: "GPU-a", Serial: "S1", BDF: gpu.BDF{Bus: 0x0e}, Model: "MXC500", Product: "C500", VBIOS: "1.30.0.0", SRIOV: gpu.SRIOVOn, MemoryMiB: 65536,
					PCIeRoot: "pci0000:0a", PCIePath: []gpu.BDF{{Bus: 0x0a, Device: 3}, up, {Bus: 0x0d}}, PCIeSwitch: &up,
					LinkDomain: 1, Nodes: []string{"/dev/dri/card1"}, GIDs: []uint32{44}, VFs: []gpu.BDF{{Bus: 0x0e, Function: 1}},
				}},
				NICs: []gpu.NIC{
					{Name: "mlx5_0", Kind: gpu.NICRDMA, BDF: gpu.BDF{Bus: 0x12}, NUMA: 1},
					{Name: "eth0", Kind: gpu.NICNet, BDF: gpu.BDF{Bus: 0x11}, NUMA: gpu.NUMAUnknown},
				},
				Shared:   &gpu.Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{44}},
				Warnings: []string{"w"},
			},
		},
		{
			"what is left out", `"gpus": [{"index": 0}]`,
			gpu.Node{
				APIVersion: gpu.APIVersion, Kind: gpu.NodeKind,
				GPUs: []gpu.GPU{{NUMA: gpu.NUMAUnknown, Healthy: true}},
			},
		},
		{
			"GPUs go in the order of addresses, links with them",
			`"gpus": [{"index": 0, "bdf": "0000:20:00.0"}, {"index": 1, "bdf": "0000:10:00.0"}, {"index": 2, "bdf": "0000:18:00.0"}],
			 "links": [{"a": 2, "b": 1, "kind": "PIX"}, {"a": 0, "b": 1, "kind": "MX", "gbps": 64}, {"a": 1, "b": 0, "kind": "SYS", "down": true}]`,
			gpu.Node{
				APIVersion: gpu.APIVersion, Kind: gpu.NodeKind,
				GPUs: []gpu.GPU{
					{Index: 0, BDF: gpu.BDF{Bus: 0x10}, NUMA: -1, Healthy: true},
					{Index: 1, BDF: gpu.BDF{Bus: 0x18}, NUMA: -1, Healthy: true},
					{Index: 2, BDF: gpu.BDF{Bus: 0x20}, NUMA: -1, Healthy: true},
				},
				Links: []gpu.Link{
					{A: 0, B: 1, Kind: "PIX"},
					{A: 0, B: 2, Kind: "MX", GBps: 64},
					{A: 0, B: 2, Kind: "SYS", Down: true},
				},
			},
		},
		{
			"without all addresses, by index", `"gpus": [{"index": 1, "bdf": "0000:10:00.0"}, {"index": 0}]`,
			gpu.Node{
				APIVersion: gpu.APIVersion, Kind: gpu.NodeKind,
				GPUs: []gpu.GPU{
					{Index: 0, NUMA: -1, Healthy: true},
					{Index: 1, BDF: gpu.BDF{Bus: 0x10}, NUMA: -1, Healthy: true},
				},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := gpu.DecodeNode(document(test.members))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeNodeRejects(t *testing.T) {
	for _, test := range []struct{ name, members, want string }{
		{"index twice", `"gpus": [{"index": 0}, {"index": 0}]`, "has index 0; indices are 0 to 1, each once"},
		{"index too large", `"gpus": [{"index": 1}]`, "has index 1"},
		{"index below 0", `"gpus": [{"index": -1}]`, "has index -1"},
		{"address twice", `"gpus": [{"index": 0, "bdf": "0000:0e:00.0"}, {"index": 1, "bdf": "0000:0E:00.0"}]`, "PCI address 0000:0e:00.0 occurs twice"},
		{"no address", `"gpus": [{"index": 0, "bdf": "0e:00.0"}]`, "not a PCI address"},
		{"UUID twice", `"gpus": [{"index": 0, "bdf": "0000:0e:00.0", "uuid": "GPU-a"}, {"index": 1, "bdf": "0000:0f:00.0", "uuid": "GPU-A"}]`, "GPUs 0000:0e:00.0 and 0000:0f:00.0 have the same UUID"},
		{"no UUID", `"gpus": [{"index": 0, "uuid": "GPU-a\nb"}]`, "not a GPU UUID"},
		{"no serial number", `"gpus": [{"index": 0, "serial": "a,b"}]`, `has serial number "a,b"`},
		{"NUMA below unknown", `"gpus": [{"index": 0, "numa": -2}]`, "has NUMA node -2"},
		{"no list of processors", `"gpus": [{"index": 0, "cpus": "0-31 x"}]`, `has the processors "0-31 x"`},
		{"network card without a name", `"gpus": [], "nics": [{"kind": "net", "bdf": "0000:11:00.0"}]`, `has the name ""`},
		{"network card with a path as name", `"gpus": [], "nics": [{"name": "../x", "kind": "net", "bdf": "0000:11:00.0"}]`, `has the name "../x"`},
		{"network card of an unknown kind", `"gpus": [], "nics": [{"name": "eth0", "kind": "x", "bdf": "0000:11:00.0"}]`, `is of kind "x"; want rdma or net`},
		{"network card with a GPU's address", `"gpus": [{"index": 0, "bdf": "0000:11:00.0"}], "nics": [{"name": "eth0", "kind": "net", "bdf": "0000:11:00.0"}]`, "want one that no other device has"},
		{"network card with NUMA below unknown", `"gpus": [], "nics": [{"name": "eth0", "kind": "net", "bdf": "0000:11:00.0", "numa": -2}]`, "has NUMA node -2"},
		{"memory below 0", `"gpus": [{"index": 0, "memoryMiB": -1}]`, "has -1 MiB of memory"},
		{"link domain below 0", `"gpus": [{"index": 0, "linkDomain": -1}]`, "has link domain -1"},
		{"node outside /dev", `"gpus": [{"index": 0, "nodes": ["/etc/passwd"]}]`, `device node "/etc/passwd"`},
		{"node by way of ..", `"gpus": [{"index": 0, "nodes": ["/dev/../etc/passwd"]}]`, `device node "/dev/../etc/passwd"`},
		{"node with a newline", `"gpus": [{"index": 0, "nodes": ["/dev/a\nb"]}]`, `device node "/dev/a\nb"`},
		{"node is /dev itself", `"gpus": [{"index": 0, "nodes": ["/dev/"]}]`, `device node "/dev/"`},
		{"shared node outside /dev", `"gpus": [], "shared": {"nodes": ["dev/mxcd"]}`, `shared: device node "dev/mxcd"`},
		{"link to nowhere", `"gpus": [{"index": 0}], "links": [{"a": 0, "b": 1}]`, "link between 0 and 1"},
		{"link to itself", `"gpus": [{"index": 0}], "links": [{"a": 0, "b": 0}]`, "link between 0 and 0"},
		{"bandwidth below 0", `"gpus": [{"index": 0}, {"index": 1}], "links": [{"a": 0, "b": 1, "gbps": -1}]`, "has -1 GB/s"},
		{"control characters in a name", `"gpus": [], "name": "a\u001b[2J"`, `"a\x1b[2J" has control characters`},
		{"control characters in a model", `"gpus": [{"index": 0, "model": "a\nb"}]`, `"a\nb" has control characters`},
		{"control characters in a host bridge", `"gpus": [{"index": 0, "pcieRoot": "a\tb"}]`, `"a\tb" has control characters`},
		{"control characters in a link", `"gpus": [{"index": 0}, {"index": 1}], "links": [{"a": 0, "b": 1, "kind": "M\rX"}]`, `"M\rX" has control characters`},
		{"control characters in a version", `"gpus": [], "driver": {"version": "\u0000"}`, `"\x00" has control characters`},
		{"control characters in a path", `"gpus": [], "maca": {"path": "/opt\n"}`, `"/opt\n" has control characters`},
		{"control characters in a warning", `"gpus": [], "warnings": ["a\nb"]`, `"a\nb" has control characters`},
		{"index is no number", `"gpus": [{"index": "0"}]`, "read node JSON"},
		{"infinite bandwidth", `"gpus": [], "links": [{"gbps": 1e999}]`, "read node JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if n, err := gpu.DecodeNode(document(test.members)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", n.GPUs, err, test.want)
			}
		})
	}
	for _, text := range []string{
		"", "null", "[]", "{}", `{"apiVersion": "metax-ctk/v2", "kind": "Node"}`, `{"apiVersion": "metax-ctk/v1", "kind": "Pod"}`,
		string(document(`"gpus": []`)) + "{}", string(document(`"gpus": []`)) + "}", string(document(`"gpus": []`)) + "]",
		string(document(`"gpus": []`))[:40], "\xff",
	} {
		if n, err := gpu.DecodeNode([]byte(text)); err == nil {
			t.Errorf("%q gives %v, want an error", text, n)
		}
	}
	many := slices.Repeat([]string{"{}"}, gpu.MaxGPUs+1)
	if _, err := gpu.DecodeNode(document(`"gpus": [` + strings.Join(many, ",") + `]`)); !errors.Is(err, gpu.ErrNode) || !strings.Contains(err.Error(), "4097 GPUs; at most 4096") {
		t.Errorf("too many GPUs: %v", err)
	}
}

func TestNode(t *testing.T) {
	n := gpu.NewNode("n")
	n.GPUs = []gpu.GPU{{Index: 0, BDF: gpu.BDF{Bus: 1}, Healthy: true}, {Index: 1, BDF: gpu.BDF{Bus: 2}, UUID: "GPU-a"}, {Index: 2, BDF: gpu.BDF{Bus: 3}, Healthy: true}}
	if diff := cmp.Diff([]int{0, 2}, n.Healthy()); diff != "" {
		t.Error(diff)
	}
	if g, ok := n.Lookup(gpu.BDF{Bus: 2}); !ok || g.Index != 1 || g.Name() != "GPU-a" {
		t.Errorf("found %v, %v", g, ok)
	}
	if _, ok := n.Lookup(gpu.BDF{Bus: 4}); ok {
		t.Error("found a GPU that is not there")
	}
	if name := n.GPUs[2].Name(); name != "2" {
		t.Errorf("name without a UUID is %q, want the index", name)
	}
}

// The JSON form is a contract: what is empty is left out, but for what every reader may count
// on.
func TestNodeJSON(t *testing.T) {
	n := gpu.NewNode("")
	n.GPUs = append(n.GPUs, gpu.GPU{NUMA: gpu.NUMAUnknown})
	got, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"metax-ctk/v1","kind":"Node","gpus":[{"index":0,"numa":-1,"healthy":false}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzDecodeNode(f *testing.F) {
	f.Add(document(`"gpus": [{"index": 1, "uuid": "GPU-a", "bdf": "0000:0e:00.0", "nodes": ["/dev/dri/card1"]}, {"index": 0, "bdf": "0000:0f:00.0"}], "links": [{"a": 1, "b": 0, "kind": "MX"}]`))
	f.Add(document(`"gpus": [{"index": 0, "numa": 0, "pcieSwitch": "0000:0c:00.0", "gids": [1]}], "shared": {}, "driver": {}, "maca": {}`))
	f.Add([]byte(`{"apiVersion": "metax-ctk/v1", "kind": "Node", "gpus": [null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := gpu.DecodeNode(data)
		if err != nil {
			return
		}
		if err := n.Check(); err != nil {
			t.Fatalf("decoded, and then: %v", err)
		}
		for i, g := range n.GPUs {
			if g.Index != i {
				t.Errorf("GPU %d has index %d", i, g.Index)
			}
		}
		for _, l := range n.Links {
			if l.A >= l.B || l.A < 0 || l.B >= len(n.GPUs) {
				t.Errorf("link %d-%d", l.A, l.B)
			}
		}
		again, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		back, err := gpu.DecodeNode(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		twice, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(twice) {
			t.Errorf("not stable:\n%s\n%s", again, twice)
		}
	})
}

func TestProductOf(t *testing.T) {
	for model, want := range map[string]string{
		"MXC500": "C500", "MXC600-AL": "C600-AL", "MXN260": "N260", "MXC500 VF": "C500", "9999:4001": "", "": "", "MX": "",
	} {
		if got := gpu.ProductOf(model); got != want {
			t.Errorf("the product of %q is %q, want %q", model, got, want)
		}
	}
}
