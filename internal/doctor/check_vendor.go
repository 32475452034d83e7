package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// slow is how long a program of the vendor's may take before it is a finding.
const slow = 2 * time.Second

var healthChecks = []Check{
	each("gpu-health", "the driver calls every GPU healthy", (*Facts).gpus, func(f *Facts, g gpu.GPU, found *findings) {
		k, seen := f.Kernel.function(g.BDF)
		if g.Healthy || !seen || len(k.Nodes) == 0 || k.Dead {
			return
		}
		found.add(Error, fmt.Sprintf("GPU %d (%s) is not healthy%s", g.Index, g.BDF, f.reason(g.BDF)),
			"it is given to nobody unasked; a reset may bring it back, and its users have to stop before", fmt.Sprintf("mx-smi -i %s -r", g.BDF))
	}),
	each("gpu-seen", "the kernel shows every GPU that the driver lists", (*Facts).gpus, func(f *Facts, g gpu.GPU, found *findings) {
		if _, seen := f.Kernel.function(g.BDF); !seen {
			found.add(Error, fmt.Sprintf("the vendor's software lists GPU %s, and the kernel does not show it", g.BDF),
				"it cannot be given to a container", "echo 1 > /sys/bus/pci/rescan")
		}
	}),
	{"gpu-lost", "every GPU that was recorded is there", func(f *Facts, found *findings) {
		if !f.Record.Present || f.Record.Err != "" || f.Record.Early || len(f.Kernel.GPUs) == 0 {
			return
		}
		gone := func(g gpu.GPU) bool {
			_, seen := f.Kernel.function(g.BDF)
			_, listed := f.Node.Lookup(g.BDF)
			return !seen && !listed
		}
		if lost := those(f.Record.Node.GPUs, gone, func(g gpu.GPU) string { return g.BDF.String() }); lost != nil {
			found.add(Error, fmt.Sprintf("GPU %s: recorded since this boot, and gone", list(lost)),
				"it has fallen off the bus, or somebody took it out; if that was meant, metax-ctk cdi generate forgets it", "echo 1 > /sys/bus/pci/rescan")
		}
	}},
	{"link-down", "every MetaXLink is up", func(f *Facts, found *findings) {
		down := those(f.Node.Links, func(l gpu.Link) bool { return l.Down }, func(l gpu.Link) string { return fmt.Sprintf("%d–%d", l.A, l.B) })
		if down != nil {
			found.add(Warning, "MetaXLink is down between GPUs "+list(down), "jobs on these GPUs go over PCIe", "mx-smi topo -m")
		}
	}},
	{"slices", "every GPU in slice mode has slices", func(f *Facts, found *findings) {
		empty := those(f.Kernel.GPUs, func(g gpu.GPU) bool { return g.Mode == gpu.ModeSGPU && len(g.Slices) == 0 }, func(g gpu.GPU) string { return fmt.Sprint(g.Index) })
		if empty != nil {
			found.add(Warning, fmt.Sprintf("GPU %s: in slice mode, without a slice", list(empty)), "nobody gets any of it, whole or in part",
				f.command("sgpu", "create", empty[0], "--compute", "50", "--vram", "16G"))
		}
	}},
	{"vf-nodes", "every virtual function that a driver of the host has can be given", func(f *Facts, found *findings) {
		var bare []string
		for _, g := range f.Kernel.GPUs {
			without := func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF && len(s.Nodes) == 0 && g.Healthy }
			bare = append(bare, those(g.Slices, without, func(s gpu.Slice) string { return s.BDF.String() })...)
		}
		if bare != nil {
			found.add(Info, "virtual function "+list(bare)+": no device nodes", "containers do not get it; one that is for a virtual machine has none",
				fmt.Sprintf("echo %s > /sys/bus/pci/drivers/metax/bind", bare[0]))
		}
	}},
}

// function returns the GPU's PCI function.
func (k Kernel) function(bdf gpu.BDF) (Function, bool) {
	i := slices.IndexFunc(k.Functions, func(fn Function) bool { return fn.BDF == bdf })
	if i < 0 {
		return Function{}, false
	}
	return k.Functions[i], true
}

// reason is what discovery warned of about a GPU.
func (f *Facts) reason(bdf gpu.BDF) string {
	for _, w := range f.Node.Warnings {
		if strings.Contains(w, bdf.String()) {
			return ": " + w
		}
	}
	return ""
}

var vendorChecks = []Check{
	{"mx-smi", "mx-smi is installed", func(f *Facts, found *findings) {
		if f.Software.SMI || f.Software.Library && !f.Node.Unusable || !f.Software.Driver {
			return
		}
		found.add(Warning, "neither mx-smi nor libmxsml is in /opt/mxdriver", "UUIDs, health and MetaXLink of the GPUs are not known without one of them",
			"install the vendor's driver package again, then: ls /opt/mxdriver/bin/mx-smi")
	}},
	answers("mx-smi-answers", "mx-smi answers", (*Facts).smi, "UUIDs, health and MetaXLink of the GPUs are not known without it"),
	quick("mx-smi-quick", "mx-smi answers quickly", (*Facts).smi),
	answers("libmxsml-answers", "libmxsml answers", (*Facts).library, "mx-smi is asked instead, which tells less of slices and links"),
	quick("libmxsml-quick", "libmxsml answers quickly", (*Facts).library),
}

// answers is the check that a program of the vendor's does not fail.
func answers(id, title string, of func(*Facts) []Call, why string) Check {
	return firstOf(id, title, of, func(_ *Facts, c Call, found *findings) {
		if c.Err != "" {
			found.add(Warning, c.Err, why, c.Command)
		}
	})
}

// quick is the check that it is not slow.
func quick(id, title string, of func(*Facts) []Call) Check {
	return firstOf(id, title, of, func(_ *Facts, c Call, found *findings) {
		if c.Err == "" && c.Took > slow {
			found.add(Warning, fmt.Sprintf("%s took %v", c.Command, c.Took.Round(100*time.Millisecond)),
				"it wakes GPUs that sleep, or one does not answer; starts of containers do not wait for it, cdi generate does", "time "+c.Command)
		}
	})
}

var softwareChecks = []Check{
	{"driver-files", "the driver's user part is installed", func(f *Facts, found *findings) {
		if !f.Software.Driver && f.Kernel.Module.Loaded && len(f.Kernel.GPUs) > 0 {
			found.add(Warning, "/opt/mxdriver is missing or empty", "containers get neither mx-smi nor the driver's libraries",
				"install the vendor's driver package again, then: "+f.command("cdi", "generate"))
		}
	}},
	{"maca-link", "/opt/maca leads to an MXMACA", func(f *Facts, found *findings) {
		if !f.Software.Dangling {
			return
		}
		fix := "rm " + f.at("/opt/maca")
		if n := len(f.Software.Others); n > 0 {
			fix = fmt.Sprintf("ln -sfn %s %s", f.Software.Others[n-1], f.at("/opt/maca"))
		}
		found.add(Warning, "/opt/maca leads to "+f.Software.Link+", where nothing is", "programs and containers that use the host's MXMACA do not find it", fix)
	}},
	{"maca-version", "the version of MXMACA is known", func(f *Facts, found *findings) {
		if f.Software.MACA && f.Software.Version == "" {
			found.add(Warning, "/opt/maca/Version.txt does not tell the version of MXMACA", "whether it goes with the driver cannot be checked",
				`write its version to /opt/maca/Version.txt, in the form "Version:3.3.0.15"`)
		}
	}},
	{"maca-driver", "MXMACA goes with the driver", func(f *Facts, found *findings) {
		v := compat.Check(f.Software.Rules, f.Software.Version, f.Kernel.Module.Version)
		if v.State == compat.Mismatch {
			found.add(Warning, v.Reason, "programs fail at their first call of the driver, or later", "install a driver that it needs, or choose another MXMACA: "+f.command("maca", "list"))
		}
	}},
}
