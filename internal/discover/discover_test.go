// SPDX-License-Identifier: Apache-2.0

package discover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// names are the simulated nodes that the tests use.
func names() []string { return append(sim.Names(), "sim:2x2x4", "sim:1x1x1") }

// hostTree is the host of a simulated node.
func hostTree(t testing.TB, name string) sim.Tree {
	t.Helper()
	n, tree := simtest.Host(t, name)
	return sim.WithSMI(tree, n, standin.SMI(t))
}

// oldTree is the host of a simulated node with a driver that shows no layout.
func oldTree(t testing.TB, name string) sim.Tree {
	t.Helper()
	return simtest.WithoutLayout(hostTree(t, name))
}

// unhealthy are the warnings of a simulated node about what the driver's own files say.
func unhealthy(n gpu.Node) (warnings []string) {
	for _, g := range n.GPUs {
		if !g.Healthy {
			warnings = append(warnings, fmt.Sprintf("GPU %s is unhealthy: the driver reports %q (code 1)", g.BDF, "simulated"))
		}
	}
	return warnings
}

func mustTree(t testing.TB, n gpu.Node) sim.Tree {
	t.Helper()
	tree, err := sim.HostTree(n)
	if err != nil {
		t.Fatal(err)
	}
	return sim.WithSMI(tree, n, standin.SMI(t))
}

// run runs the simulated mx-smi.
func run(ctx context.Context, path string, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, path, args...).Output()
}

// mustDiscover returns the node without its warnings, and the warnings with the paths
// of the host.
func mustDiscover(t testing.TB, h discover.Host) (gpu.Node, []string) {
	t.Helper()
	n, err := h.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	warnings := n.Warnings
	for i := range warnings {
		warnings[i] = strings.ReplaceAll(warnings[i], h.Root.Dir(), "")
	}
	n.Warnings = nil
	return n, warnings
}

// TestDiscoverSimulated: discovery returns the node of which a simulated host was made,
// with mx-smi and with a record.
func TestDiscoverSimulated(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			want, root := simtest.Node(t, name), simtest.Write(t, hostTree(t, name))
			want.Warnings = unhealthy(want)
			got, err := discover.Host{Surroundings: true, Root: root, Run: run}.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("by mx-smi: %s", diff)
			}
			again, err := discover.Host{Surroundings: true, Root: root, Recorded: &got}.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, again); diff != "" {
				t.Errorf("by record: %s", diff)
			}
		})
	}
}

// TestDiscoverWithoutTool: a node without the vendor's tool and the driver's own files still
// works with what the kernel knows.
func TestDiscoverWithoutTool(t *testing.T) {
	plain := func(name, mode string) gpu.Node {
		n := simtest.Node(t, name)
		n.Links, n.Driver.Mode = nil, mode
		for i := range n.GPUs {
			g := &n.GPUs[i]
			g.UUID, g.Serial, g.VBIOS, g.MemoryMiB, g.LinkDomain, g.Healthy = "", "", "", 0, 0, true
		}
		return n
	}
	const unknown = "MetaXLink topology unknown; choosing by PCIe and NUMA only: "
	for _, name := range []string{"c500-1", "c500-8-degraded", "c550-8"} {
		t.Run(name, func(t *testing.T) {
			root := simtest.Write(t, oldTree(t, name))
			got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: root})
			if diff := cmp.Diff(plain(name, ""), got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, []string{"MetaXLink topology unknown; choosing by PCIe and NUMA only. Once per boot: sudo metax-ctk cdi generate"}, warnings)

			bare := plain(name, "") // a record made where the tool was not asked either
			_, warnings = mustDiscover(t, discover.Host{Surroundings: true, Root: root, Recorded: &bare})
			gputest.WantWarnings(t, []string{unknown + "the recorded node has none. Record again: sudo metax-ctk cdi generate"}, warnings)
		})
	}
	t.Run("not installed", func(t *testing.T) {
		tree := oldTree(t, "c500-1")
		maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasSuffix(p, "bin/mx-smi") })
		got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, tree), Run: run})
		if diff := cmp.Diff(plain("c500-1", gpu.DriverNative), got); diff != "" {
			t.Error(diff)
		}
		gputest.WantWarnings(t, []string{unknown + "there is no mx-smi at /opt/mxdriver/bin/mx-smi or /usr/bin/mx-smi"}, warnings)
	})
	t.Run("fails", func(t *testing.T) {
		fail := func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("exit status 1") }
		got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, oldTree(t, "c500-1")), Run: fail})
		if diff := cmp.Diff(plain("c500-1", gpu.DriverNative), got); diff != "" {
			t.Error(diff)
		}
		gputest.WantWarnings(t, []string{"UUIDs and health", unknown, "serial numbers", "memory sizes"}, warnings)
	})
	t.Run("fails, but was recorded", func(t *testing.T) {
		fail := func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("exit status 1") }
		want := simtest.Node(t, "c500-8")
		got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, oldTree(t, "c500-8")), Run: fail, Recorded: &want})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		gputest.WantWarnings(t, []string{"UUIDs, health and MetaXLink come from the recorded node: mx-smi gave no answer (exit status 1)"}, warnings)
	})
	t.Run("not installed, and recorded so", func(t *testing.T) {
		tree := oldTree(t, "c500-8")
		maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasSuffix(p, "bin/mx-smi") })
		root := simtest.Write(t, tree)
		record, _ := mustDiscover(t, discover.Host{Root: root, Run: run})
		record.Warnings = []string{unknown + "there is no mx-smi at /opt/mxdriver/bin/mx-smi or /usr/bin/mx-smi"}
		_, warnings := mustDiscover(t, discover.Host{Root: root, Recorded: &record})
		gputest.WantWarnings(t, record.Warnings, warnings)
	})
}

// TestDiscoverTool: mx-smi is looked up inside the host tree, wherever links lead.
func TestDiscoverTool(t *testing.T) {
	for name, change := range map[string]func(sim.Tree){
		"as installed": func(sim.Tree) {},
		"in /usr/bin only": func(tree sim.Tree) {
			tree["usr/bin/mx-smi"] = tree["opt/mxdriver/bin/mx-smi"]
			delete(tree, "opt/mxdriver/bin/mx-smi")
		},
		"by an absolute link": func(tree sim.Tree) {
			tree["opt/tools/mx-smi"] = tree["opt/mxdriver/bin/mx-smi"]
			tree["opt/mxdriver/bin/mx-smi"] = sim.Link("/opt/tools/mx-smi")
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := hostTree(t, "c500-1")
			change(tree)
			root := simtest.Write(t, tree)
			var paths []string
			note := func(_ context.Context, path string, _ ...string) ([]byte, error) {
				paths = append(paths, path)
				return nil, errors.New("not run")
			}
			mustDiscover(t, discover.Host{Surroundings: true, Root: root, Run: note})
			if len(paths) == 0 || !strings.HasPrefix(paths[0], root.Dir()+"/") || !strings.HasSuffix(paths[0], "/mx-smi") {
				t.Errorf("ran %q, want the mx-smi below %s", paths, root.Dir())
			}
		})
	}
}

func TestDiscoverNoGPU(t *testing.T) {
	noGPUs := func(loaded bool) sim.Tree {
		tree := hostTree(t, "c500-1")
		for _, g := range simtest.Node(t, "c500-1").GPUs {
			delete(tree, "sys/bus/pci/devices/"+g.BDF.String())
		}
		if !loaded {
			maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, "sys/module/") })
		}
		return tree
	}
	unread := noGPUs(true)
	unread["sys/bus/pci/devices/0000:01:00.0"] = sim.Dir{}
	for _, test := range []struct {
		name string
		tree sim.Tree
		want string
	}{
		{"no sysfs", sim.Tree{}, "no MetaX GPU in this machine: it has no PCI bus"},
		{"module loaded", noGPUs(true), "no MetaX GPU in this machine (lspci -d 9999: is empty)"},
		{"module not loaded", noGPUs(false), "no MetaX GPU in this machine (lspci -d 9999: is empty)"},
		{"functions that could not be read", unread, "(compare lspci -d 9999:): ignored /sys/bus/pci/devices/0000:01:00.0: open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := discover.Host{Surroundings: true, Root: simtest.Write(t, test.tree), Run: run}.Discover(t.Context())
			if !errors.Is(err, discover.ErrNoGPU) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("error is %v, want ErrNoGPU with %q", err, test.want)
			}
		})
	}
}

func TestDiscoverModuleNotLoaded(t *testing.T) {
	tree := hostTree(t, "c500-1")
	maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool {
		return strings.HasPrefix(p, "sys/module/") || strings.HasSuffix(p, "/driver") ||
			strings.Contains(p, "/drm/") || strings.HasPrefix(p, "dev/")
	})
	// Without a loaded driver, mx-smi is not run, and its values are missing without a
	// warning.
	run := func(context.Context, string, ...string) ([]byte, error) {
		t.Error("mx-smi was run")
		return nil, errors.New("no driver")
	}
	got, warnings := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, tree), Run: run})
	want := simtest.Node(t, "c500-1").GPUs[0]
	want.UUID, want.Serial, want.VBIOS, want.MemoryMiB, want.Nodes, want.GIDs, want.Healthy = "", "", "", 0, nil, nil, false
	if diff := cmp.Diff([]gpu.GPU{want}, got.GPUs); diff != "" {
		t.Error(diff)
	}
	gputest.WantWarnings(t, []string{"the kernel module metax is not loaded (sudo modprobe metax"}, warnings)

	// modprobe helps only where there is a module.
	tree["proc/sys/kernel/osrelease"] = sim.File{Data: "6.1\n"}
	tree["lib/modules/6.1/modules.dep"] = sim.File{Data: "kernel/drivers/gpu/other.ko:\n"}
	n, err := discover.Host{Root: simtest.Write(t, tree)}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gputest.WantWarnings(t, []string{"the MetaX driver is not installed: this kernel has no module metax"}, n.Warnings)
	if discover.NotLoaded(n) != n.Warnings[0] {
		t.Errorf("NotLoaded is %q", discover.NotLoaded(n))
	}
}

// TestDiscoverWarningsAreLines: the standard error of a tool becomes one line, and the
// Node stays readable.
func TestDiscoverWarningsAreLines(t *testing.T) {
	fail := func(context.Context, string, ...string) ([]byte, error) {
		return nil, errors.New("exit status 1: \x1b[2J\nhelp")
	}
	n, err := discover.Host{Surroundings: true, Root: simtest.Write(t, hostTree(t, "c500-1")), Run: fail}.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.DecodeNode(data); err != nil || len(n.Warnings) == 0 {
		t.Errorf("%d warnings, %v", len(n.Warnings), err)
	}
}

func TestDiscoverCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(context.Context, string, ...string) ([]byte, error) { cancel(); return nil, ctx.Err() }
	if _, err := (discover.Host{Surroundings: true, Root: simtest.Write(t, hostTree(t, "c500-1")), Run: stop}).Discover(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
}

func TestDiscoverName(t *testing.T) {
	for text, want := range map[string]string{
		"gpu-7\n": "gpu-7", "# set by the installer\n\n  gpu-7  \n": "gpu-7", "": "", "a b\n": "", "a\x1b\n": "",
	} {
		tree := hostTree(t, "c500-1")
		tree["etc/hostname"] = sim.File{Data: text}
		if got, _ := mustDiscover(t, discover.Host{Surroundings: true, Root: simtest.Write(t, tree)}); got.Name != want {
			t.Errorf("%q gives the name %q, want %q", text, got.Name, want)
		}
	}
}

func BenchmarkDiscover(b *testing.B) {
	root := simtest.Write(b, hostTree(b, "c500-8"))
	b.ReportAllocs()
	for b.Loop() {
		n, err := discover.Host{Surroundings: true, Root: root}.Discover(b.Context())
		if err != nil || len(n.GPUs) != 8 {
			b.Fatal(len(n.GPUs), err)
		}
	}
}
