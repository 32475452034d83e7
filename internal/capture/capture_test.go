// SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/capture"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func write(t *testing.T, tree hosttree.Tree) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "host")
	if err := tree.WriteInert(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func take(t *testing.T, dir string) (hosttree.Tree, []string) {
	t.Helper()
	root := simtest.Root(t, dir)
	return capture.Take(capture.Config{Root: root, Scrub: scrub.New()})
}

func text(data string) hosttree.Entry { return hosttree.File{Data: data} }

// Of a host, what is on the list is taken, and nothing beside it.
func TestTake(t *testing.T) {
	const bus, gpu = "sys/bus/pci/devices/", "sys/devices/pci0000:0a/0000:0b:00.0/0000:0e:00.0"
	const layout = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"
	got, notes := take(t, write(t, hosttree.Tree{
		bus + "0000:0e:00.0":                         hosttree.Link("../../../devices/pci0000:0a/0000:0b:00.0/0000:0e:00.0"),
		bus + "0000:0b:00.0":                         hosttree.Link("../../../devices/pci0000:0a/0000:0b:00.0"),
		bus + "0000:0f:00.0":                         hosttree.Link("../../../devices/pci0000:0a/0000:0f:00.0"),
		gpu + "/vendor":                              text("0x9999\n"),
		gpu + "/numa_node":                           text("0\n"),
		gpu + "/config":                              text("binary"),
		gpu + "/vpd":                                 text("SN4711"),
		gpu + "/sgpu/sgpu0/alias":                    text("a\n"),
		gpu + "/sgpu/sgpu0/unique_id":                text("GPU-x\n"),
		gpu + "/sgpu/sgpu0/annotations":              text("x\n"),
		gpu + "/sgpu/sgpu0/node_id":                  text("12\n"),
		gpu + "/sgpu/sgpu0/vram_quota":               text("4096\n"),
		"sys/class/mxcd/mxcd":                        hosttree.Link("../../devices/virtual/mxcd/mxcd"),
		layout + "12/unique_id":                      text("x\n"),
		layout + "13/unique_id":                      text("y\n"),
		gpu + "/driver":                              hosttree.Link("../../../../bus/pci/drivers/metax"),
		"sys/bus/pci/drivers/metax/bind":             text(""),
		gpu + "/drm/card1/dev":                       text("226:1\n"),
		gpu + "/drm/card1/edid":                      text("x"),
		gpu + "/drm/version":                         text("x"),
		"dev/dri/card1":                              hosttree.Device{Major: 226, Minor: 1, Perm: 0o660, GID: 44},
		"dev/dri/by-path/pci-0000:0e:00.0":           hosttree.Link("../card1"),
		"dev/char/226:1":                             hosttree.Link("../dri/card1"),
		"dev/sda":                                    text("x"),
		"dev/mxcd":                                   text(""),
		"etc/docker/key.json":                        text(`{"d": "private"}`),
		"etc/docker/daemon.json":                     text("{}"),
		"etc/cdi/b.json":                             hosttree.Link("/home/joe/b.json"),
		"home/joe/b.json":                            text("{}"),
		"var/run":                                    hosttree.Link("/run"),
		"run/cdi/a.json":                             text("{}\n"),
		"etc/os-release":                             hosttree.Link("../usr/lib/os-release"),
		"usr/lib/os-release":                         text("ID=debian\nBUG_REPORT_URL=\"https://x.example/\"\nVERSION_ID=\"13\""),
		"run/cdi/a.json.swp":                         text("x"),
		"opt/maca":                                   hosttree.Link("/data/maca"),
		"data/maca/Version.txt":                      text("Version:3.3.0.15\nmore\n"),
		"data/maca/lib/libx.so":                      text("x"),
		"data/maca/lib/x.h":                          text("x"),
		"data/maca/bin/tool":                         hosttree.File{Data: "#!/bin/sh\n", Perm: 0o755},
		"data/private":                               text("x"),
		"lib/modules/6.1.0/modules.dep":              text("kernel/x.ko:\nupdates/metax.ko.zst: kernel/x.ko\n"),
		"proc/sys/kernel/osrelease":                  text("6.1.0\n"),
		"sys/devices/pci0000:0a/0000:0b:00.0/vendor": text("0x8086\n"),
		"sys/devices/pci0000:0a/0000:0f:00.0/vendor": text("0x15b3\n"),
		"sys/devices/pci0000:0a/0000:0b:00.0/config": text("binary"),
	}))
	want := hosttree.Tree{
		"sys/bus/pci/devices": hosttree.Dir{}, "sys/bus/pci/drivers/metax": hosttree.Dir{},
		bus + "0000:0e:00.0": hosttree.Link("../../../devices/pci0000:0a/0000:0b:00.0/0000:0e:00.0"),
		bus + "0000:0b:00.0": hosttree.Link("../../../devices/pci0000:0a/0000:0b:00.0"),
		gpu:                  hosttree.Dir{}, gpu + "/vendor": text("0x9999\n"), gpu + "/numa_node": text("0\n"),
		gpu + "/driver": hosttree.Link("../../../../bus/pci/drivers/metax"), gpu + "/drm": hosttree.Dir{}, gpu + "/drm/card1": hosttree.Dir{},
		gpu + "/sgpu": hosttree.Dir{}, gpu + "/sgpu/sgpu0": hosttree.Dir{},
		gpu + "/sgpu/sgpu0/alias": text("alias-1\n"), gpu + "/sgpu/sgpu0/unique_id": text("GPU-00000000-0000-0000-0000-000000000001\n"),
		gpu + "/sgpu/sgpu0/node_id": text("12\n"), gpu + "/sgpu/sgpu0/vram_quota": text("4096\n"),
		"sys/class/mxcd/mxcd": hosttree.Link("../../devices/virtual/mxcd/mxcd"), strings.TrimSuffix(layout, "/"): hosttree.Dir{},
		layout + "12/unique_id": text("00000000-0000-0000-0000-000000000001\n"), layout + "13/unique_id": text("00000000-0000-0000-0000-000000000002\n"),
		gpu + "/drm/card1/dev":             text("226:1\n"),
		"dev/dri/card1":                    hosttree.Device{Major: 226, Minor: 1, Perm: 0o660, GID: 44},
		"dev/dri/by-path/pci-0000:0e:00.0": hosttree.Link("../card1"), "dev/char": hosttree.Dir{}, "dev/char/226:1": hosttree.Link("../dri/card1"),
		"dev/mxcd": text(""), "etc/docker": hosttree.Dir{}, "etc/docker/daemon.json": text("{}\n"), "etc/cdi": hosttree.Dir{},
		"etc/os-release": hosttree.Link("../usr/lib/os-release"), "usr/lib/os-release": text("ID=debian\nVERSION_ID=\"13\"\n"),
		"etc/cdi/b.json": hosttree.Link("/home/user-1/b.json"), "var/run": hosttree.Link("/run"), "run/cdi": hosttree.Dir{}, "run/cdi/a.json": text("{}\n"),
		"opt": hosttree.Dir{}, "opt/maca": hosttree.Link("/data/maca"), "data/maca": hosttree.Dir{}, "data/maca/Version.txt": text("Version:3.3.0.15\n"),
		"data/maca/lib": hosttree.Dir{}, "data/maca/lib/libx.so": text("no library\n"), "data/maca/bin": hosttree.Dir{}, "data/maca/bin/tool": hosttree.File{Perm: 0o755},
		"lib/modules/6.1.0/modules.dep": text("updates/metax.ko.zst:\n"), "proc/sys/kernel/osrelease": text("6.1.0\n"),
		"sys/devices/pci0000:0a/0000:0b:00.0/vendor": text("0x8086\n"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	wantNotes := []string{
		"left out: 1 PCI functions of other vendors, with those bridges that lead to no GPU",
		"left out: 1 files with other endings than configurations have", "left out: 1 other files in directories of libraries",
		"left out: /etc/cdi/b.json: it leads to another place",
	}
	if diff := cmp.Diff(wantNotes, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// What cannot be read is named, and the rest is there.
func TestUnreadable(t *testing.T) {
	needs.Root(t, "to be somebody else for a while")
	dir := write(t, hosttree.Tree{
		"etc/docker/daemon.json":         hosttree.File{Data: "{}\n", Perm: 0o600},
		"etc/containerd/config.toml":     text("version = 3\n"),
		"run/metax-container-toolkit/x":  text(""),
		"etc/crio/crio.conf.d/10.conf":   text("x"),
		"etc/crio/crio.conf.d":           hosttree.Dir{Perm: 0o700},
		"etc/metax-container-toolkit":    hosttree.Dir{Perm: 0o711},
		"opt/maca-3.3.0.15/Version.txt":  hosttree.File{Data: "Version:3.3.0.15\n", Perm: 0o600},
		"etc/containers/containers.conf": hosttree.Link("containers.conf"),
	})
	for p := dir; p != "/"; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			if err := os.Chmod(p, info.Mode().Perm()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	got, notes := take(t, dir)
	if err := unix.Setfsuid(0); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"not readable: /etc/containers/containers.conf: too many links",
		"not readable: /etc/crio/crio.conf.d: permission denied",
		"not readable: /etc/docker/daemon.json: permission denied",
		"not readable: /opt/maca-3.3.0.15/Version.txt: permission denied",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got["etc/containerd/config.toml"] != text("version = 3\n") || got["etc/docker/daemon.json"] != nil {
		t.Errorf("got %v", got)
	}
}

// Files that are too large, and names that a text cannot hold, are left out.
func TestLeftOut(t *testing.T) {
	dir := write(t, hosttree.Tree{"etc/docker/daemon.json": text(strings.Repeat(" ", 1<<20)), "etc/cdi/x.json": text("{}"), "dev/dri/card1": text("")})
	for _, name := range []string{"etc/cdi/a b.json", "etc/cdi/\xff.json", "dev/mxcd"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "etc/cdi/a b.json")); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "etc/cdi/a b.json"), "{}", 0o600)
	got, notes := take(t, dir)
	if got["dev/mxcd"] != text("") || got["etc/cdi/x.json"] != text("{}\n") || len(got) != 5 {
		t.Errorf("got %v", got)
	}
	for _, want := range []string{"not readable: /etc/docker/daemon.json: it is larger than files of its kind", "left out: 1 files with names or modes that a snapshot cannot have"} {
		if !slices.Contains(notes, want) {
			t.Errorf("%q is not among %q", want, notes)
		}
	}
}

// TestNICs keeps the names and places of cards, and leaves out names that may say whose
// network it is or hold a hardware address.
func TestNICs(t *testing.T) {
	tree := hosttree.Tree{}
	add := func(class, name, function string) {
		dir := "sys/devices/pci0000:0a/" + function
		tree[dir+"/"+class+"/"+name+"/device"] = hosttree.Link("../..")
		tree[dir+"/"+class+"/"+name+"/address"] = text("b8:ce:f6:00:00:01")
		tree["sys/class/"+class+"/"+name] = hosttree.Link("../../../" + dir + "/" + class + "/" + name)
		tree[dir+"/numa_node"] = text("1\n")
	}
	add("infiniband", "mlx5_0", "0000:11:00.0")
	add("net", "ens1f0np0", "0000:11:00.0")
	add("net", "acme-uplink", "0000:12:00.0")
	add("net", "enxb8cef6000001", "0000:13:00.0")
	add("net", "eth7", "0000:14:00.0/virtio0")
	got, notes := take(t, write(t, tree))
	var kept []string
	for p := range got {
		if strings.HasPrefix(p, "sys/") {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	const card = "sys/devices/pci0000:0a/0000:11:00.0"
	want := []string{"sys/class/infiniband/mlx5_0", "sys/class/net/ens1f0np0", card, card + "/infiniband/mlx5_0/device", card + "/net/ens1f0np0/device", card + "/numa_node"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if note := "left out: 2 network cards whose names are not the kernel's or systemd's"; !slices.Contains(notes, note) {
		t.Errorf("no %q in %q", note, notes)
	}
}

// TestLayout: the driver's own files are taken, with the same stand-ins for UUIDs as
// elsewhere.
func TestLayout(t *testing.T) {
	const nodes = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"
	const class = "sys/class/mxcd/mxcd"
	got, notes := take(t, write(t, hosttree.Tree{
		class:                                 hosttree.Link("../../devices/virtual/mxcd/mxcd"),
		nodes + "0/type":                      text("cpu\n"),
		nodes + "2/location":                  text("0000:0e:00.0\n"),
		nodes + "2/unique_id":                 text("e702f06b-bbd6-bc06-5196-90a5554a24ba\n"),
		nodes + "2/active":                    text("0\n"),
		nodes + "2/inactive_reason":           text("7\nGPU-e702f06b-bbd6-bc06-5196-90a5554a24ba failed\n"),
		nodes + "2/gid":                       text("10000\n"),
		nodes + "2/direct_links/0/properties": text("type 4\nto 3\n"),
		nodes + "2/direct_links/0/more":       text("x\n"),
	}))
	delete(got, "sys")
	want := hosttree.Tree{
		class: hosttree.Link("../../devices/virtual/mxcd/mxcd"), strings.TrimSuffix(nodes, "/"): hosttree.Dir{},
		nodes + "0/type": text("cpu\n"), nodes + "2/location": text("0000:0e:00.0\n"), nodes + "2/active": text("0\n"),
		nodes + "2/unique_id":                 text("00000000-0000-0000-0000-000000000001\n"),
		nodes + "2/inactive_reason":           text("7\nGPU-00000000-0000-0000-0000-000000000001 failed\n"),
		nodes + "2/direct_links/0/properties": text("type 4\nto 3\n"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
}
