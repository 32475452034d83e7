// SPDX-License-Identifier: Apache-2.0

package sysfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// sliced is host with the first GPU in slice mode: sGPU 0, and sGPU 10, which has its
// own character device.
func sliced() sim.Tree {
	return join(host(), sim.Tree{
		first + "/model":                  sim.File{Data: "sgpu\n"},
		first + "/sgpu/sched_class":       sim.File{Data: "1\n"},
		first + "/sgpu/create":            sim.File{},
		first + "/sgpu/sgpu0/unique_id":   sim.File{Data: "S-0\n"},
		first + "/sgpu/sgpu0/alias":       sim.File{Data: "nightly build\n"},
		first + "/sgpu/sgpu10/unique_id":  sim.File{Data: "S-10\n"},
		first + "/sgpu/sgpu10/dev":        sim.File{Data: "510:3\n"},
		second + "/model":                 sim.File{Data: "native\n"},
		"proc/devices":                    sim.File{Data: "Character devices:\n226 drm\n510 mxsgpu\n\nBlock devices:\n  7 sgpu\n"},
		"sys/devices/virtual/s/s3/uevent": sim.File{Data: "MAJOR=510\nMINOR=3\nDEVNAME=mx/s3\n"},
		"sys/dev/char/510:3":              sim.Link("../../devices/virtual/s/s3"),
		"dev/mx/s3":                       sim.Device{Major: 510, Minor: 3, Perm: 0o660, GID: 9},
	})
}

func TestReadSlices(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(sim.Tree)
		// want changes the first GPU as it is without a change; nil changes nothing.
		want     func(*gpu.GPU)
		warnings []string
	}{
		{"as it is", func(sim.Tree) {}, nil, nil},
		{"upper case", func(tree sim.Tree) { tree[first+"/model"] = sim.File{Data: "SGPU\n"} }, nil, nil},
		{"no mode, but slices", func(tree sim.Tree) { delete(tree, first+"/model") }, nil, nil},
		{"native, but slices", func(tree sim.Tree) { tree[first+"/model"] = sim.File{Data: "native\n"} }, nil, nil},
		{
			"another mode", func(tree sim.Tree) { tree[first+"/model"] = sim.File{Data: "cut\n"} }, nil,
			[]string{`mode of GPU 0000:0e:00.0: /sys/bus/pci/devices/0000:0e:00.0/model is "cut"; want native or sgpu`},
		},
		{
			"mode is garbage", func(tree sim.Tree) { tree[first+"/model"] = sim.File{Data: "\x00\x1b[2J" + strings.Repeat("x", 1000)} }, nil,
			[]string{`/model is "\x00\x1b[2Jxxx`},
		},
		{
			"mode is a directory", func(tree sim.Tree) { tree[first+"/model"] = sim.Dir{} }, nil,
			[]string{"/model: not a regular file"},
		},
		{
			"slice mode, no slices", func(tree sim.Tree) {
				for p := range tree {
					if strings.HasPrefix(p, first+"/sgpu/") {
						delete(tree, p)
					}
				}
			}, func(g *gpu.GPU) { g.Slices = nil }, nil,
		},
		{
			"another mode, and nothing of slices", func(tree sim.Tree) {
				for p := range tree {
					if strings.HasPrefix(p, first+"/sgpu/") {
						delete(tree, p)
					}
				}
				tree[first+"/model"] = sim.File{Data: "MXC500\n"}
			}, func(g *gpu.GPU) { g.Mode, g.Slices = "", nil },
			[]string{`is "MXC500"`},
		},
		{
			"another mode, and room for slices", func(tree sim.Tree) {
				for p := range tree {
					if strings.HasPrefix(p, first+"/sgpu/sgpu") {
						delete(tree, p)
					}
				}
				tree[first+"/model"] = sim.File{Data: "cut\n"}
			}, func(g *gpu.GPU) { g.Slices = nil },
			[]string{`is "cut"`},
		},
		{
			"garbage, and room for slices", func(tree sim.Tree) {
				for p := range tree {
					if strings.HasPrefix(p, first+"/sgpu/sgpu") {
						delete(tree, p)
					}
				}
				tree[first+"/model"] = sim.File{Data: "\x00\n"}
			}, func(g *gpu.GPU) { g.Mode, g.Slices = "", nil },
			[]string{`is "\x00"`},
		},
		{
			"sgpu is a file", func(tree sim.Tree) {
				for p := range tree {
					if strings.HasPrefix(p, first+"/sgpu/") {
						delete(tree, p)
					}
				}
				tree[first+"/sgpu"] = sim.File{}
			}, func(g *gpu.GPU) { g.Slices = nil },
			[]string{"slices of GPU 0000:0e:00.0 are not known"},
		},
		{
			"class is garbage", func(tree sim.Tree) { tree[first+"/sgpu/sched_class"] = sim.File{Data: "3\n"} },
			func(g *gpu.GPU) { g.Slices[0].QoS, g.Slices[1].QoS = "", "" },
			[]string{`QoS class of GPU 0000:0e:00.0 is not known: /sys/bus/pci/devices/0000:0e:00.0/sgpu/sched_class is "3"`},
		},
		{
			"no class", func(tree sim.Tree) { delete(tree, first+"/sgpu/sched_class") },
			func(g *gpu.GPU) { g.Slices[0].QoS, g.Slices[1].QoS = "", "" }, nil,
		},
		{
			"as the vendor's library reads it", func(tree sim.Tree) {
				tree[first+"/sgpu/sgpu0/node_id"] = sim.File{Data: "12\n"}
				tree["sys/class/mxcd/mxcd/layout/nodes/12/unique_id"] = sim.File{Data: "abc-0\n"}
				tree[first+"/sgpu/sgpu0/vram_quota"], tree[first+"/sgpu/sgpu0/sched_quota"] = sim.File{Data: "4096\n"}, sim.File{Data: "25\n"}
			},
			func(g *gpu.GPU) {
				g.Slices[0].UUID, g.Slices[0].MemoryMiB, g.Slices[0].ComputePercent = "GPU-abc-0", 4096, 25
			}, nil,
		},
		{
			"two classes of the driver, strange sizes", func(tree sim.Tree) {
				tree[first+"/sgpu/sgpu0/node_id"] = sim.File{Data: "12\n"}
				tree["sys/class/mxcd/mxcd/layout/nodes/12/unique_id"] = sim.File{Data: "abc-0\n"}
				tree["sys/class/metax/mxcd/layout/nodes/12/unique_id"] = sim.File{Data: "abc-1\n"}
				tree[first+"/sgpu/sgpu0/vram_quota"], tree[first+"/sgpu/sgpu0/sched_quota"] = sim.File{Data: "-1\n"}, sim.File{Data: "101\n"}
			},
			func(g *gpu.GPU) { g.Slices[0].UUID = "GPU-abc-1" }, nil,
		},
		{
			"no such node of the driver", func(tree sim.Tree) { tree[first+"/sgpu/sgpu0/node_id"] = sim.File{Data: "../12\n"} }, nil, nil,
		},
		{
			"UUID is garbage", func(tree sim.Tree) { tree[first+"/sgpu/sgpu0/unique_id"] = sim.File{Data: "a,b\n"} },
			func(g *gpu.GPU) { g.Slices[0].UUID = "" },
			[]string{`UUID of slice 0 of GPU 0000:0e:00.0 is not known: unique_id is "a,b"`},
		},
		{
			"no UUID, no alias", func(tree sim.Tree) {
				delete(tree, first+"/sgpu/sgpu0/unique_id")
				tree[first+"/sgpu/sgpu0/alias"] = sim.File{}
			},
			func(g *gpu.GPU) { g.Slices[0].UUID, g.Slices[0].Alias = "", "" }, nil,
		},
		{
			"UUID twice", func(tree sim.Tree) { tree[first+"/sgpu/sgpu10/unique_id"] = sim.File{Data: "s-0\n"} },
			func(g *gpu.GPU) { g.Slices[0].UUID, g.Slices[1].UUID = "", "" },
			[]string{"UUID of slice 0000:0e:00.0/sgpu0: 2 slices", "UUID of slice 0000:0e:00.0/sgpu10: 2 slices"},
		},
		{
			"alias is garbage", func(tree sim.Tree) { tree[first+"/sgpu/sgpu0/alias"] = sim.File{Data: "a\x1b[2Jb\n"} },
			func(g *gpu.GPU) { g.Slices[0].Alias = "" },
			[]string{`ignored the alias of slice 0 of GPU 0000:0e:00.0: it is "a\x1b[2Jb"`},
		},
		{
			"alias is no text", func(tree sim.Tree) { tree[first+"/sgpu/sgpu0/alias"] = sim.File{Data: "\xff\n"} },
			func(g *gpu.GPU) { g.Slices[0].Alias = "" },
			[]string{`ignored the alias`},
		},
		{
			"alias is long", func(tree sim.Tree) { tree[first+"/sgpu/sgpu0/alias"] = sim.File{Data: strings.Repeat("x", 129)} },
			func(g *gpu.GPU) { g.Slices[0].Alias = "" },
			[]string{`ignored the alias`},
		},
		{
			"names that are no slices", func(tree sim.Tree) {
				for _, name := range []string{"sgpu", "sgpu01", "sgpu-1", "sgpux", "sgpu5000", "SGPU1"} {
					tree[first+"/sgpu/"+name+"/unique_id"] = sim.File{Data: "S-x\n"}
				}
			}, nil, nil,
		},
		{
			"links to another GPU's", func(tree sim.Tree) {
				tree[first+"/sgpu/sgpu1"] = sim.Link("sgpu0")
				tree[first+"/sgpu/sgpu2"] = sim.Link("../../../../../../../../dev")
				tree[first+"/sgpu/sgpu3"] = sim.Link("sgpu3")
			}, nil,
			[]string{
				"ignored slice 1 of GPU 0000:0e:00.0: /sys/bus/pci/devices/0000:0e:00.0/sgpu/sgpu1 leads to /" + first + "/sgpu/sgpu0",
				"ignored slice 2 of GPU 0000:0e:00.0: ", "ignored slice 3 of GPU 0000:0e:00.0: ",
			},
		},
		{
			"a slice that is a file", func(tree sim.Tree) { tree[first+"/sgpu/sgpu1"] = sim.File{} },
			func(g *gpu.GPU) {
				one := g.Slices[0]
				one.Index, one.UUID, one.Alias = 1, "", ""
				g.Slices = []gpu.Slice{g.Slices[0], one, g.Slices[1]}
			},
			[]string{"/sgpu/sgpu1: not a directory"},
		},
		{
			"a device of another driver", func(tree sim.Tree) { tree[first+"/sgpu/sgpu10/dev"] = sim.File{Data: "226:2\n"} },
			func(g *gpu.GPU) {
				g.Slices[1].Nodes, g.Slices[1].GIDs, g.Slices[1].NodeGIDs = g.Slices[0].Nodes, g.Slices[0].GIDs, nil
			},
			[]string{`ignored the device of slice 10 of GPU 0000:0e:00.0: dev is "226:2"; want the major number of sGPUs in /proc/devices`},
		},
		{
			"a device of a block driver", func(tree sim.Tree) { tree[first+"/sgpu/sgpu10/dev"] = sim.File{Data: "7:3\n"} },
			func(g *gpu.GPU) {
				g.Slices[1].Nodes, g.Slices[1].GIDs, g.Slices[1].NodeGIDs = g.Slices[0].Nodes, g.Slices[0].GIDs, nil
			},
			[]string{`dev is "7:3"`},
		},
		{
			"a device by way of ..", func(tree sim.Tree) {
				tree["sys/devices/virtual/s/s3/uevent"] = sim.File{Data: "DEVNAME=../etc/shadow\n"}
			},
			func(g *gpu.GPU) {
				g.Slices[1].Nodes, g.Slices[1].GIDs, g.Slices[1].NodeGIDs = g.Slices[0].Nodes, g.Slices[0].GIDs, nil
			},
			[]string{`is "../etc/shadow"; want a path below /dev`},
		},
		{
			"a device that sysfs does not name", func(tree sim.Tree) { delete(tree, "sys/dev/char/510:3") },
			func(g *gpu.GPU) {
				g.Slices[1].Nodes, g.Slices[1].GIDs, g.Slices[1].NodeGIDs = g.Slices[0].Nodes, g.Slices[0].GIDs, nil
			},
			[]string{"ignored the device of slice 10 of GPU 0000:0e:00.0: open /sys/dev/char/510:3/uevent"},
		},
		{
			"a device with another's numbers", func(tree sim.Tree) { tree["dev/mx/s3"] = sim.Device{Major: 1, Minor: 3, Perm: 0o666} },
			func(g *gpu.GPU) {
				g.Slices[1].Nodes, g.Slices[1].GIDs, g.Slices[1].NodeGIDs = g.Slices[0].Nodes, g.Slices[0].GIDs, nil
			},
			[]string{`/dev/mx/s3 has the device numbers 1:3, sysfs says "510:3"`},
		},
		{
			"a GPU without nodes", func(tree sim.Tree) { delete(tree, "dev/dri/card2") },
			func(g *gpu.GPU) {
				g.Nodes, g.GIDs, g.Healthy = nil, nil, false
				for k := range g.Slices {
					g.Slices[k].Nodes, g.Slices[k].GIDs, g.Slices[k].NodeGIDs = nil, nil, nil
				}
			},
			[]string{"GPU 0000:0e:00.0 cannot be used"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, err := read(t, host())
			if err != nil {
				t.Fatal(err)
			}
			want := base.GPUs
			want[0].Mode = gpu.ModeSGPU
			want[0].Slices = []gpu.Slice{
				{Kind: gpu.SliceSGPU, Index: 0, UUID: "S-0", Alias: "nightly build", QoS: gpu.QoSFixedShare, Nodes: []string{"/dev/dri/renderD129"}, GIDs: []uint32{video}},
				{Kind: gpu.SliceSGPU, Index: 10, UUID: "S-10", QoS: gpu.QoSFixedShare, Nodes: []string{"/dev/dri/renderD129", "/dev/mx/s3"}, GIDs: []uint32{9, video}, NodeGIDs: map[string]uint32{"/dev/dri/renderD129": video, "/dev/mx/s3": 9}},
			}
			if test.want != nil {
				test.want(&want[0])
			}
			tree := sliced()
			test.change(tree)
			got, err := read(t, tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.GPUs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]gpu.BDF{want[1].BDF}, got.Unsliced); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			gputest.WantWarnings(t, test.warnings, got.Warnings)
			n := gpu.NewNode("n")
			n.GPUs = got.GPUs
			if err := n.Check(); err != nil {
				t.Errorf("what was read is no node: %v", err)
			}
		})
	}
}

func TestReadManySlices(t *testing.T) {
	dir := t.TempDir()
	if err := sliced().Write(dir); err != nil {
		t.Fatal(err)
	}
	for k := range 2000 {
		testfile.Mkdir(t, fmt.Sprintf("%s/%s/sgpu/sgpu%d", dir, second, k), 0o755)
	}
	root := simtest.Root(t, dir)
	got, err := sysfs.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.GPUs[1].Slices); n != gpu.MaxSlices || got.GPUs[1].Slices[n-1].Index != n-1 {
		t.Errorf("%d slices, want the first %d", n, gpu.MaxSlices)
	}
	gputest.WantWarnings(t, []string{"GPU 0000:0f:00.0 has more than 16 slices; only the first are read"}, got.Warnings)
}

// TestReadVFSlices has virtual functions with and without device nodes, whose numbers
// are in another order than their addresses.
func TestReadVFSlices(t *testing.T) {
	const vf = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00."
	virtual := func(n string) sim.Tree {
		return join(function(vf+n, "0x9999", "0x4001", "0x038000"), sim.Tree{vf + n + "/physfn": sim.Link("../0000:0e:00.0")})
	}
	tree := join(host(), virtual("1"), virtual("2"), virtual("3"), virtual("4"),
		card(vf+"1", "8", "140", 8, 140), card(vf+"2", "9", "141", 9, 141), sim.Tree{
			first + "/virtfn0": sim.Link("../0000:0e:00.3"), first + "/virtfn1": sim.Link("../0000:0e:00.1"),
			first + "/virtfn2": sim.Link("../0000:0e:00.4"), first + "/virtfn9": sim.Link("../nowhere"),
			vf + "4/drm/card1/dev": sim.File{Data: "226:1\n"}, vf + "4/drm/renderD150/dev": sim.File{Data: "226:150\n"},
			"dev/dri/renderD150": sim.Device{Major: 226, Minor: 150, Perm: 0o666},
		})
	delete(tree, "dev/dri/card9")
	got, err := read(t, tree)
	if err != nil {
		t.Fatal(err)
	}
	at := func(f uint8) gpu.BDF { return gpu.BDF{Bus: 0x0e, Function: f} }
	want := []gpu.Slice{
		{Kind: gpu.SliceVF, Index: 0, BDF: at(3)},
		{Kind: gpu.SliceVF, Index: 1, BDF: at(1), Nodes: []string{"/dev/dri/card8", "/dev/dri/renderD140"}, GIDs: []uint32{video}},
		{Kind: gpu.SliceVF, Index: 2, BDF: at(4)}, // its card is the second GPU's
		{Kind: gpu.SliceVF, Index: 3, BDF: at(2)},
	}
	if diff := cmp.Diff(want, got.GPUs[0].Slices); diff != "" {
		t.Error(diff)
	}
	if _, divided := got.GPUs[0].Divided(); !divided || got.GPUs[1].Healthy {
		t.Errorf("GPU 0 is divided: %v; GPU 1, whose card a virtual function claims, is healthy: %v", divided, got.GPUs[1].Healthy)
	}
	gputest.WantWarnings(t, []string{
		"follow /sys/bus/pci/devices/0000:0e:00.0/virtfn9", "ignored /sys/bus/pci/devices/0000:0e:00.0/virtfn9",
		"virtual function 0000:0e:00.2 cannot be used: open /dev/dri/card9",
		"GPUs 0000:0e:00.4 and 0000:0f:00.0 cannot be used: both have the device node /dev/dri/card1",
	}, got.Warnings)
}

// TestReadVFOfItsGPU has a virtual function that claims the device nodes of its own
// GPU.
func TestReadVFOfItsGPU(t *testing.T) {
	const vf = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.1"
	got, err := read(t, join(host(), function(vf, "0x9999", "0x4001", "0x038000"), sim.Tree{
		vf + "/physfn":              sim.Link("../0000:0e:00.0"),
		vf + "/drm/card2/dev":       sim.File{Data: "226:2\n"},
		vf + "/drm/renderD129/dev":  sim.File{Data: "226:129\n"},
		vf + "/drm/version":         sim.File{Data: "1\n"},
		vf + "/sgpu/sgpu0/alias":    sim.File{Data: "none of its own\n"},
		first + "/sgpu/sgpu0/alias": sim.File{Data: "one\n"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Slice{
		{Kind: gpu.SliceSGPU, Alias: "one"},
		{Kind: gpu.SliceVF, BDF: gpu.BDF{Bus: 0x0e, Function: 1}},
	}
	if diff := cmp.Diff(want, got.GPUs[0].Slices); diff != "" || got.GPUs[0].Nodes != nil || got.GPUs[0].Healthy {
		t.Errorf("GPU with nodes %v, slices (-want +got):\n%s", got.GPUs[0].Nodes, diff)
	}
	gputest.WantWarnings(t, []string{
		"GPUs 0000:0e:00.0 and 0000:0e:00.1 cannot be used: both have the device node /dev/dri/card2",
		"GPUs 0000:0e:00.0 and 0000:0e:00.1 cannot be used: both have the device node /dev/dri/renderD129",
	}, got.Warnings)
}
