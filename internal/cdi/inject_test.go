// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// inject does what an engine does: it resolves the device in the directory and applies its
// edits to a container.
func inject(t *testing.T, dir string, container *oci.Spec, devices ...string) {
	t.Helper()
	cache, err := libcdi.NewCache(libcdi.WithAutoRefresh(false), libcdi.WithSpecDirs(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Refresh(); err != nil {
		t.Fatal(err)
	}
	if missing, err := cache.InjectDevices(container, devices...); err != nil {
		t.Fatalf("%v; unresolved %q", err, missing)
	}
}

func written(t *testing.T, n gpu.Node, opt Options, f Format) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := Write(filepath.Join(dir, "gpu."+string(f)), generated(t, n, opt), f); err != nil {
		t.Fatal(err)
	}
	return dir
}

func allow(major, minor int64) oci.LinuxDeviceCgroup {
	return oci.LinuxDeviceCgroup{Allow: true, Type: "c", Major: &major, Minor: &minor, Access: "rw"}
}

var unspecified = cmpopts.IgnoreFields(oci.LinuxDevice{}, "FileMode")

// Nodes that every host has take the part of a GPU's.
func TestInject(t *testing.T) {
	n := gpu.NewNode("")
	n.Driver = &gpu.Driver{Path: "/opt/mxdriver"}
	n.Shared = &gpu.Shared{Nodes: []string{"/dev/random"}, GIDs: []uint32{44}}
	n.GPUs = []gpu.GPU{
		{Index: 0, BDF: gpu.BDF{Bus: 1}, Nodes: []string{"/dev/null", "/dev/zero"}, GIDs: []uint32{44, 105}, NodeGIDs: map[string]uint32{"/dev/null": 44, "/dev/zero": 105}},
		{Index: 1, BDF: gpu.BDF{Bus: 2}, Nodes: []string{"/dev/full"}},
	}
	video, render := uint32(44), uint32(105)
	random := oci.LinuxDevice{Path: "/dev/random", Type: "c", Major: 1, Minor: 8, GID: &video}
	null := oci.LinuxDevice{Path: "/dev/null", Type: "c", Major: 1, Minor: 3, GID: &video}
	zero := oci.LinuxDevice{Path: "/dev/zero", Type: "c", Major: 1, Minor: 5, GID: &render}
	full := oci.LinuxDevice{Path: "/dev/full", Type: "c", Major: 1, Minor: 7}
	container := func(nodes []oci.LinuxDevice, rules []oci.LinuxDeviceCgroup, gids ...uint32) *oci.Spec {
		return &oci.Spec{
			Process: &oci.Process{User: oci.User{AdditionalGids: gids}},
			Linux:   &oci.Linux{Devices: nodes, Resources: &oci.LinuxResources{Devices: rules}},
			Mounts: []oci.Mount{{
				Source: "/opt/mxdriver", Destination: "/opt/mxdriver",
				Options: []string{"bind", "ro", "nosuid", "nodev", "rprivate"},
			}},
		}
	}
	one := container([]oci.LinuxDevice{random, null, zero}, []oci.LinuxDeviceCgroup{allow(1, 8), allow(1, 3), allow(1, 5)}, 44, 105)
	two := container([]oci.LinuxDevice{random, full}, []oci.LinuxDeviceCgroup{allow(1, 8), allow(1, 7)}, 44)
	all := container([]oci.LinuxDevice{random, full, null, zero}, []oci.LinuxDeviceCgroup{allow(1, 8), allow(1, 7), allow(1, 3), allow(1, 5)}, 44, 105)
	all.Process.Env = []string{"METAX_GPU_INDICES=0,1"} // the only device that can tell
	both := container([]oci.LinuxDevice{random, full, null, zero}, []oci.LinuxDeviceCgroup{allow(1, 8), allow(1, 7), allow(1, 3), allow(1, 5)}, 44, 105)
	for _, f := range []Format{JSON, YAML} {
		dir := written(t, n, Options{}, f)
		for _, tc := range []struct {
			devices []string
			want    *oci.Spec
		}{
			{[]string{"0"}, one},
			{[]string{"0000:01:00.0"}, one},
			{[]string{"1"}, two},
			{[]string{"0000:02:00.0"}, two},
			{[]string{"all"}, all},
			{[]string{"1", "0000:01:00.0"}, both},
		} {
			var got oci.Spec
			names := make([]string, len(tc.devices))
			for i, d := range tc.devices {
				names[i] = Qualified("metax-tech.com/gpu", d)
			}
			inject(t, dir, &got, names...)
			if diff := cmp.Diff(tc.want, &got, unspecified); diff != "" {
				t.Errorf("%s, device %s (-want +got):\n%s", f, tc.devices, diff)
			}
		}
	}
}

// A simulated tree stands somewhere else on the host, and where it belongs in the container.
func TestInjectBelowRoot(t *testing.T) {
	needs.Root(t, "to make device nodes")
	root := t.TempDir()
	dir := written(t, twoGPUs(), Options{EngineRoot: root}, JSON)
	for path, number := range map[string]uint64{
		"dev/dri/card1": unix.Mkdev(226, 1), "dev/dri/renderD128": unix.Mkdev(226, 128),
		"dev/mxcd": unix.Mkdev(511, 0), "dev/mxgd": unix.Mkdev(511, 1),
	} {
		p := filepath.Join(root, path)
		testfile.Mkdir(t, filepath.Dir(p), 0o755)
		if err := unix.Mknod(p, unix.S_IFCHR|0o660, int(number)); err != nil {
			t.Fatal(err)
		}
	}
	got := oci.Spec{Process: &oci.Process{User: oci.User{UID: 1000, GID: 1000}}}
	inject(t, dir, &got, "metax-tech.com/gpu=0000:0e:00.0")

	id := uint32(1000) // the library gives the nodes to the user of the container
	node := func(path string, major, minor int64, gid uint32) oci.LinuxDevice {
		return oci.LinuxDevice{Path: path, Type: "c", Major: major, Minor: minor, UID: &id, GID: &gid}
	}
	want := oci.Spec{
		Process: &oci.Process{User: oci.User{UID: 1000, GID: 1000, AdditionalGids: []uint32{44, 105}}},
		Mounts: []oci.Mount{{
			Source: filepath.Join(root, "opt/mxdriver"), Destination: "/opt/mxdriver",
			Options: []string{"bind", "ro", "nosuid", "nodev", "rprivate"},
		}},
		Linux: &oci.Linux{
			Devices: []oci.LinuxDevice{
				node("/dev/mxcd", 511, 0, 44), node("/dev/mxgd", 511, 1, 44),
				node("/dev/dri/card1", 226, 1, 44), node("/dev/dri/renderD128", 226, 128, 105),
			},
			Resources: &oci.LinuxResources{Devices: []oci.LinuxDeviceCgroup{
				allow(511, 0), allow(511, 1), allow(226, 1), allow(226, 128),
			}},
		},
	}
	if diff := cmp.Diff(want, got, unspecified); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The second GPU's nodes and the driver are missing, and check says so.
	host := simtest.Root(t, "/")
	spec, err := Load(host, filepath.Join(dir, "gpu.json"))
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, p := range Check(spec, host, "") {
		subjects = append(subjects, p.Code+" "+p.Subject)
	}
	wantSubjects := []string{
		"mount " + root + "/opt/mxdriver", "node " + root + "/dev/dri/card10", "node " + root + "/dev/dri/renderD137",
	}
	if diff := cmp.Diff(wantSubjects, subjects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
