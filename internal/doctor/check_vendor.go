// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// slowCall is how long a vendor's program may take without a finding.
const slowCall = 2 * time.Second

var healthChecks = []Check{
	checkEach("gpu-health", "the driver reports every GPU as healthy", func(f *Facts) bool {
		return f.driverLoaded() &&
			len(f.Node.GPUs) > 0
	}, (*Facts).nodeGPUs, func(f *Facts, g gpu.GPU, found *findings) {
		k, seen := f.Kernel.findFunction(g.BDF)
		if g.Healthy || !seen || len(k.Nodes) == 0 || k.Dead {
			return
		}
		found.add(Error, fmt.Sprintf("GPU %d (%s) is not healthy%s", g.Index, g.BDF, f.discoveryWarning(g.BDF)),
			"no container gets it unless it is requested by name; a reset may fix it, after its users have stopped",
			fmt.Sprintf("mx-smi -i %s -r", g.BDF))
	}),
	checkEach("gpu-seen", "the kernel shows every GPU that the driver lists",
		func(f *Facts) bool {
			return f.driverLoaded() &&
				len(f.Node.GPUs) > 0
		}, (*Facts).nodeGPUs, func(f *Facts, g gpu.GPU, found *findings) {
			if _, seen := f.Kernel.findFunction(g.BDF); !seen {
				found.add(Error, fmt.Sprintf("the vendor's software lists GPU %s, but the kernel does not show it", g.BDF),
					"it cannot be given to a container", "echo 1 > /sys/bus/pci/rescan")
			}
		}),
	{ID: "gpu-lost", Title: "every GPU that was recorded is there", applies: func(f *Facts) bool {
		return f.Record.Present && f.Record.Err == "" && !f.Record.Early && len(f.Kernel.GPUs) > 0
	}, run: func(f *Facts, found *findings) {
		if !f.Record.Present || f.Record.Err != "" || f.Record.Early || len(f.Kernel.GPUs) == 0 {
			return
		}
		gone := func(g gpu.GPU) bool {
			_, seen := f.Kernel.findFunction(g.BDF)
			_, listed := f.Node.Lookup(g.BDF)
			return !seen && !listed
		}
		if lost := namesWhere(f.Record.Node.GPUs, gone, func(g gpu.GPU) string { return g.BDF.String() }); lost != nil {
			found.add(Error, fmt.Sprintf("GPU %s: recorded since this boot, but gone", shortList(lost)),
				"it has fallen off the bus, or somebody took it out; if that was intended, metax-ctk cdi generate updates the record", "echo 1 > /sys/bus/pci/rescan")
		}
	}},
	{
		ID: "link-down", Title: "every MetaXLink is up", applies: func(f *Facts) bool { return len(f.Node.Links) > 0 },
		run: func(f *Facts, found *findings) {
			down := namesWhere(f.Node.Links, func(l gpu.Link) bool { return l.Down },
				func(l gpu.Link) string { return fmt.Sprintf("%d–%d", l.A, l.B) })
			if down != nil {
				found.add(Warning, "MetaXLink is down between GPUs "+shortList(down), "traffic between these GPUs goes over PCIe",
					"mx-smi topo -m")
			}
		},
	},
	{ID: "slices", Title: "every GPU in slice mode has slices", applies: func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.GPUs, func(g gpu.GPU) bool { return g.Mode == gpu.ModeSGPU })
	}, run: func(f *Facts, found *findings) {
		empty := namesWhere(f.Kernel.GPUs, func(g gpu.GPU) bool { return g.Mode == gpu.ModeSGPU && len(g.Slices) == 0 },
			func(g gpu.GPU) string { return fmt.Sprint(g.Index) })
		if empty != nil {
			found.add(Warning, fmt.Sprintf("GPU %s: in slice mode, without a slice", shortList(empty)),
				"no container can use it, whole or in part",
				f.ctkCommand("sgpu", "create", empty[0], "--compute", "50", "--vram", "16G"))
		}
	}},
	{ID: "vf-nodes", Title: "every virtual function has device nodes", applies: func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.GPUs, func(g gpu.GPU) bool {
			return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF })
		})
	}, run: func(f *Facts, found *findings) {
		var bare []string
		for _, g := range f.Kernel.GPUs {
			without := func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF && len(s.Nodes) == 0 && g.Healthy }
			bare = append(bare, namesWhere(g.Slices, without, func(s gpu.Slice) string { return s.BDF.String() })...)
		}
		if bare != nil {
			found.add(Info, "virtual function "+shortList(bare)+": no device nodes",
				"containers cannot use it; that is normal if it is for a virtual machine",
				fmt.Sprintf("echo %s > /sys/bus/pci/drivers/metax/bind", bare[0]))
		}
	}},
}

// findFunction returns the GPU's PCI function.
func (k Kernel) findFunction(bdf gpu.BDF) (Function, bool) {
	i := slices.IndexFunc(k.Functions, func(fn Function) bool { return fn.BDF == bdf })
	if i < 0 {
		return Function{}, false
	}
	return k.Functions[i], true
}

// discoveryWarning is the warning of discovery about a GPU, after a colon.
func (f *Facts) discoveryWarning(bdf gpu.BDF) string {
	for _, w := range f.Node.Warnings {
		if strings.Contains(w, bdf.String()) {
			return ": " + w
		}
	}
	return ""
}

var vendorChecks = []Check{
	{
		ID: "mx-smi", Title: "mx-smi is installed", applies: func(f *Facts) bool { return f.Software.Driver },
		run: func(f *Facts, found *findings) {
			if f.Software.SMI || (f.Software.Library && !f.Node.Unusable) || !f.Software.Driver {
				return
			}
			found.add(Warning, "neither mx-smi nor libmxsml is in /opt/mxdriver",
				"UUIDs, health and MetaXLink of the GPUs are not known without one of them",
				"# reinstall the vendor's driver package, then: ls /opt/mxdriver/bin/mx-smi")
		},
	},
	answersCheck("mx-smi-answers", "mx-smi answers", (*Facts).smiCalls,
		"UUIDs, health and MetaXLink of the GPUs are not known without it"),
	speedCheck("mx-smi-quick", "mx-smi answers quickly", (*Facts).smiCalls),
	answersCheck("libmxsml-answers", "libmxsml answers", (*Facts).libraryCalls,
		"mx-smi is used instead, which reports less about slices and links"),
	speedCheck("libmxsml-quick", "libmxsml answers quickly", (*Facts).libraryCalls),
}

// answersCheck checks that a vendor's program does not fail.
func answersCheck(id, title string, of func(*Facts) []Call, why string) Check {
	asked := func(f *Facts) bool { return len(of(f)) > 0 }
	return firstOf(id, title, asked, of, func(_ *Facts, c Call, found *findings) {
		if c.Err != "" {
			found.add(Warning, c.Err, why, c.Command)
		}
	})
}

// speedCheck checks that a vendor's program is not slow.
func speedCheck(id, title string, of func(*Facts) []Call) Check {
	answered := func(f *Facts) bool {
		return slices.ContainsFunc(of(f), func(c Call) bool { return c.Err == "" })
	}
	return firstOf(id, title, answered, of, func(_ *Facts, c Call, found *findings) {
		if c.Err == "" && c.Took > slowCall {
			found.add(Warning, fmt.Sprintf("%s took %v", c.Command, c.Took.Round(100*time.Millisecond)),
				"it wakes sleeping GPUs, or one does not answer; cdi generate waits for it, container starts do not", "time "+
					c.Command)
		}
	})
}

var softwareChecks = []Check{
	{
		ID: "driver-files", Title: "the driver's user part is installed", applies: (*Facts).driverLoaded,
		run: func(f *Facts, found *findings) {
			if !f.Software.Driver && f.Kernel.Module.Loaded && len(f.Kernel.GPUs) > 0 {
				found.add(Warning, "/opt/mxdriver is missing or empty", "containers get neither mx-smi nor the driver's libraries",
					"# reinstall the vendor's driver package, then: "+f.ctkCommand("cdi", "generate"))
			}
		},
	},
	{
		ID: "maca-link", Title: "/opt/maca leads to an MXMACA", applies: func(f *Facts) bool { return f.Software.Link != "" },
		run: func(f *Facts, found *findings) {
			if !f.Software.Dangling {
				return
			}
			fix := "rm " + f.localPath("/opt/maca")
			if n := len(f.Software.Others); n > 0 {
				fix = fmt.Sprintf("ln -sfn %s %s", f.Software.Others[n-1], f.localPath("/opt/maca"))
			}
			found.add(Warning, "/opt/maca leads to "+f.Software.Link+", which does not exist",
				"programs and containers that use the host's MXMACA do not find it", fix)
		},
	},
	{
		ID: "maca-version", Title: "the version of MXMACA is known", applies: func(f *Facts) bool { return f.Software.MACA },
		run: func(f *Facts, found *findings) {
			if f.Software.MACA && f.Software.Version == "" {
				found.add(Warning, "/opt/maca/Version.txt does not contain the version of MXMACA",
					"doctor cannot check whether it works with the driver",
					"# with its own version: echo Version:3.3.0.15 > /opt/maca/Version.txt")
			}
		},
	},
	{
		ID: "maca-driver", Title: "MXMACA works with the driver",
		applies: func(f *Facts) bool { return f.macaKnown(f.Software.Version) }, run: func(f *Facts, found *findings) {
			v := compat.Check(f.Software.Rules, f.Software.Version, f.Kernel.Module.Version)
			if v.State == compat.Mismatch {
				found.add(Warning, v.Reason, "programs fail at their first call of the driver, or later",
					f.ctkCommand("maca", "list")+"   # choose one that works with the driver, or install a driver that this one needs")
			}
		},
	},
}
