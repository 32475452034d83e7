// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// tool answers like the mx-smi of a host with the listed GPUs, in this order, and this
// matrix.
func tool(list []string, matrix string) func(context.Context, string, ...string) ([]byte, error) {
	return func(_ context.Context, _ string, args ...string) ([]byte, error) {
		var b strings.Builder
		switch args[0] {
		case "-L":
			for i, address := range list {
				fmt.Fprintf(&b, "GPU#%d MXC500 %s Available (UUID: GPU-%s)\n", i, address, strings.NewReplacer(":", "-", ".", "-").Replace(address))
			}
		case "topo":
			return []byte(matrix), nil
		case "--show-memory":
			for i, address := range list {
				fmt.Fprintf(&b, "GPU#%d MXC500 %s\n vram total : 1024 KB\n", i, address)
			}
		case "--show-sn":
			for i, address := range list {
				fmt.Fprintf(&b, "GPU#%d MXC500 %s\n", i, address)
			}
		}
		return []byte(b.String()), nil
	}
}

// four has the addresses of c500-4-degraded, all below one switch, so that every pair
// is PIX by PCIe.
var four = []string{"0000:0e:00.0", "0000:0f:00.0", "0000:10:00.0", "0000:12:00.0"}

func TestDiscoverLinks(t *testing.T) {
	root := simtest.Write(t, oldTree(t, "c500-4-degraded"))
	backward := slices.Clone(four)
	slices.Reverse(backward)
	const header = "GPU0 GPU1 GPU2 GPU3\n"
	for _, test := range []struct {
		name    string
		list    []string
		matrix  string
		want    []gpu.Link
		domains []int
	}{
		{
			"rows for what PCIe does not say", four,
			header + "GPU0 X MX PIX PIX\nGPU1 MX X PIX PIX\nGPU2 PIX PIX X MX\nGPU3 PIX PIX MX X",
			[]gpu.Link{{A: 0, B: 1, Kind: "MX"}, {A: 2, B: 3, Kind: "MX"}},
			[]int{1, 1, 2, 2},
		},
		{
			"the tool disagrees with the kernel", four,
			header + "GPU0 X SYS PIX PIX\nGPU1 SYS X PIX PXB\nGPU2 PIX PIX X PIX\nGPU3 PIX PXB PIX X",
			[]gpu.Link{{A: 0, B: 1, Kind: "SYS"}, {A: 1, B: 3, Kind: "PXB"}},
			[]int{0, 0, 0, 0},
		},
		{
			"what the tool does not know stays PCIe's", four,
			header + "GPU0 X NA NA NA\nGPU1 NA X NA NA\nGPU2 NA NA X NA\nGPU3 NA NA NA X",
			nil,
			[]int{0, 0, 0, 0},
		},
		{
			"the tool's numbers are its own", backward,
			header + "GPU0 X MX PIX PIX\nGPU1 MX X PIX PIX\nGPU2 PIX PIX X SYS\nGPU3 PIX PIX SYS X",
			[]gpu.Link{{A: 0, B: 1, Kind: "SYS"}, {A: 2, B: 3, Kind: "MX"}},
			[]int{0, 0, 1, 1},
		},
		{
			"domains go by their first member", four,
			header + "GPU0 X PIX PIX PIX\nGPU1 PIX X PIX MX\nGPU2 PIX PIX X PIX\nGPU3 PIX MX PIX X",
			[]gpu.Link{{A: 1, B: 3, Kind: "MX"}},
			[]int{0, 1, 0, 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: tool(test.list, test.matrix)})
			if diff := cmp.Diff(test.want, got.Links); diff != "" {
				t.Error(diff)
			}
			var domains []int
			for _, g := range got.GPUs {
				domains = append(domains, g.LinkDomain)
				if want := "GPU-" + strings.NewReplacer(":", "-", ".", "-").Replace(g.BDF.String()); string(g.UUID) != want {
					t.Errorf("GPU %s has the UUID %s, want %s", g.BDF, g.UUID, want)
				}
			}
			if diff := cmp.Diff(test.domains, domains); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, nil, warnings)
		})
	}
}

// TestDiscoverDisagreement has GPUs that only the kernel or only the tool lists.
func TestDiscoverDisagreement(t *testing.T) {
	root := simtest.Write(t, oldTree(t, "c500-4-degraded"))
	for _, test := range []struct {
		name     string
		list     []string
		healthy  []int // of the GPUs in the order of addresses
		links    []gpu.Link
		warnings []string
	}{
		{
			"the tool knows fewer", four[:3],
			[]int{0, 1, 2},
			[]gpu.Link{{A: 0, B: 1, Kind: "MX"}},
			[]string{"GPU 0000:12:00.0 cannot be used: mx-smi does not list it"},
		},
		{
			"the tool knows more, behind", append(slices.Clone(four), "0000:99:00.0"),
			[]int{0, 1, 2, 3},
			[]gpu.Link{{A: 0, B: 1, Kind: "MX"}, {A: 0, B: 4, Kind: "MX"}, {A: 1, B: 4, Kind: "MX"}, {A: 2, B: 4, Kind: "MX"}, {A: 3, B: 4, Kind: "MX"}},
			[]string{"GPU 0000:99:00.0 cannot be used: mx-smi lists it, the kernel does not"},
		},
		{
			"the tool knows more, before", append(slices.Clone(four), "0000:02:00.0"),
			[]int{1, 2, 3, 4},
			[]gpu.Link{{A: 0, B: 1, Kind: "MX"}, {A: 0, B: 2, Kind: "MX"}, {A: 0, B: 3, Kind: "MX"}, {A: 0, B: 4, Kind: "MX"}, {A: 1, B: 2, Kind: "MX"}},
			[]string{"GPU 0000:02:00.0 cannot be used: mx-smi lists it, the kernel does not"},
		},
		{
			"no GPU has the address zero", append(slices.Clone(four), "0000:00:00.0"),
			[]int{0, 1, 2, 3},
			[]gpu.Link{{A: 0, B: 1, Kind: "MX"}},
			[]string{"ignored GPU 0000:00:00.0: mx-smi lists it, the kernel does not"},
		},
		{
			"the tool knows none of our GPUs",
			[]string{"0000:99:00.0"},
			nil, nil,
			[]string{"GPU 0000:0e:00.0 cannot", "GPU 0000:0f:00.0 cannot", "GPU 0000:10:00.0 cannot", "GPU 0000:12:00.0 cannot", "GPU 0000:99:00.0 cannot"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			matrix := "GPU0 GPU1 GPU2 GPU3 GPU4\nGPU0 X MX PIX PIX MX\nGPU1 MX X PIX PIX MX\nGPU2 PIX PIX X PIX MX\nGPU3 PIX PIX PIX X MX\nGPU4 MX MX MX MX X"
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: tool(test.list, matrix)})
			if diff := cmp.Diff(test.links, got.Links); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.healthy, got.Healthy()); diff != "" {
				t.Error(diff)
			}
			if err := got.Check(); err != nil || !slices.IsSortedFunc(got.GPUs, func(a, b gpu.GPU) int { return a.BDF.Compare(b.BDF) }) {
				t.Errorf("GPUs are %v: %v", got.GPUs, err)
			}
			warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "mx-smi topo -m: ") })
			gputest.WantWarnings(t, test.warnings, warnings)
		})
	}
}

// TestDiscoverVF: a virtual function that the tool lists is a part of a GPU and not
// worth a warning.
func TestDiscoverVF(t *testing.T) {
	host := simtest.Node(t, "c500-1")
	host.GPUs[0].VFs = []gpu.BDF{{Bus: 1, Function: 1}, {Bus: 1, Function: 2}}
	root := simtest.Write(t, mustTree(t, host))
	list := []string{"0000:01:00.0", "0000:01:00.1", "0000:01:00.2"}
	matrix := "GPU0 GPU1 GPU2\nGPU0 X PIX PIX\nGPU1 PIX X PIX\nGPU2 PIX PIX X"
	got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: tool(list, matrix)})
	if len(got.GPUs) != 1 || !slices.Equal(got.GPUs[0].VFs, host.GPUs[0].VFs) || got.Links != nil {
		t.Errorf("got %v, %v", got.GPUs, got.Links)
	}
	gputest.WantWarnings(t, nil, warnings)
}

// TestDiscoverOrphanVF: a virtual function of an unknown GPU adds no GPU.
func TestDiscoverOrphanVF(t *testing.T) {
	host := simtest.Node(t, "c500-1")
	host.GPUs[0].VFs = []gpu.BDF{{Bus: 1, Function: 1}}
	tree := mustTree(t, host)
	damaged := 0
	for path := range tree {
		if strings.HasSuffix(path, "/physfn") {
			tree[path], damaged = sim.Link("nowhere"), damaged+1
		}
	}
	if damaged != 1 {
		t.Fatalf("%d physfn in the tree", damaged)
	}
	list := []string{"0000:01:00.0", "0000:01:00.1"}
	got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, tree), Run: tool(list, "GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X")})
	if len(got.GPUs) != 1 || !got.GPUs[0].Healthy {
		t.Errorf("got %v", got.GPUs)
	}
}

func TestDiscoverRecorded(t *testing.T) {
	root := simtest.Write(t, oldTree(t, "c500-4-degraded"))
	full := simtest.Node(t, "c500-4-degraded")
	elsewhere := gpu.Lost{BDF: full.GPUs[3].BDF, UUID: full.GPUs[3].UUID, Index: 3}
	elsewhere.BDF.Bus = 0x99
	record := func(change func(*gpu.Node)) *gpu.Node {
		n := full
		n.GPUs, n.Links = slices.Clone(full.GPUs), slices.Clone(full.Links)
		change(&n)
		return &n
	}
	for _, test := range []struct {
		name     string
		record   *gpu.Node
		want     func(*gpu.Node) // changes the full node
		warnings []string
	}{
		{
			"a GPU is new", record(func(n *gpu.Node) { n.GPUs, n.Links = n.GPUs[:3], n.Links[:2] }),
			func(n *gpu.Node) {
				g := &n.GPUs[3]
				g.UUID, g.Serial, g.VBIOS, g.MemoryMiB, g.LinkDomain = "", "", "", 0, 0
				n.Links = n.Links[:2]
			},
			[]string{"GPU 0000:12:00.0 is not in the recorded node"},
		},
		{
			"a GPU is another", record(func(n *gpu.Node) { n.GPUs[3].BDF.Bus = 0x99 }),
			func(n *gpu.Node) {
				g := &n.GPUs[3]
				g.UUID, g.Serial, g.VBIOS, g.MemoryMiB, g.LinkDomain = "", "", "", 0, 0
				n.Links = slices.DeleteFunc(n.Links, func(l gpu.Link) bool { return l.B == 3 })
				n.Lost = []gpu.Lost{elsewhere}
			},
			[]string{"GPU 0000:12:00.0 is not in the recorded node", elsewhere.String()},
		},
		{
			"a GPU was unavailable", record(func(n *gpu.Node) { n.GPUs[1].Healthy = false }),
			func(n *gpu.Node) { n.GPUs[1].Healthy = false }, nil,
		},
		{
			"a GPU had no device nodes then", record(func(n *gpu.Node) { n.GPUs[1].Healthy, n.GPUs[1].Nodes = false, nil }),
			func(*gpu.Node) {}, nil,
		},
		{
			"device nodes and places are today's", record(func(n *gpu.Node) {
				n.GPUs[1].Nodes, n.GPUs[1].GIDs = []string{"/dev/dri/card9", "/dev/dri/renderD199"}, []uint32{1}
				n.GPUs[1].NUMA, n.GPUs[1].PCIeRoot, n.GPUs[1].PCIePath, n.GPUs[1].PCIeSwitch = 7, "", nil, nil
			}),
			func(*gpu.Node) {}, nil,
		},
		{
			"a link down stays recorded", record(func(n *gpu.Node) { n.Links[0].Down = true }),
			func(n *gpu.Node) { n.Links[0].Down = true }, nil,
		},
		{
			"a measured link stays recorded", record(func(n *gpu.Node) {
				n.Links = append(n.Links, gpu.Link{A: 3, B: 0, Kind: "PIX", GBps: 40})
			}),
			func(n *gpu.Node) { n.Links = slices.Insert(n.Links, 2, gpu.Link{A: 0, B: 3, Kind: "PIX", GBps: 40}) }, nil,
		},
		{
			"a link of a kind that is new", record(func(n *gpu.Node) { n.Links = append(n.Links, gpu.Link{A: 0, B: 3, Kind: "OPT"}) }),
			func(*gpu.Node) {},
			[]string{`ignored the link between GPUs 0000:0e:00.0 and 0000:12:00.0: the recorded node reports the unknown kind "OPT"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := fmt.Sprint(*test.record)
			want := *record(test.want)
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: test.record})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, warnings)
			if after := fmt.Sprint(*test.record); before != after {
				t.Errorf("the record was changed: %s", cmp.Diff(before, after))
			}
		})
	}
}
