// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// oneBridge is a node of n GPUs below one host bridge and its switch, all joined.
func oneBridge(n int) gpu.Node {
	node := gpu.NewNode("one-bridge")
	up := gpu.BDF{Bus: 1}
	for i := range n {
		at := gpu.BDF{Bus: uint8(3 + i)}
		node.GPUs = append(node.GPUs, gpu.GPU{
			Index: i, BDF: at, Healthy: true, PCIeRoot: "pci0000:00",
			PCIePath: []gpu.BDF{{Device: 1}, up, {Bus: 2, Device: uint8(i)}}, PCIeSwitch: &up,
		})
	}
	mesh(&node, 0, sequence(0, n)...)
	return node
}

// words are all texts of a picture.
func words(root element) (all []string) {
	root.walk(func(e element) {
		if e.XMLName.Local == "text" {
			all = append(all, e.Text)
		}
	})
	return all
}

// Each host bridge and each switch is drawn once.
func TestSVGBridgesOnce(t *testing.T) {
	all := views(t)
	for n := 2; n <= 16; n++ {
		all[fmt.Sprintf("%d below one bridge", n)] = View{Node: oneBridge(n)}
	}
	for name, view := range all {
		count := map[string]int{}
		for _, w := range words(picture(t, view)) {
			if strings.Contains(w, "bridge pci") || strings.Contains(w, "switch 0") {
				count[w]++
			}
		}
		for w, n := range count {
			if n > 1 {
				t.Errorf("%s: %q is drawn %d times", name, w, n)
			}
		}
	}
}

// From eight GPUs on, a bus joins a domain; only its lost links are arcs.
func TestSVGDomainBus(t *testing.T) {
	node := views(t)["c550-8"].Node
	node.Links = slices.Clone(node.Links)
	node.Links[3].Down = true // 0-4
	root := picture(t, View{Node: node})
	if buses := titled(root, "MetaXLink domain 1: GPUs 0-7"); len(buses) != 1 || len(titled(buses[0], "")) != 1 {
		t.Errorf("%d buses", len(buses))
	}
	var arcs []string
	for _, e := range titled(root, "GPU ") {
		if strings.Contains(e.title(), " to ") {
			arcs = append(arcs, e.title())
		}
	}
	if len(arcs) != 1 || arcs[0] != "GPU 0 to GPU 4: MetaXLink, down" {
		t.Errorf("arcs %q", arcs)
	}
}

// A link that an otherwise full domain lacks is a broken arc, and the legend names it.
func TestSVGMissing(t *testing.T) {
	node := quads(t)
	node.Links = slices.DeleteFunc(slices.Clone(node.Links), func(l gpu.Link) bool { return l.A == 1 && l.B == 2 })
	root := picture(t, View{Node: node})
	arcs := titled(root, "GPU 1 to GPU 2: no MetaXLink")
	if len(arcs) != 1 || arcs[0].attr("stroke-dasharray") == "" || arcs[0].attr("stroke") != unhealthyEdge {
		t.Errorf("arcs %+v", arcs)
	}
	if !slices.Contains(words(root), "MetaXLink missing: 1-2") {
		t.Errorf("not in the legend: %q", words(root))
	}
}

// The cards, the legend and the texts name the users of GPUs, without what could disturb.
func TestUsers(t *testing.T) {
	node := quads(t)
	v := View{Node: node, InUse: []int{1, 2}, Users: make([]string, len(node.GPUs))}
	v.Users[1], v.Users[2] = "container trainer (docker)", "container trainer (docker)"
	root := picture(t, v)
	if all := words(root); !slices.Contains(all, "trainer (docker)") || !slices.Contains(all, "in use by container trainer (docker): GPU 1,2") || slices.Contains(all, "in use: GPU 1,2") {
		t.Errorf("words %q", all)
	}
	many := View{Node: superpod(t, 8), InUse: []int{1, 2}, Users: []string{"", "container train (docker), lease aaaaaaaaaaaa, of alice", ""}}
	if all := words(picture(t, many)); !slices.Contains(all, "train (docker)") || !slices.Contains(all, "in use: GPU 2") {
		t.Errorf("words %q", all)
	}
	if title := titled(root, "GPU 1,")[0].title(); !strings.HasSuffix(title, "in use by container trainer (docker)") {
		t.Errorf("the tooltip is %q", title)
	}
	for ending, draw := range renderers {
		v.Users[2] = "\x1b[2J</text>\u202e" + strings.Repeat("x", 300)
		text := render(t, draw, v)
		if strings.ContainsAny(text, "\x1b\u202e") || ending == "svg" && strings.Contains(text, "J</text>") {
			t.Errorf("the %s has a hostile name", ending)
		}
	}
	v.Users = nil
	for i := range 12 {
		v.Users = append(v.Users, fmt.Sprint("user ", i))
	}
	v.Users, v.InUse = v.Users[:len(node.GPUs)], sequence(0, len(node.GPUs))
	picture(t, v)
}

// The lines of two kinds of link differ, also without colors, and the legend has those of the
// picture.
func TestKindLines(t *testing.T) {
	seen := map[string]topology.Kind{}
	for _, k := range topology.Kinds() {
		line := strings.ReplaceAll(kindLine(k), kindEdge, "")
		if other, ok := seen[line]; ok && k != topology.MX && other != topology.MX {
			t.Errorf("%v looks like %v", k, other)
		}
		if k != topology.MX {
			seen[line] = k
		}
	}
	all := render(t, SVG, View{Node: cascade(t)})
	for _, k := range []topology.Kind{topology.PIX, topology.PXB} {
		if n := strings.Count(all, kindLine(k)); n < 3 {
			t.Errorf("%v has %d lines", k, n)
		}
	}
}

// A picture says what links the domains, once.
func TestBetweenDomains(t *testing.T) {
	for name, c := range map[string]struct {
		node gpu.Node
		want []string
	}{
		"one row":     {quads(t), []string{"NODE between the domains: PCIe and the interconnect between host bridges of one NUMA node"}},
		"two rows":    {ten(t), []string{"SYS: PCIe and the interconnect between NUMA nodes"}},
		"several":     {superpod(t, 2), []string{"PIX, NODE, SYS between the domains: PCIe and the interconnect between NUMA nodes"}},
		"grid":        {superpod(t, 8), []string{"SYS between the domains: PCIe and the interconnect between NUMA nodes"}},
		"one domain":  {oam(t), nil},
		"no MX known": {cascade(t), nil},
	} {
		var got []string
		for _, w := range words(picture(t, View{Node: c.node})) {
			if strings.Contains(w, "the interconnect between") {
				got = append(got, w)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Network cards are at their switch, and the legend has their links.
func TestSVGNICs(t *testing.T) {
	node := oneBridge(3)
	node.NICs = []gpu.NIC{
		{Name: "mlx5_0", Kind: gpu.NICRDMA, BDF: gpu.BDF{Bus: 0x20}, PCIeRoot: "pci0000:00", PCIePath: []gpu.BDF{{Device: 1}, {Bus: 1}, {Bus: 2, Device: 9}}},
		{Name: "eth0", Kind: gpu.NICNet, BDF: gpu.BDF{Bus: 0x90}, NUMA: 1, PCIeRoot: "pci0000:80", PCIePath: []gpu.BDF{{Bus: 0x80}}},
	}
	all := words(picture(t, View{Node: node}))
	for _, want := range []string{"NIC 0", "NIC 0 (mlx5_0): PIX to GPU 0-2", "NIC 1 (eth0): SYS to GPU 0-2", "SYS: PCIe and the interconnect between NUMA nodes"} {
		if !slices.Contains(all, want) {
			t.Errorf("no %q in %q", want, all)
		}
	}
}

// Every color has another one for dark screens.
func TestSVGDark(t *testing.T) {
	color := regexp.MustCompile(`(?:fill|stroke)="(#[0-9a-f]+)"`)
	for name, view := range views(t) {
		text := render(t, SVG, view)
		for _, m := range color.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(text, "["+m[0]+"] { ") {
				t.Errorf("%s: no dark color for %s", name, m[0])
			}
		}
	}
}

// No two labels overlap.
func TestSVGLabels(t *testing.T) {
	for name, view := range sized(t) {
		type box struct {
			x0, x1, y int
			text      string
		}
		var boxes []box
		var visit func(e element, size int)
		visit = func(e element, size int) {
			fmt.Sscan(e.attr("font-size"), &size)
			if e.XMLName.Local == "text" {
				x, w := e.int(t, "x"), len([]rune(e.Text))*size/2
				if e.attr("text-anchor") == "middle" {
					x -= w / 2
				} else if e.attr("text-anchor") == "end" {
					x -= w
				}
				boxes = append(boxes, box{x, x + w, e.int(t, "y"), e.Text})
			}
			for _, c := range e.Children {
				visit(c, size)
			}
		}
		visit(picture(t, view), 12)
		for i, a := range boxes {
			for _, b := range boxes[:i] {
				if a.x0 < b.x1 && b.x0 < a.x1 && max(a.y-b.y, b.y-a.y) < 9 {
					t.Errorf("%s: %q lies on %q", name, a.text, b.text)
				}
			}
		}
	}
}
