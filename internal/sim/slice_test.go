// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// act runs the mx-smi of a tree.
func act(t *testing.T, root, command string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "opt/mxdriver/bin/mx-smi"), strings.Fields(command)...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func found(t *testing.T, dir string) gpu.Node {
	t.Helper()
	root := simtest.Root(t, dir)
	n, err := discover.Host{Surroundings: true, Root: root, Run: run}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMXSMISlices creates and removes slices with mx-smi, and checks the results with
// discovery.
func TestMXSMISlices(t *testing.T) {
	want := simtest.Node(t, "c500-8-sgpu")
	root := filepath.Join(t.TempDir(), "host")
	if err := sim.WithSMI(hostTree(t, want), want, standin.SMI(t)).Write(root); err != nil {
		t.Fatal(err)
	}
	list, _ := act(t, root, "-L")
	var lines []string
	for line := range strings.Lines(list) {
		if strings.Contains(line, "SGPU#") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	parts := want.GPUs[2].Slices
	if diff := cmp.Diff([]string{"SGPU#0 (UUID: " + parts[0].UUID + ")", "SGPU#1 (UUID: " + parts[1].UUID + ")"}, lines); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	for _, step := range []struct {
		command string
		code    int
		says    string
	}{
		{"sgpu -i 0 --create", 1, "not in slice mode"},
		{"sgpu -i 9 --enable", 1, "no GPU 9"},
		{"sgpu -i 5 --enable", 1, "has virtual functions"},
		{"sgpu --enable -i 0", 0, ""},
		{"sgpu --enable -i " + want.GPUs[0].BDF.String(), 0, ""},
		{"sgpu --set-sched-class 1 -i 0", 0, ""},
		{"sgpu --set-sched-class 3 -i 0", 1, "no scheduling class 3"},
		{"sgpu -i 0 --create --vram 4G --compute 60 --alias one", 0, "SGPU#0 created"},
		{"sgpu -i 0 --create --vram 4G --compute 41", 1, "no 41 percent"},
		{"sgpu -i 0 --create --vram 61G --compute 5", 1, "no 62464 MiB"},
		{"sgpu -i 0 --create --vram 4096M --compute 20 -n 2", 0, "SGPU#2 created"},
		{"sgpu -i 0 --create --vram 4T", 1, "memory size 4T is not a number"},
		{"sgpu -i 0 --create --compute 0", 1, "out of range"},
		{"sgpu -i 0 --create -n 14", 1, "no more slices fit"},
		{"sgpu -i 0 --set-sched-class 2", 1, "slices of another class"},
		{"sgpu -i 0 --disable", 1, "has slices"},
		{"sgpu --remove 1 -i 0", 0, "SGPU#1 removed"},
		{"sgpu -r 1 -i 0", 1, "no SGPU#1"},
		{"sgpu -i 0 --create --vram 56G --compute 20", 0, "SGPU#1 created"},
		{"sgpu -i 2 -r 0", 0, ""},
		{"sgpu -i 2 -r 1", 0, ""},
		{"sgpu -i 2 --disable", 0, ""},
		{"sgpu -i 0 --remove ../x", 1, "is not a number"},
		{"sgpu -i 0 --create --no-such", 1, "unknown command or option: sgpu -i 0 --create --no-such"},
		{"sgpu -i", 1, "-i needs a value"},
		{"sgpu -i 0", 1, "say what to do"},
	} {
		if out, code := act(t, root, step.command); code != step.code || !strings.Contains(out, step.says) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", step.command, code, out, step.code, step.says)
		}
	}

	got := found(t, root)
	want.GPUs[2].Mode, want.GPUs[2].Slices = "", nil
	want.GPUs[0].Mode = gpu.ModeSGPU
	for k, alias := range []string{"one", "", ""} {
		want.GPUs[0].Slices = append(want.GPUs[0].Slices, gpu.Slice{
			Kind: gpu.SliceSGPU, Index: k, ComputePercent: []int{60, 20, 20}[k], MemoryMiB: []int{4096, 56 << 10, 4096}[k], Alias: alias, QoS: gpu.QoSFixedShare, Nodes: want.GPUs[0].Nodes[1:], GIDs: []uint32{44},
		})
	}
	for k, s := range got.GPUs[0].Slices {
		if !strings.HasPrefix(s.UUID, "GPU-") || !gpu.ValidSliceUUID(s.UUID) {
			t.Errorf("slice %d has the UUID %q", k, s.UUID)
		}
		got.GPUs[0].Slices[k].UUID = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("discovered (-want +got):\n%s", diff)
	}
}

// TestMXSMIElsewhere checks that the tool changes only the tree that it is in, also in
// a container and on a machine with its own /sys.
func TestMXSMIElsewhere(t *testing.T) {
	root := written(t, simtest.Node(t, "c500-1"))
	alone := t.TempDir()
	if err := os.CopyFS(alone, os.DirFS(filepath.Join(root, "opt/mxdriver"))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(alone, "bin/mx-smi"), "sgpu", "--enable", "-i", "0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no host tree") {
		t.Errorf("%v, %q", err, out)
	}
}

func TestSlicesThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*gpu.GPU){
		"another GPU's node":             func(g *gpu.GPU) { g.Slices[0].Nodes = []string{"/dev/dri/renderD128"} },
		"more memory than the GPU's own": func(g *gpu.GPU) { g.Slices[0].MemoryMiB, g.Slices[1].MemoryMiB = 40000, 40000 },
	} {
		n := simtest.Node(t, "c500-8-sgpu")
		change(&n.GPUs[2])
		if _, err := sim.HostTree(n); !errors.Is(err, sim.ErrHost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostTreeSlices checks the files of divided GPUs.
func TestHostTreeSlices(t *testing.T) {
	n := simtest.Node(t, "c500-8-sgpu")
	n.GPUs[5].Slices[1].Nodes = nil // for a virtual machine
	n.GPUs[2].Slices[0].ComputePercent, n.GPUs[2].Slices[0].MemoryMiB = 30, 1024
	tree := hostTree(t, n)
	const (
		sliced = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:02.0/0000:10:00.0"
		nodes  = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"
		parent = "sys/devices/pci0000:31/0000:31:03.0/0000:33:00.0/0000:34:01.0/0000:36:00."
	)
	for p, want := range map[string]sim.Entry{
		sliced + "/model":                      sim.File{Data: "sgpu\n"},
		sliced + "/sgpu/sched_class":           sim.File{Data: "0\n"},
		sliced + "/sgpu/sgpu1/node_id":         sim.File{Data: "8193\n"},
		nodes + "8193/unique_id":               sim.File{Data: strings.TrimPrefix(n.GPUs[2].Slices[1].UUID, "GPU-") + "\n"},
		nodes + "8193/location":                sim.File{Data: "0000:10:00.0\n"},
		sliced + "/sgpu/sgpu0/vram_quota":      sim.File{Data: "1024\n"},
		sliced + "/smi/sgpu0/meminfo":          sim.File{Data: "total 1073741824\nused 0\nfree 1073741824\n"},
		parent + "0/driver":                    sim.Link("../../../../../../bus/pci/drivers/MXGVM"),
		parent + "0/gpuvf":                     sim.File{Data: "VF #1\nBusId:0000:36:00.1\nVF State:Active\nVF #2\nBusId:0000:36:00.2\nVF State:Active\n"},
		parent + "1/device":                    sim.File{Data: "0x4019\n"},
		parent + "1/smi/showcardname":          sim.File{Data: "MXC500 VF\n"},
		sliced + "/sgpu/available_devcnt":      sim.File{Data: "14\n"},
		sliced + "/sgpu/available_sched_quota": sim.File{Data: "65\n"},
		sliced + "/sgpu/available_vram_quota":  sim.File{Data: "60416\n"},
		parent + "0/model":                     sim.File{Data: "native\n"},
		parent + "0/virtfn1":                   sim.Link("../0000:36:00.2"),
		parent + "1/physfn":                    sim.Link("../0000:36:00.0"),
		parent + "1/driver":                    sim.Link("../../../../../../bus/pci/drivers/metax"),
		parent + "1/drm/card9/dev":             sim.File{Data: "226:9\n"},
		"dev/dri/renderD136":                   sim.Device{Major: 226, Minor: 136, Perm: 0o660, GID: 44},
	} {
		if diff := cmp.Diff(want, tree[p]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
	for _, p := range []string{parent + "2/driver", parent + "1/model", "dev/dri/card10", sliced + "/sgpu/sgpu2/alias"} {
		if e, ok := tree[p]; ok {
			t.Errorf("%s: %v", p, e)
		}
	}
}
