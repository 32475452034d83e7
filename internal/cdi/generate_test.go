// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// twoGPUs is a node with all that a spec can take up, in no good order.
func twoGPUs() gpu.Node {
	n := gpu.NewNode("two")
	n.Driver = &gpu.Driver{Version: "3.4.4", Path: "/opt/mxdriver"}
	n.Shared = &gpu.Shared{Nodes: []string{"/dev/mxgd", "/dev/mxcd", "/dev/mxcd"}, GIDs: []uint32{44}}
	n.GPUs = []gpu.GPU{
		{
			Index: 0, UUID: "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b", BDF: gpu.BDF{Bus: 0x0e}, NUMA: 0, Healthy: true,
			Nodes: []string{"/dev/dri/renderD128", "/dev/dri/card1"}, GIDs: []uint32{44, 105},
			NodeGIDs: map[string]uint32{"/dev/dri/renderD128": 105, "/dev/dri/card1": 44},
		},
		{
			Index: 1, UUID: "GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa", BDF: gpu.BDF{Bus: 0x8f}, NUMA: 1, Healthy: true,
			Nodes: []string{"/dev/dri/card10", "/dev/dri/renderD137"}, GIDs: []uint32{44, 105},
		},
	}
	return n
}

func generated(t *testing.T, n gpu.Node, opt Options) *specs.Spec {
	t.Helper()
	spec, err := Generate(n, opt)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func encoded(t *testing.T, spec *specs.Spec, f Format) []byte {
	t.Helper()
	data, err := Encode(spec, f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGolden(t *testing.T) {
	for _, tc := range []struct {
		file string
		opt  Options
	}{
		{"two.json", Options{Hook: hook}},
		{"two.yaml", Options{}},
		{"two-rooted.json", Options{EngineRoot: "/srv/node/", NoGroups: true, Names: ByUUID, Vendor: "example.org", Class: "card"}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			f, _ := FormatOf(tc.file)
			golden.Equal(t, "testdata/"+tc.file, encoded(t, generated(t, twoGPUs(), tc.opt), f))
		})
	}
}

func TestSameBytes(t *testing.T) {
	n := twoGPUs()
	want := encoded(t, generated(t, n, Options{}), JSON)
	slices.Reverse(n.GPUs) // the index says which is which
	for i := range n.GPUs {
		slices.Reverse(n.GPUs[i].Nodes)
		slices.Reverse(n.GPUs[i].GIDs)
	}
	before := twoGPUs()
	slices.Reverse(before.GPUs)
	for i := range before.GPUs {
		slices.Reverse(before.GPUs[i].Nodes)
		slices.Reverse(before.GPUs[i].GIDs)
	}
	if diff := cmp.Diff(string(want), string(encoded(t, generated(t, n, Options{}), JSON))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, n); diff != "" {
		t.Errorf("the node was changed:\n%s", diff)
	}
}

// The version is as low as the engines that must read the file need it.
func TestVersion(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*gpu.Node)
		opt  Options
		want string
	}{
		{"groups", func(*gpu.Node) {}, Options{}, "0.7.0"},
		{"groups of shared nodes", func(n *gpu.Node) { n.GPUs[0].GIDs, n.GPUs[1].GIDs = nil, nil }, Options{}, "0.7.0"},
		{"group 0 alone", func(n *gpu.Node) {
			n.Shared.GIDs, n.GPUs[0].GIDs, n.GPUs[1].GIDs = []uint32{0}, []uint32{0}, nil
		}, Options{}, "0.5.0"},
		{"no groups", func(*gpu.Node) {}, Options{NoGroups: true}, "0.5.0"},
		{"names that begin with a letter", func(*gpu.Node) {}, Options{NoGroups: true, Names: ByUUID | All}, "0.3.0"},
		{"host paths", func(*gpu.Node) {}, Options{NoGroups: true, Names: ByUUID | All, EngineRoot: "/x"}, "0.5.0"},
		{"a dot in the class", func(*gpu.Node) {}, Options{NoGroups: true, Class: "gpu.v2"}, "0.6.0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := twoGPUs()
			tc.edit(&n)
			if got := generated(t, n, tc.opt).Version; got != tc.want {
				t.Errorf("version %s, want %s", got, tc.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	const u0, u1 = "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b", "GPU-8e1a3bd1-42d3-4f60-ac7c-9e7f63d6e0aa"
	const b0, b1 = "0000:0e:00.0", "0000:8f:00.0"
	for _, tc := range []struct {
		words []string
		want  []string
		text  string
	}{
		{nil, []string{"0", u0, b0, "1", u1, b1, "all"}, "index,uuid,bdf,all"},
		{[]string{"all", "bdf", "uuid", "index"}, []string{"0", u0, b0, "1", u1, b1, "all"}, "index,uuid,bdf,all"},
		{[]string{"uuid"}, []string{u0, u1}, "uuid"},
		{[]string{"bdf, index"}, []string{"0", b0, "1", b1}, "index,bdf"},
		{[]string{"all"}, []string{"all"}, "all"},
	} {
		n, err := ParseNames(tc.words...)
		if err != nil {
			t.Errorf("%q: %v", tc.words, err)
			continue
		}
		var got []string
		for _, d := range generated(t, twoGPUs(), Options{Names: n}).Devices {
			got = append(got, d.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || n.String() != tc.text {
			t.Errorf("%q: %s, devices (-want +got):\n%s", tc.words, n, diff)
		}
	}
	for _, bad := range []string{"", "type-index", "index,", "INDEX"} {
		if n, err := ParseNames(bad); !errors.Is(err, ErrNames) {
			t.Errorf("%q: %v, error %v", bad, n, err)
		}
	}
}

func TestAll(t *testing.T) {
	devices := generated(t, twoGPUs(), Options{}).Devices
	all := devices[len(devices)-1]
	var nodes []string
	for _, n := range all.ContainerEdits.DeviceNodes {
		nodes = append(nodes, n.Path)
	}
	want := []string{"/dev/dri/card1", "/dev/dri/card10", "/dev/dri/renderD128", "/dev/dri/renderD137"}
	if diff := cmp.Diff(want, nodes); diff != "" || all.Name != "all" {
		t.Errorf("%s (-want +got):\n%s", all.Name, diff)
	}
	if diff := cmp.Diff([]uint32{44, 105}, all.ContainerEdits.AdditionalGIDs); diff != "" {
		t.Error(diff)
	}
}

func TestIncomplete(t *testing.T) {
	n := twoGPUs()
	if _, missing := wholeGPUs(n); len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
	n.GPUs[1].Nodes = nil
	_, err := Generate(n, Options{})
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(&IncompleteError{GPUs: n.GPUs[1:], Total: 2}, incomplete); diff != "" {
		t.Error(diff)
	}
	if want := "1 of 2 GPUs have no device nodes: 0000:8f:00.0"; incomplete.Error() != want {
		t.Errorf("%q, want %q", incomplete, want)
	}
	if got := len(generated(t, n, Options{Partial: true}).Devices); got != 4 {
		t.Errorf("%d devices, want 3 names of one GPU and all", got)
	}
	n.GPUs[0].Nodes, n.GPUs[0].NodeGIDs = nil, nil
	if _, err := Generate(n, Options{Partial: true}); !errors.Is(err, ErrNoDevices) {
		t.Errorf("no nodes at all: %v", err)
	}
	if _, err := Generate(gpu.NewNode(""), Options{}); !errors.Is(err, ErrNoDevices) {
		t.Errorf("no GPU at all: %v", err)
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*gpu.Node)
		opt  Options
		is   error
		says string
	}{
		{"no UUID to name it by", func(n *gpu.Node) { n.GPUs[1].UUID = "" }, Options{Names: ByUUID | All}, ErrNames, "GPU 0000:8f:00.0 has no uuid"},
		{"no address to name it by", func(n *gpu.Node) { n.GPUs[1].BDF = gpu.BDF{} }, Options{Names: ByBDF}, ErrNames, "GPU 1 has no bdf"},
		{"two with one UUID", func(n *gpu.Node) { n.GPUs[1].UUID = n.GPUs[0].UUID }, Options{}, gpu.ErrNode, "same UUID"},
		{"a UUID with a newline", func(n *gpu.Node) { n.GPUs[1].UUID = "GPU-1\n" }, Options{}, ErrSpec, `device "GPU-1\n"`},
		{"a UUID that is another name", func(n *gpu.Node) { n.GPUs[1].UUID = "all" }, Options{}, ErrSpec, "defined twice"},
		{"a node that is no device path", func(n *gpu.Node) { n.GPUs[0].Nodes[0] = "/dev/../etc/shadow" }, Options{}, gpu.ErrNode, "/dev/../etc/shadow"},
		{"a driver path with a detour", func(n *gpu.Node) { n.Driver.Path = "/opt/../etc" }, Options{}, ErrSpec, `"/opt/../etc"`},
		{"a driver path with a newline", func(n *gpu.Node) { n.Driver.Path = "/opt/mx\ndriver" }, Options{}, gpu.ErrNode, "control characters"},
		{"an invalid vendor", func(*gpu.Node) {}, Options{Vendor: "metax tech"}, ErrSpec, `invalid vendor. invalid character ' ' in name "metax tech"`},
		{"an invalid class", func(*gpu.Node) {}, Options{Class: "gpu/x"}, ErrSpec, `invalid class. invalid character '/' in name "gpu/x"`},
		{"a root that is relative", func(*gpu.Node) {}, Options{EngineRoot: "tree"}, ErrSpec, `"tree/dev/mxcd"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := twoGPUs()
			tc.edit(&n)
			spec, err := Generate(n, tc.opt)
			if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) || spec != nil {
				t.Errorf("spec %v, error %v; want one that says %q", spec, err, tc.says)
			}
		})
	}
}

func TestBareNode(t *testing.T) {
	n := twoGPUs()
	n.Driver, n.Shared = nil, nil
	data := encoded(t, generated(t, n, Options{}), JSON)
	if !bytes.Contains(data, []byte(`"containerEdits": {}`)) || bytes.Contains(data, []byte("mount")) {
		t.Errorf("%s", data)
	}
}

func eightGPUs() gpu.Node {
	n := twoGPUs()
	n.GPUs = nil
	for i := range 8 {
		uuid := gpu.UUID("GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f0" + string(rune('0'+i)))
		card := string(rune('1' + i))
		n.GPUs = append(n.GPUs, gpu.GPU{
			Index: i, UUID: uuid, BDF: gpu.BDF{Bus: uint8(i)},
			Nodes: []string{"/dev/dri/card" + card, "/dev/dri/renderD13" + card}, GIDs: []uint32{44, 105},
		})
	}
	return n
}

func BenchmarkGenerate(b *testing.B) {
	n := eightGPUs()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generate(n, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	spec, err := Generate(eightGPUs(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range []Format{JSON, YAML} {
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(spec, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "spec.json")
	spec, err := Generate(eightGPUs(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, same := range []bool{true, false} {
		name := map[bool]string{true: "unchanged", false: "changed"}[same]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if !same {
					spec.ContainerEdits.Env = []string{"TURN=" + string(rune('a'+i%2))}
				}
				if _, err := Write(path, spec, JSON); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A GPU that is for a virtual machine keeps nobody from the others, and is not in
// their spec.
func TestGenerateSetAside(t *testing.T) {
	node := eightGPUs()
	aside := &node.GPUs[0]
	aside.Nodes, aside.GIDs, aside.Healthy, aside.Mode = nil, nil, false, gpu.ModeVFIO
	spec, err := Generate(node, Options{Names: ByIndex})
	if err != nil || len(spec.Devices) != 7 || spec.Devices[0].Name != "1" {
		t.Fatalf("spec %v, %v; want the GPUs 1 to 7", spec, err)
	}
	for i := range node.GPUs {
		node.GPUs[i].Nodes, node.GPUs[i].GIDs, node.GPUs[i].Healthy, node.GPUs[i].Mode = nil, nil, false, gpu.ModeVFIO
	}
	if _, err := Generate(node, Options{}); !errors.Is(err, ErrNoDevices) {
		t.Errorf("all are set aside: %v, want %v", err, ErrNoDevices)
	}
}
