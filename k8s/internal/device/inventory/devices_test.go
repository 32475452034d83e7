// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// node returns c500-8 with vfs virtual functions on each GPU.
func node(t *testing.T, name string, vfs int) gpu.Node {
	t.Helper()
	n := simtest.Node(t, name)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		for k := range vfs {
			b := g.BDF
			b.Device, b.Function = uint8(k/8)+1, uint8(k%8)
			g.VFs = append(g.VFs, b)
			g.Slices = append(g.Slices, gpu.Slice{Kind: gpu.SliceVF, Index: k, BDF: b, Nodes: []string{fmt.Sprintf("/dev/dri/card%d", 100+8*i+k)}})
		}
	}
	return n
}

// after is the State after one look at each of the nodes.
func after(nodes ...gpu.Node) (s health.State) {
	for _, n := range nodes {
		s, _ = s.Next(health.FromNode(n), health.DefaultRules)
	}
	return s
}

// list has a word for each device: the index of its GPU, the number of its virtual function,
// and its code if it is unhealthy.
func list(devices []Device) string {
	var words []string
	for _, d := range devices {
		word := fmt.Sprint(d.GPU)
		if d.VF != nil {
			word += fmt.Sprintf(".%d", *d.VF)
		}
		if !d.Healthy {
			word += "=" + d.Code
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func without(n gpu.Node, index int) gpu.Node {
	var left []gpu.GPU
	for _, g := range n.GPUs {
		if g.Index == index {
			continue
		}
		g.Index = len(left)
		left = append(left, g)
	}
	n.GPUs = left
	return n
}

func edit(n gpu.Node, index int, change func(*gpu.GPU)) gpu.Node {
	gpus := append([]gpu.GPU{}, n.GPUs...)
	change(&gpus[index])
	n.GPUs = gpus
	return n
}

func TestDevices(t *testing.T) {
	c500 := node(t, "c500-8", 0)
	broken := func(g *gpu.GPU) { g.Healthy = false }
	nameless := edit(c500, 2, func(g *gpu.GPU) { g.UUID = "" })
	moved := edit(edit(c500, 2, func(g *gpu.GPU) { g.UUID = c500.GPUs[1].UUID }), 1, func(g *gpu.GPU) { g.UUID = c500.GPUs[2].UUID })
	for _, test := range []struct {
		name    string
		node    gpu.Node
		state   health.State
		options Options
		want    string
	}{
		{"all in order", c500, after(c500), Options{}, "0 1 2 3 4 5 6 7"},
		{"no look yet", c500, health.State{}, Options{}, "0=unseen 1=unseen 2=unseen 3=unseen 4=unseen 5=unseen 6=unseen 7=unseen"},
		{"one is broken", c500, after(edit(c500, 3, broken)), Options{}, "0 1 2 3=vendor 4 5 6 7"},
		{"one is broken and hidden", c500, after(edit(c500, 3, broken)), Options{HideUnhealthy: true}, "0 1 2 4 5 6 7"},
		{"one fell off the bus", without(c500, 3), after(c500, without(c500, 3)), Options{}, "0 1 2 -1=missing 3 4 5 6"},
		{"one fell off the bus and is hidden", without(c500, 3), after(c500, without(c500, 3)), Options{HideUnhealthy: true}, "0 1 2 3 4 5 6"},
		{"it fell off before the look", without(c500, 3), after(c500), Options{}, "0 1 2 -1=missing 3 4 5 6"},
		{"it came back, and is not trusted yet", c500, after(c500, without(c500, 3), c500), Options{}, "0 1 2 3=missing 4 5 6 7"},
		{"the node is new after a reboot", without(c500, 3), after(without(c500, 3)), Options{}, "0 1 2 3 4 5 6"},
		{"excluded by index, address and UUID", c500, after(c500), Options{Exclude: []string{"0", "0000:0F:00.0", strings.ToLower(string(c500.GPUs[7].UUID))}}, "2 3 4 5 6"},
		{"excluded by a name of no GPU", c500, after(c500), Options{Exclude: []string{"-1", "8", "", "0000:00:00.0"}}, "0 1 2 3 4 5 6 7"},
		{"a fallen GPU is excluded", without(c500, 3), after(c500, without(c500, 3)), Options{Exclude: []string{"0000:12:00.0"}}, "0 1 2 3 4 5 6"},
		{"no UUID", nameless, after(nameless), Options{}, "0 1 3 4 5 6 7"},
		{"the UUID is known from the look", nameless, after(c500), Options{}, "0 1 2 3 4 5 6 7"},
		{"two cards changed places", moved, after(c500, moved), Options{}, "0 1 2 3 4 5 6 7"},
		{"a card moved to an empty slot", without(c500, 0), after(edit(c500, 0, func(g *gpu.GPU) { g.UUID = c500.GPUs[1].UUID })), Options{}, "0 1 2 3 4 5 6"},
		{"parts of GPUs beside whole ones", node(t, "c500-8-sgpu", 0), after(node(t, "c500-8-sgpu", 0)), Options{}, "0 1 2=divided 3 4 5=divided 6 7"},
		{"a GPU of a virtual machine", c500, after(edit(c500, 6, func(g *gpu.GPU) { g.Mode, g.Healthy = gpu.ModeVFIO, false })), Options{}, "0 1 2 3 4 5 6=vfio 7"},
		{"no GPU", gpu.NewNode("empty"), health.State{}, Options{}, ""},
		{"a bare matrix", edit(gpu.Node{GPUs: make([]gpu.GPU, 2)}, 1, func(g *gpu.GPU) { g.Index, g.UUID = 1, "GPU-a" }), health.State{}, Options{}, "1=unseen"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := Devices(test.node, test.state, test.options)
			if is := list(got); is != test.want {
				t.Errorf("got  %s\nwant %s", is, test.want)
			}
			ids := map[string]bool{}
			for _, d := range got {
				if ids[d.ID] || d.ID == "" || d.Healthy != (d.Reason == "") || d.NUMA != nil && *d.NUMA < 0 {
					t.Errorf("device %+v", d)
				}
				ids[d.ID] = true
			}
		})
	}
	if _, unnamed := Devices(nameless, after(nameless), Options{}); !cmp.Equal(unnamed, []gpu.BDF{c500.GPUs[2].BDF}) {
		t.Errorf("unnamed is %v", unnamed)
	}
}

// TestVirtualFunctions: the capacity is the number of GPUs times that of virtual functions,
// also with a broken GPU.
func TestVirtualFunctions(t *testing.T) {
	for _, vfs := range []int{0, 1, 2, 4, 8} {
		whole := node(t, "c500-8", vfs)
		for name, test := range map[string]struct {
			node  gpu.Node
			state health.State
		}{
			"broken": {whole, after(edit(whole, 3, func(g *gpu.GPU) { g.Healthy = false }))},
			"broken, and its virtual functions are gone": {
				edit(whole, 3, func(g *gpu.GPU) { g.VFs, g.Slices = nil, nil }),
				after(edit(whole, 3, func(g *gpu.GPU) { g.Healthy = false })),
			},
			"fallen": {without(whole, 3), after(whole, without(whole, 3))},
		} {
			t.Run(fmt.Sprintf("%d, %s", vfs, name), func(t *testing.T) {
				got, _ := Devices(test.node, test.state, Options{})
				each := max(1, vfs)
				if len(got) != 8*each {
					t.Errorf("%d devices, want %d: %s", len(got), 8*each, list(got))
				}
				for i, d := range got {
					want := string(whole.GPUs[i/each].UUID)
					if vfs > 0 {
						want += fmt.Sprintf("-vf%d", i%each)
					}
					if d.ID != want || d.Healthy == (i/each == 3) {
						t.Errorf("device %d is %+v, want ID %s", i, d, want)
					}
					if d.Healthy && vfs > 0 && d.BDF != whole.GPUs[i/each].VFs[i%each] {
						t.Errorf("device %d is at %s", i, d.BDF)
					}
				}
				hidden, _ := Devices(test.node, test.state, Options{HideUnhealthy: true})
				if len(hidden) != 7*each {
					t.Errorf("%d devices without the unhealthy ones", len(hidden))
				}
			})
		}
	}
}

func TestVirtualFunctionThatIsUnlike(t *testing.T) {
	n := node(t, "c500-1", 2)
	for want, change := range map[string]func(*gpu.GPU){
		"0.0 0.1":                 func(*gpu.GPU) {},
		"0.0=no-vf 0.1":           func(g *gpu.GPU) { g.Slices = g.Slices[1:] },
		"0.0 0.1=no-device-nodes": func(g *gpu.GPU) { g.Slices[1].Nodes = nil },
		"0.0=divided 0.1=divided": func(g *gpu.GPU) { g.Mode = gpu.ModeSGPU },
	} {
		changed := edit(n, 0, func(g *gpu.GPU) { g.Slices = append([]gpu.Slice{}, g.Slices...); change(g) })
		got, _ := Devices(changed, after(n), Options{})
		if is := list(got); is != want {
			t.Errorf("got %s, want %s", is, want)
		}
		for _, d := range got {
			if d.NUMA != nil {
				t.Errorf("NUMA node %d of a host that states none", *d.NUMA)
			}
		}
	}
}
