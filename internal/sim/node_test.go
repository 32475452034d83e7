// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func TestNames(t *testing.T) {
	want := []string{"c500-8", "c500-8-sys", "c500-8-pcie", "c500-8-degraded", "c500-8-sgpu", "c500-4-degraded", "c500-1", "c550-8", "superpod-64"}
	if diff := cmp.Diff(want, sim.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
}

// cells are the words of the matrix, a line for each GPU.
func cells(g *topology.Graph) string {
	var b strings.Builder
	for i := range g.Len() {
		for j := range g.Len() {
			if j > 0 {
				b.WriteByte(' ')
			}
			if i == j {
				b.WriteByte('X')
			} else {
				b.WriteString(g.Kind(i, j).String())
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	matrixNODE = `X MX MX MX NODE NODE NODE NODE
MX X MX MX NODE NODE NODE NODE
MX MX X MX NODE NODE NODE NODE
MX MX MX X NODE NODE NODE NODE
NODE NODE NODE NODE X MX MX MX
NODE NODE NODE NODE MX X MX MX
NODE NODE NODE NODE MX MX X MX
NODE NODE NODE NODE MX MX MX X
`
	matrixSplit = `X MX MX MX NODE NODE NODE NODE
MX X MX MX NODE NODE NODE NODE
MX MX X MX NODE NODE NODE NODE
MX MX MX X NODE NODE NODE NODE
NODE NODE NODE NODE X PIX MX MX
NODE NODE NODE NODE PIX X PIX PIX
NODE NODE NODE NODE MX PIX X MX
NODE NODE NODE NODE MX PIX MX X
`
	matrixDegraded = `X MX MX MX NODE NODE NODE NODE
MX X PIX MX NODE NODE NODE NODE
MX PIX X MX NODE NODE NODE NODE
MX MX MX X NODE NODE NODE NODE
NODE NODE NODE NODE X MX MX MX
NODE NODE NODE NODE MX X MX MX
NODE NODE NODE NODE MX MX X MX
NODE NODE NODE NODE MX MX MX X
`
	matrixPCIe = `X PIX PXB PXB NODE NODE NODE NODE
PIX X PXB PXB NODE NODE NODE NODE
PXB PXB X PXB NODE NODE NODE NODE
PXB PXB PXB X NODE NODE NODE NODE
NODE NODE NODE NODE X PXB PXB PXB
NODE NODE NODE NODE PXB X PXB PXB
NODE NODE NODE NODE PXB PXB X PIX
NODE NODE NODE NODE PXB PXB PIX X
`
	matrixOAM = `X MX MX MX MX MX MX MX
MX X MX MX MX MX MX MX
MX MX X MX MX MX MX MX
MX MX MX X MX MX MX MX
MX MX MX MX X MX MX MX
MX MX MX MX MX X MX MX
MX MX MX MX MX MX X MX
MX MX MX MX MX MX MX X
`
	matrixQuad = `X MX MX PIX
MX X MX MX
MX MX X MX
PIX MX MX X
`
)

// TestMatrices compares the matrices with those of the hosts that the nodes represent.
func TestMatrices(t *testing.T) {
	for name, want := range map[string]string{
		"c500-8":          matrixNODE,
		"c500-8-sys":      strings.ReplaceAll(matrixNODE, "NODE", "SYS"),
		"c500-8-pcie":     matrixPCIe,
		"c500-8-degraded": matrixDegraded,
		"c500-8-sgpu":     matrixSplit,
		"c500-4-degraded": matrixQuad,
		"c500-1":          "X\n",
		"c550-8":          matrixOAM,
		"sim:1x1x2":       "X MX\nMX X\n",
		"sim:1x2x1":       "X PHB\nPHB X\n",
		"sim:2x1x1":       "X SYS\nSYS X\n",
	} {
		t.Run(name, func(t *testing.T) {
			graph, warnings := topology.New(simtest.Node(t, name))
			if diff := cmp.Diff(want, cells(graph)); diff != "" || warnings != nil {
				t.Errorf("matrix (-want +got):\n%s%v", diff, warnings)
			}
		})
	}
}

func TestSuperpod(t *testing.T) {
	graph, _ := topology.New(simtest.Node(t, "superpod-64"))
	var sizes []int
	for _, d := range graph.Domains() {
		sizes = append(sizes, len(d))
	}
	if diff := cmp.Diff([]int{8, 8, 8, 8, 8, 8, 8, 8}, sizes); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if k, l := graph.Kind(7, 8), graph.Locality(0, 4); k != topology.SYS || l != topology.SameHostBridge {
		t.Errorf("between boards %v, between switches of a board %v", k, l)
	}
}

// TestPublished compares what else is published about two hosts.
func TestPublished(t *testing.T) {
	type facts struct {
		Buses, NUMA, Nodes, Driver, MACA string
	}
	for name, want := range map[string]facts{
		"c500-8": {
			"0e 0f 10 12 35 36 37 38", "0 0 0 0 0 0 0 0",
			"card1 renderD128 card2 renderD129 card3 renderD130 card4 renderD131 card5 renderD132 card6 renderD133 card7 renderD134 card8 renderD135",
			"3.4.4", "3.3.0.15",
		},
		"c550-8": {
			"0f 34 48 5a 87 ae c2 d7", "0 0 2 2 4 4 6 6",
			"card1 renderD128 card2 renderD129 card3 renderD130 card4 renderD131 card5 renderD132 card6 renderD133 card7 renderD134 card8 renderD135",
			"2.15.9", "2.32.0.6",
		},
		"c500-4-degraded": {
			"0e 0f 10 12", "0 0 0 0",
			"card2 renderD129 card1 renderD128 card4 renderD131 card5 renderD132",
			"3.4.4", "3.3.0.15",
		},
		"c500-1": {"01", "-1", "card0 renderD128", "3.4.4", "3.3.0.15"},
	} {
		n := simtest.Node(t, name)
		var buses, numa, nodes []string
		for _, g := range n.GPUs {
			buses = append(buses, fmt.Sprintf("%02x", g.BDF.Bus))
			numa = append(numa, fmt.Sprint(g.NUMA))
			for _, p := range g.Nodes {
				nodes = append(nodes, strings.TrimPrefix(p, "/dev/dri/"))
			}
		}
		got := facts{strings.Join(buses, " "), strings.Join(numa, " "), strings.Join(nodes, " "), n.Driver.Version, n.MACA.Version}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNodes checks what holds for every node.
func TestNodes(t *testing.T) {
	shape := regexp.MustCompile(`^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	uuids, serials := map[gpu.UUID]bool{}, map[string]bool{}
	for _, name := range append(sim.Names(), "sim:2x2x4", "sim:2x2x3", "sim:128x2x4", "sim:1x30x5", "sim:1x7x31") {
		n := simtest.Node(t, name)
		if diff := cmp.Diff(n, simtest.Node(t, name)); diff != "" {
			t.Errorf("%s differs from call to call:\n%s", name, diff)
		}
		for _, g := range n.GPUs {
			// A GPU that is split into virtual functions has no UUID.
			uuid := len(g.VFs) > 0 && g.UUID == "" || shape.MatchString(string(g.UUID)) && !uuids[g.UUID]
			if !uuid || !gpu.ValidSerial(g.Serial) || serials[g.Serial] {
				t.Errorf("%s: GPU %d has UUID %q and serial %q: malformed or not unique", name, g.Index, g.UUID, g.Serial)
			}
			uuids[g.UUID], serials[g.Serial] = true, true
		}
		data, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		again, err := gpu.DecodeNode(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(n, again); diff != "" {
			t.Errorf("%s read back from JSON (-want +got):\n%s", name, diff)
		}
	}
}

// TestManyCards checks card numbers beyond DRM's first ranges.
func TestManyCards(t *testing.T) {
	n := simtest.Node(t, "sim:128x2x4")
	for i, want := range map[int][]string{
		0:    {"/dev/dri/card1", "/dev/dri/renderD128"},
		62:   {"/dev/dri/card63", "/dev/dri/renderD190"},
		63:   {"/dev/dri/card192", "/dev/dri/renderD191"},
		64:   {"/dev/dri/card194", "/dev/dri/renderD193"},
		1023: {"/dev/dri/card2112", "/dev/dri/renderD2111"},
	} {
		if diff := cmp.Diff(want, n.GPUs[i].Nodes); diff != "" {
			t.Errorf("GPU %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestNodeErrors(t *testing.T) {
	for name, want := range map[string]error{
		"": sim.ErrUnknown, "c500": sim.ErrUnknown, "C500-8": sim.ErrUnknown, "sim": sim.ErrUnknown,
		"sim:": sim.ErrSize, "sim:2": sim.ErrSize, "sim:2x2": sim.ErrSize, "sim:2x2x2x2": sim.ErrSize,
		"sim:0x1x1": sim.ErrSize, "sim:-1x1x1": sim.ErrSize, "sim:+1x1x1": sim.ErrSize, "sim:01x1x1": sim.ErrSize,
		"sim:1x1x": sim.ErrSize, "sim:axbxc": sim.ErrSize, "sim:1X1X1": sim.ErrSize, "sim:1x1x1 ": sim.ErrSize,
		"sim:1025x1x1": sim.ErrSize, "sim:1x31x1": sim.ErrSize, "sim:1x1x32": sim.ErrSize, "sim:129x2x4": sim.ErrSize,
		"sim:1x8x29": sim.ErrSize, "sim:9999999999999999999x1x1": sim.ErrSize, "sim:4294967296x4294967296x1": sim.ErrSize,
	} {
		_, err := sim.Node(name)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("Node(%q) = %v; want %v", name, err, want)
		}
	}
}

func FuzzNode(f *testing.F) {
	for _, name := range append(sim.Names(), "sim:2x2x4", "sim:1x8x29") {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, err := sim.Node(name)
		if err != nil {
			return
		}
		if err := n.Check(); err != nil || n.Name != name || len(n.GPUs) == 0 {
			t.Errorf("Node(%q) has name %q, %d GPUs: %v", name, n.Name, len(n.GPUs), err)
		}
	})
}
