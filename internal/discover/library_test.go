// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const libraryPath = "/opt/mxdriver/lib/libmxsml.so"

// ask is metax-mxsml, as metax-ctk runs it.
func ask(t *testing.T) mxsml.Run {
	t.Helper()
	program := standin.Program(t, t.TempDir())
	return func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{"LC_ALL=C"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if err != nil {
			err = fmt.Errorf("%w: %.40q", err, stderr.String())
		}
		return stdout.Bytes(), err
	}
}

// withLibrary is the host of a node with a libmxsml that reports the same node or
// another.
func withLibrary(t *testing.T, tree sim.Tree, told gpu.Node, faults ...string) (root *hostfs.Root, lib string) {
	t.Helper()
	root = simtest.Write(t, tree)
	return root, standin.Build(t, filepath.Dir(root.Join(libraryPath)), told, faults...)
}

// noTool fails the test if mx-smi is run.
func noTool(t *testing.T) func(context.Context, string, ...string) ([]byte, error) {
	return func(_ context.Context, path string, args ...string) ([]byte, error) {
		t.Errorf("ran %s %q", path, args)
		return nil, context.Canceled
	}
}

// TestLibrarySame: libmxsml gives the same Node as mx-smi in TestDiscoverSimulated,
// byte for byte, plus slices.
func TestLibrarySame(t *testing.T) {
	library := ask(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			root, _ := withLibrary(t, hostTree(t, name), simtest.Node(t, name))
			byLibrary, err := discover.Host{Surroundings: true, Root: root, Library: library, Run: noTool(t), Timeout: time.Minute}.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range simtest.Node(t, name).GPUs {
				for k, s := range g.Slices {
					alone(s.UUID, &byLibrary.GPUs[i].Slices[k].UUID)
					alone(s.MemoryMiB, &byLibrary.GPUs[i].Slices[k].MemoryMiB)
					alone(s.ComputePercent, &byLibrary.GPUs[i].Slices[k].ComputePercent)
				}
			}
			node := simtest.Node(t, name)
			node.Warnings = unhealthy(node)
			want, _ := json.Marshal(node)
			got, _ := json.Marshal(byLibrary)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// alone removes what only the library reports.
func alone[T comparable](want T, got *T) {
	var none T
	if want == none {
		*got = none
	}
}

// TestLibraryFails: if the library fails, mx-smi answers, and one warning names the
// library and the reason. A file that is not libmxsml gives no warning.
func TestLibraryFails(t *testing.T) {
	library, want := ask(t), simtest.Node(t, "c500-8")
	tree := hostTree(t, "c500-8")
	for _, test := range []struct {
		fault, cause string // no cause, no warning
		timeout      time.Duration
	}{
		{"crash mxSmlInit 0", "it crashed: ", 0},
		{"abort mxSmlGetDeviceTopology 0", "it crashed: ", 0},
		{"exit mxSmlInit 0", "it crashed: it ended the program", 0},
		{"hang mxSmlGetDeviceCount 0", "no answer in time: context deadline exceeded", 2 * time.Second},
		{"code mxSmlInit 8", "mxSmlInit failed: PermissionDenied (8)", 0},
		{"count mxSmlGetDeviceCount 0", "it lists no GPU", 0},
		{"count mxSmlGetDeviceCount 4000000000", "at most 64 devices are possible", 0},
		{"overrun mxSmlGetMemoryInfo 16", "wrote more bytes than its structure has", 0},
		{"without mxSmlGetDeviceInfo", "this libmxsml has no mxSmlGetDeviceInfo", 0},
		{"without mxSmlInit", "", 0},
		{"none", "", 0},
	} {
		t.Run(test.fault, func(t *testing.T) {
			root, lib := withLibrary(t, tree, want, test.fault)
			if function, ok := strings.CutPrefix(test.fault, "without "); ok {
				standin.Without(t, lib, function)
			} else if test.fault == "none" {
				root = simtest.Write(t, tree) // the simulated one, which has no functions
			}
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: library, Run: run, Timeout: test.timeout})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if test.cause == "" {
				gputest.WantWarnings(t, nil, warnings)
				return
			}
			gputest.WantWarnings(t, []string{test.cause}, warnings)
			if !strings.HasPrefix(warnings[0], "libmxsml gives no answer: query "+libraryPath+": ") {
				t.Errorf("warning is %q", warnings[0])
			}
		})
	}
}

// TestLibraryPartly: what the library does not report comes from the record, as with
// mx-smi.
func TestLibraryPartly(t *testing.T) {
	library, want := ask(t), simtest.Node(t, "c500-8-degraded")
	for function, taken := range map[string]string{
		"mxSmlGetMemoryInfo": "memory sizes", "mxSmlGetDeviceTopology": "MetaXLink",
	} {
		root, lib := withLibrary(t, oldTree(t, want.Name), want)
		standin.Without(t, lib, function)
		got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: library, Run: noTool(t), Recorded: &want})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		gputest.WantWarnings(t, []string{"libmxsml did not report everything (this libmxsml has no " + function + "); taken from the recorded node: " + taken}, warnings)
	}
}

// TestLibraryAlone: only the library reports slices and disabled links.
func TestLibraryAlone(t *testing.T) {
	library := ask(t)
	plain := simtest.Node(t, "sim:1x1x4")
	tell := func(change func(*gpu.Node)) gpu.Node {
		n := plain
		n.GPUs, n.Links = slices.Clone(n.GPUs), slices.Clone(n.Links)
		change(&n)
		return n
	}
	sliced := tell(func(n *gpu.Node) {
		n.GPUs[2].Mode = gpu.ModeSGPU
		n.GPUs[2].Slices = []gpu.Slice{
			{Kind: gpu.SliceSGPU, Index: 0, UUID: "GPU-s-0", ComputePercent: 25, MemoryMiB: 16384, QoS: gpu.QoSBurstShare},
			{Kind: gpu.SliceSGPU, Index: 5, UUID: "GPU-s-5", Alias: "five", ComputePercent: 5, MemoryMiB: 128, QoS: gpu.QoSBurstShare},
		}
	})
	// The kernel of such a host does not report that the GPU is unsliced.
	tree := hostTree(t, plain.Name)
	maps.DeleteFunc(tree, func(path string, _ sim.Entry) bool { return strings.HasSuffix(path, "/model") })
	root, lib := withLibrary(t, tree, sliced)
	for i := range sliced.GPUs[2].Slices {
		s := &sliced.GPUs[2].Slices[i]
		s.Nodes, s.GIDs = plain.GPUs[2].Nodes[1:], plain.GPUs[2].GIDs
	}
	got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: library})
	if diff := cmp.Diff(sliced, got); diff != "" {
		t.Error(diff)
	}
	gputest.WantWarnings(t, nil, warnings)
	if diff := cmp.Diff([]int{0, 1, 3}, got.Healthy()); diff != "" {
		t.Error(diff)
	}
	again, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &got})
	if diff := cmp.Diff(sliced, again); diff != "" {
		t.Errorf("by record: %s", diff)
	}

	// It does once the slices are gone, and then those in a record are ignored.
	native := simtest.Write(t, hostTree(t, plain.Name))
	again, _ = mustDiscover(t, discover.Host{Surroundings: true, Root: native, Recorded: &got})
	if diff := cmp.Diff(plain, again); diff != "" {
		t.Errorf("by an old record: %s", diff)
	}

	off := tell(func(n *gpu.Node) { n.Links[0].Down = true })
	standin.Tell(t, lib, plain)
	switchOff(t, lib)
	got, warnings = mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: library})
	for _, l := range got.Links {
		if l.Down != (l.B == 3) {
			t.Errorf("link %+v", l)
		}
	}
	if len(got.Links) != len(off.Links) {
		t.Errorf("links %+v", got.Links)
	}
	gputest.WantWarnings(t, []string{"the MetaXLink of GPU " + plain.GPUs[3].BDF.String() + " is down: disabled"}, warnings)
}

// TestLibraryLostCard: a card that the library no longer lists is unhealthy.
func TestLibraryLostCard(t *testing.T) {
	want := simtest.Node(t, "c500-8")
	less := want
	less.GPUs = slices.Clone(want.GPUs[:7])
	less.Links = slices.DeleteFunc(slices.Clone(want.Links), func(l gpu.Link) bool { return l.B == 7 })
	root, _ := withLibrary(t, hostTree(t, "c500-8"), less)
	got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: ask(t)})
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6}, got.Healthy()); diff != "" {
		t.Error(diff)
	}
	gputest.WantWarnings(t, []string{"GPU 0000:38:00.0 cannot be used: libmxsml does not list it"}, warnings)
}

// TestLibraryDriver: the driver's version comes from the kernel, or else from the
// library.
func TestLibraryDriver(t *testing.T) {
	want := simtest.Node(t, "c500-1")
	told := want
	told.Driver = &gpu.Driver{Version: "9.9.9"}
	tree := hostTree(t, "c500-1")
	for _, version := range []string{"3.4.4", "9.9.9"} {
		root, _ := withLibrary(t, tree, told)
		got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: ask(t)})
		if got.Driver.Version != version || got.Driver.Path != want.Driver.Path {
			t.Errorf("got %+v, want %s", got.Driver, version)
		}
		gputest.WantWarnings(t, nil, warnings)
		delete(tree, "sys/module/metax/version")
		// The module's file may belong to another driver than the loaded one.
		tree["proc/sys/kernel/osrelease"] = sim.File{Data: "6.1\n"}
		tree["lib/modules/6.1/modules.dep"] = sim.File{Data: "metax.ko:\n"}
		tree["lib/modules/6.1/metax.ko"] = sim.File{Data: "damaged"}
	}
	// If neither may be run, as when a container starts, the record is used and no file
	// is read.
	root := simtest.Write(t, tree)
	got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &told})
	if got.Driver.Version != "9.9.9" {
		t.Errorf("by record %+v", got.Driver)
	}
	gputest.WantWarnings(t, nil, warnings)
	none := told
	none.Driver = nil
	got, warnings = mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &none})
	if got.Driver.Version != "" {
		t.Errorf("by nobody %+v", got.Driver)
	}
	gputest.WantWarnings(t, []string{"driver version is not known: "}, warnings)
}

// TestLibrarySlicesGone: slices are those that the library reports, also if it reports
// none; mx-smi does not report slices, so then those of the record stay.
func TestLibrarySlicesGone(t *testing.T) {
	plain := simtest.Node(t, "c500-8")
	tree := hostTree(t, plain.Name)
	maps.DeleteFunc(tree, func(path string, _ sim.Entry) bool { return strings.HasSuffix(path, "/model") })
	record := plain
	record.GPUs = slices.Clone(plain.GPUs)
	record.GPUs[3].Mode = gpu.ModeSGPU
	record.GPUs[3].Slices = []gpu.Slice{{Kind: gpu.SliceSGPU, UUID: "S-0", Nodes: plain.GPUs[3].Nodes[1:], GIDs: plain.GPUs[3].GIDs}}
	root, _ := withLibrary(t, tree, plain)
	got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: ask(t), Recorded: &record})
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Errorf("by the library: %s", diff)
	}
	got, _ = mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: run, Recorded: &record})
	if diff := cmp.Diff(record, got); diff != "" {
		t.Errorf("by mx-smi: %s", diff)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
}

// TestLibraryVirtual: if the kernel lists the slices, the library adds no further ones.
func TestLibraryVirtual(t *testing.T) {
	n := simtest.Node(t, "sim:1x1x2")
	n.GPUs[0].VFs = []gpu.BDF{n.GPUs[0].BDF, n.GPUs[0].BDF}
	n.GPUs[0].VFs[0].Function, n.GPUs[0].VFs[1].Function = 1, 2
	tree := mustTree(t, n)
	told := n
	told.GPUs = slices.Clone(n.GPUs)
	told.GPUs[0].VFs = append(slices.Clone(n.GPUs[0].VFs), gpu.BDF{Bus: 0xee})
	root, _ := withLibrary(t, tree, told)
	got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: ask(t)})
	if len(got.GPUs) != 2 || !slices.Equal(got.GPUs[0].VFs, n.GPUs[0].VFs) || len(got.GPUs[0].Slices) != 2 {
		t.Fatalf("got %+v", got.GPUs)
	}
	for k, s := range got.GPUs[0].Slices {
		if s.Kind != gpu.SliceVF || s.BDF != n.GPUs[0].VFs[k] || s.UUID == "" || s.MemoryMiB == 0 {
			t.Errorf("slice %+v", s)
		}
	}
	plain := simtest.Node(t, "sim:1x1x2")
	root, _ = withLibrary(t, simtest.WithoutLayout(mustTree(t, plain)), told) // the kernel shows none of them
	plain.Links, plain.GPUs[0].UUID, plain.GPUs[0].MemoryMiB = nil, "", 0
	plain.GPUs[0].LinkDomain, plain.GPUs[1].LinkDomain = 0, 0
	got, _ = mustDiscover(t, discover.Host{Surroundings: true, Root: root, Library: ask(t)})
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Error(diff)
	}
}

// TestLibrarySliceTwins: a UUID is dropped if the library reports it for two slices, or
// the kernel for one and the library for another.
func TestLibrarySliceTwins(t *testing.T) {
	n := simtest.Node(t, "c500-8-sgpu")
	var cut []int
	for i, g := range n.GPUs {
		if g.Mode == gpu.ModeSGPU {
			cut = append(cut, i)
		}
	}
	told := n
	told.GPUs = slices.Clone(n.GPUs)
	other := (cut[0] + 1) % len(n.GPUs)
	told.GPUs[other].Mode = gpu.ModeSGPU
	told.GPUs[other].Slices = []gpu.Slice{{Kind: gpu.SliceSGPU, UUID: n.GPUs[cut[0]].Slices[0].UUID}}
	told.GPUs[cut[0]].Slices = nil
	root, _ := withLibrary(t, mustTree(t, n), told)
	got, err := discover.Host{Surroundings: true, Root: root, Library: ask(t)}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if got.GPUs[cut[0]].Slices[0].UUID != "" || !strings.Contains(strings.Join(got.Warnings, "\n"), "another slice has the same") {
		t.Errorf("got %+v, %q", got.GPUs[cut[0]].Slices, got.Warnings)
	}
}

// switchOff disables the MetaXLink of the library's device 0, which has the greatest
// address.
func switchOff(t *testing.T, lib string) {
	t.Helper()
	text := testfile.Text(t, lib+".txt")
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "device 0 ") })
	words := strings.Fields(lines[at])
	words[12] = "1"
	lines[at] = strings.Join(words, " ")
	testfile.Write(t, lib+".txt", strings.Join(lines, "\n"), 0o644)
}

// TestLibrarySRIOV: SR-IOV is forbidden where the VBIOS does not allow it, also by the record.
func TestLibrarySRIOV(t *testing.T) {
	told := simtest.Node(t, "c500-1")
	told.GPUs[0].SRIOV = gpu.SRIOVForbidden
	root, _ := withLibrary(t, hostTree(t, "c500-1"), told)
	got, err := discover.Host{Root: root, Library: ask(t), Run: noTool(t), Timeout: time.Minute}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := discover.Host{Root: root, Recorded: &got}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now, then := got.GPUs[0].SRIOV, again.GPUs[0].SRIOV; now != gpu.SRIOVForbidden || then != now {
		t.Errorf("SR-IOV is %q, by the record %q", now, then)
	}
}
