// SPDX-License-Identifier: Apache-2.0

package sysfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

func TestReadVF(t *testing.T) {
	const vf = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00."
	virtual := func(n, physfn string) sim.Tree {
		return join(function(vf+n, "0x9999", "0x4001", "0x038000"), sim.Tree{vf + n + "/physfn": sim.Link(physfn)})
	}
	tree := join(host(), virtual("1", "../0000:0e:00.0"), virtual("2", "../0000:0e:00.0"),
		virtual("3", "../0000:0e:00.7"), virtual("4", "../../../0000:0c:00.0"))
	got, err := read(t, tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.GPUs) != 2 {
		t.Fatalf("found %d GPUs, want 2", len(got.GPUs))
	}
	want := []gpu.BDF{{Bus: 0x0e, Function: 1}, {Bus: 0x0e, Function: 2}}
	if diff := cmp.Diff(want, got.GPUs[0].VFs); diff != "" {
		t.Error(diff)
	}
	gputest.WantWarnings(t, []string{
		"follow /sys/bus/pci/devices/0000:0e:00.3/physfn",
		"ignored virtual function /sys/bus/pci/devices/0000:0e:00.3: physfn leads nowhere",
		"ignored virtual function /sys/bus/pci/devices/0000:0e:00.4: its physical function 0000:0c:00.0 is not a GPU here",
	}, got.Warnings)
}

func TestReadShared(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(sim.Tree)
		want     *gpu.Shared
		warnings []string
	}{
		{
			"all three", func(tree sim.Tree) {
				tree["dev/mxnd"] = sim.Device{Major: 511, Minor: 1, Perm: 0o666}
				tree["dev/mxgd"] = sim.Device{Major: 511, Minor: 2, Perm: 0o660, GID: 3}
			},
			&gpu.Shared{Nodes: []string{"/dev/mxcd", "/dev/mxnd", "/dev/mxgd"}, GIDs: []uint32{3, 7}, NodeGIDs: map[string]uint32{"/dev/mxcd": 7, "/dev/mxgd": 3}}, nil,
		},
		{
			"none", func(tree sim.Tree) { delete(tree, "dev/mxcd") }, nil,
			[]string{"the shared control device is missing: open /dev/mxcd: no such file"},
		},
		{
			"no device", func(tree sim.Tree) { tree["dev/mxnd"] = sim.Dir{} },
			&gpu.Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{7}},
			[]string{"ignored /dev/mxnd: stat /dev/mxnd: not a character device"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := host()
			test.change(tree)
			got, err := read(t, tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Shared); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, got.Warnings)
		})
	}
}

func TestReadModule(t *testing.T) {
	for _, test := range []struct {
		name     string
		version  sim.Entry
		loaded   bool
		want     string
		warnings []string
	}{
		{"loaded", sim.File{Data: "3.10.14\n"}, true, "3.10.14", nil},
		{"no version", sim.Dir{}, true, "", []string{"driver version is not known: read "}},
		{"garbage", sim.File{Data: "3.4\x1b[2J\n"}, true, "", []string{`/sys/module/metax/version is "3.4\x1b[2J"`}},
		{"not loaded", nil, false, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := host()
			if delete(tree, "sys/module/metax/version"); test.version != nil {
				tree["sys/module/metax/version"] = test.version
			}
			got, err := read(t, tree)
			if err != nil {
				t.Fatal(err)
			}
			if got.Module.Loaded != test.loaded || got.Module.Version != test.want {
				t.Errorf("loaded %v, version %q; want %v, %q", got.Module.Loaded, got.Module.Version, test.loaded, test.want)
			}
			gputest.WantWarnings(t, test.warnings, got.Module.Warnings)
		})
	}
}

func TestReadNothing(t *testing.T) {
	if _, err := read(t, sim.Tree{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a PCI bus: %v, want ErrNotExist", err)
	}
	got, err := read(t, sim.Tree{"sys/bus/pci/devices": sim.Dir{}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sysfs.Report{GPUs: []gpu.GPU{}}, got); diff != "" {
		t.Error(diff)
	}
}
