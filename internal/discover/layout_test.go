// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// withoutVendor is a node of which only the kernel and the driver's own files are known.
func withoutVendor(n gpu.Node) gpu.Node {
	n.GPUs = append([]gpu.GPU(nil), n.GPUs...)
	n.Driver = &gpu.Driver{Version: n.Driver.Version, Path: n.Driver.Path}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.Serial, g.VBIOS, g.MemoryMiB = "", "", 0
	}
	var links []gpu.Link
	for _, l := range n.Links {
		if l.GBps = 0; !l.Down {
			links = append(links, l)
		}
	}
	n.Links = links
	return n
}

// TestLayoutAlone: right after a boot, before anything was recorded, UUIDs, health and links
// are known at a start.
func TestLayoutAlone(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			n := simtest.Node(t, name)
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, hostTree(t, name))})
			if diff := cmp.Diff(withoutVendor(n), got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, unhealthy(n), warnings)
		})
	}
}

// TestLayoutWithOthers: the other sources add what they know, and give the same node as
// without the driver's files.
func TestLayoutWithOthers(t *testing.T) {
	for _, name := range []string{"c500-8-degraded", "c500-8-sgpu", "c550-8"} {
		t.Run(name, func(t *testing.T) {
			want := simtest.Node(t, name)
			root := simtest.Write(t, hostTree(t, name))
			byTool, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: run})
			if diff := cmp.Diff(want, byTool); diff != "" {
				t.Errorf("by mx-smi: %s", diff)
			}
			byRecord, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &byTool})
			if diff := cmp.Diff(want, byRecord); diff != "" {
				t.Errorf("by record: %s", diff)
			}
		})
	}
}

// TestNoLinks: without links the rest of the layout is read, and links of a record stay.
func TestNoLinks(t *testing.T) {
	want := simtest.Node(t, "c500-8")
	root := simtest.Write(t, hostTree(t, "c500-8"))
	recorded, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: run})
	got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &recorded, NoLinks: true})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by record: %s", diff)
	}
	got, _ = mustDiscover(t, discover.Host{Surroundings: true, Root: root, NoLinks: true})
	if len(got.Links) != 0 || got.GPUs[7].UUID != want.GPUs[7].UUID {
		t.Errorf("links %v, UUID %s", got.Links, got.GPUs[7].UUID)
	}
}

// changed writes the host of c500-8 with some of the driver's files changed; nil removes what
// begins so.
func changed(t *testing.T, change map[string]sim.Entry) discover.Host {
	t.Helper()
	tree := hostTree(t, "c500-8")
	for name, entry := range change {
		if entry != nil {
			tree[name] = entry
			continue
		}
		maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, name) })
	}
	return discover.Host{Surroundings: true, Root: simtest.Write(t, tree)}
}

func line(s string) sim.Entry { return sim.File{Data: s + "\n"} }

// TestLayoutHealth: the worse verdict counts, and each is cleared only by whom it came from.
func TestLayoutHealth(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8")
	at, bdf := simtest.LayoutNode(t, tree, n.GPUs[3]), n.GPUs[3].BDF
	broken := func(healthy bool) *gpu.Node {
		n := simtest.Node(t, "c500-8")
		n.GPUs[3].Healthy = healthy
		return &n
	}
	inactive := map[string]sim.Entry{at + "active": line("0"), at + "inactive_reason": line("7\nfan failed")}
	for _, test := range []struct {
		name     string
		change   map[string]sim.Entry
		recorded *gpu.Node
		inactive []gpu.BDF
		healthy  bool
		warning  string
	}{
		{"became unavailable", inactive, broken(true), nil, false, `the driver reports "fan failed" (code 7)`},
		{"without words", map[string]sim.Entry{at + "active": line("2")}, broken(true), nil, false, "is unhealthy: the driver reports it as unhealthy"},
		{"without words but a code", map[string]sim.Entry{at + "active": line("2"), at + "inactive_reason": line("9")}, nil, nil, false, "is unhealthy: the driver reports it as unhealthy (code 9)"},
		{"recovered", nil, broken(false), []gpu.BDF{bdf}, true, ""},
		{"unavailable to the library too", nil, broken(false), nil, false, ""},
		{"unknown", map[string]sim.Entry{at + "active": nil}, broken(false), []gpu.BDF{bdf}, false, ""},
		{"no node", map[string]sim.Entry{at: nil}, broken(true), nil, false, "is unhealthy: it has no node in the driver's layout (code 101)"},
		{"no node, but one that is not understood", map[string]sim.Entry{at + "location": line("3")}, broken(true), nil, true, "the driver's layout: /sys/class/mxcd/mxcd/layout/nodes/5/location: parse"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := changed(t, test.change)
			h.Recorded, h.Inactive = test.recorded, test.inactive
			got, warnings := mustDiscover(t, h)
			for i, g := range got.GPUs {
				if want := i != 3 || test.healthy; g.Healthy != want {
					t.Errorf("GPU %d: healthy is %v, want %v", i, g.Healthy, want)
				}
			}
			var want []string
			if test.warning != "" {
				want = append(want, test.warning)
			}
			gputest.WantWarnings(t, want, warnings)
		})
	}
}

// TestLayoutContradicts: contradictions are warnings that name both, and cost as little as
// possible.
func TestLayoutContradicts(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8")
	first, second := simtest.LayoutNode(t, tree, n.GPUs[0]), simtest.LayoutNode(t, tree, n.GPUs[1])
	record := simtest.Node(t, "c500-8")
	fewer := func(pairs ...gpu.Link) []gpu.Link {
		var links []gpu.Link
	next:
		for _, l := range record.Links {
			for _, p := range pairs {
				if p.A == l.A && p.B == l.B {
					continue next
				}
			}
			links = append(links, l)
		}
		return links
	}
	uuid := string(n.GPUs[0].UUID)
	for _, test := range []struct {
		name     string
		change   map[string]sim.Entry
		recorded func(*gpu.Node)
		want     func(*gpu.Node)
		warnings []string
	}{
		{
			"another card",
			map[string]sim.Entry{first + "unique_id": line("other")},
			nil,
			func(n *gpu.Node) { g := &n.GPUs[0]; g.UUID, g.Serial, g.MemoryMiB, g.VBIOS = "GPU-other", "", 0, "" },
			[]string{"GPU 0000:0e:00.0 has the UUID GPU-other in the driver's layout and " + uuid + " in the recorded node, so nothing else of that is used for it"},
		},
		{
			"a link is lost",
			map[string]sim.Entry{first + "direct_links/2/properties": line("type 104\nto 3"), second + "direct_links/1/properties": line("type 104\nto 2")},
			nil,
			func(n *gpu.Node) {
				n.Links = append([]gpu.Link{{A: 0, B: 1, Kind: "NODE"}}, fewer(gpu.Link{A: 0, B: 1})...)
			},
			[]string{"the link between GPUs 0000:0e:00.0 and 0000:0f:00.0 is NODE in the driver's layout and MX by the recorded node; the weaker counts"},
		},
		{
			"a link was lost", nil, func(n *gpu.Node) { n.Links = fewer(gpu.Link{A: 0, B: 1}) },
			func(n *gpu.Node) { n.Links = fewer(gpu.Link{A: 0, B: 1}) },
			[]string{"the link between GPUs 0000:0e:00.0 and 0000:0f:00.0 is MX in the driver's layout and"},
		},
		{
			"a link is down", nil, func(n *gpu.Node) { n.Links[0].Down = true },
			func(n *gpu.Node) { n.Links[0].Down = true }, nil,
		},
		{
			"a GPU was not recorded", nil, func(n *gpu.Node) {
				n.Links = fewer(gpu.Link{A: 0, B: 7}, gpu.Link{A: 4, B: 7}, gpu.Link{A: 5, B: 7}, gpu.Link{A: 6, B: 7})
				n.GPUs = n.GPUs[:7]
			},
			func(n *gpu.Node) { g := &n.GPUs[7]; g.Serial, g.MemoryMiB, g.VBIOS = "", 0, "" }, nil,
		},
		{
			"none of the addresses", func() map[string]sim.Entry {
				all := map[string]sim.Entry{}
				for _, g := range n.GPUs {
					all[simtest.LayoutNode(t, tree, g)+"location"] = line(strings.Replace(g.BDF.String(), "0000:", "0001:", 1))
				}
				return all
			}(), nil, func(*gpu.Node) {}, []string{"the driver's layout is not used: its 8 addresses are not those of GPUs on the PCI bus"},
		},
		{
			"an address twice",
			map[string]sim.Entry{simtest.LayoutNodes + "40/location": line("0000:0e:00.0"), simtest.LayoutNodes + "40/unique_id": line("other")},
			nil,
			func(*gpu.Node) {},
			[]string{"nodes 2 and 40 both have the address 0000:0e:00.0"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, want, recorded := changed(t, test.change), simtest.Node(t, "c500-8"), simtest.Node(t, "c500-8")
			if test.recorded != nil {
				test.recorded(&recorded)
			}
			test.want(&want)
			h.Recorded = &recorded
			got, warnings := mustDiscover(t, h)
			if !cmp.Equal(want.Links, got.Links) {
				for i := range got.GPUs {
					want.GPUs[i].LinkDomain = got.GPUs[i].LinkDomain
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, warnings)
		})
	}
}

// TestLayoutLook: a look has the problems of the driver's files, and fails if none can be
// read.
func TestLayoutLook(t *testing.T) {
	n, tree := simtest.Host(t, "c500-8")
	at, bdf := simtest.LayoutNode(t, tree, n.GPUs[3]), n.GPUs[3].BDF
	unreadable := map[string]sim.Entry{}
	for _, g := range n.GPUs {
		unreadable[simtest.LayoutNode(t, tree, g)+"location"] = sim.Dir{}
	}
	for _, test := range []struct {
		name   string
		change map[string]sim.Entry
		want   []health.Problem
		failed string
	}{
		{"available", nil, nil, ""},
		{"unavailable", map[string]sim.Entry{at + "active": line("0"), at + "inactive_reason": line("7\nfan failed")}, []health.Problem{{Code: "vendor-7", Text: `the driver reports "fan failed" (code 7)`, Words: "fan failed"}}, ""},
		{"without a reason", map[string]sim.Entry{at + "active": line("0")}, []health.Problem{{Code: "vendor", Text: "the driver reports it as unhealthy"}}, ""},
		{"without a node", map[string]sim.Entry{at: nil}, []health.Problem{{Code: "vendor-101", Text: "it has no node in the driver's layout (code 101)"}}, ""},
		{"unreadable", unreadable, nil, "the driver's layout: read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			look, err := changed(t, test.change).Health(t.Context())
			if err != nil || (test.failed == "") != (look.Failed == "") || !strings.HasPrefix(look.Failed, test.failed) {
				t.Errorf("failed is %q, %v; want %q", look.Failed, err, test.failed)
			}
			for i, r := range look.Readings {
				var want []health.Problem
				if r.BDF == bdf {
					want = test.want
				}
				if diff := cmp.Diff(want, r.Problems); diff != "" {
					t.Errorf("GPU %d: %s", i, diff)
				}
				if want := n.GPUs[i].UUID; r.UUID != want && test.failed == "" && test.name != "without a node" {
					t.Errorf("GPU %d has the UUID %s, want %s", i, r.UUID, want)
				}
			}
		})
	}
}
