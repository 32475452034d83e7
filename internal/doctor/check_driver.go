package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The kernel drivers that may have a GPU.
const (
	driver = "metax"
	vfio   = "vfio-pci"
)

// reload loads the driver anew; nothing may use a GPU meanwhile.
const reload = "modprobe -r metax && modprobe metax"

var lookingChecks = []Check{
	each("looked", "everything could be looked at", func(f *Facts) []Trouble { return f.Troubles }, func(f *Facts, t Trouble, found *findings) {
		found.add(Warning, fmt.Sprintf("%s could not be looked at: %s", t.Collector, t.Err), "what is wrong there stays unseen", f.command("doctor"))
	}),
}

var driverChecks = []Check{
	{"gpu-present", "there is a MetaX GPU on the PCI bus", func(f *Facts, found *findings) {
		if len(f.Kernel.GPUs) == 0 && !slices.ContainsFunc(f.Troubles, func(t Trouble) bool { return t.Collector == first[0].name }) {
			found.add(Error, "no MetaX GPU is on the PCI bus", "without one there is nothing to give to a container", "echo 1 > /sys/bus/pci/rescan && lspci -nn -d 9999:")
		}
	}},
	{"driver-loaded", "the kernel module metax is loaded", func(f *Facts, found *findings) {
		if len(f.Kernel.GPUs) > 0 && !f.Kernel.Module.Loaded && !f.allFor(vfio) {
			found.add(Error, fmt.Sprintf("%s on the PCI bus, and the kernel module metax is not loaded", are(len(f.Kernel.GPUs), "GPU")),
				"the module makes the device nodes of the GPUs", "modprobe metax")
		}
	}},
	each("driver-bound", "the driver has every GPU", (*Facts).functions, func(f *Facts, fn Function, found *findings) {
		switch {
		case !f.Kernel.Module.Loaded || fn.Driver == driver || fn.Driver == vfio:
		case fn.Driver == "":
			found.add(Error, fmt.Sprintf("no driver has GPU %s, though the module metax is loaded", fn.BDF),
				"it has no device nodes, so that no container gets it", fmt.Sprintf("echo %s > /sys/bus/pci/drivers/metax/bind", fn.BDF))
		default:
			found.add(Error, fmt.Sprintf("the driver %s has GPU %s", fn.Driver, fn.BDF), "only the driver metax makes its device nodes",
				fmt.Sprintf("echo %s > /sys/bus/pci/drivers/%s/unbind && echo %s > /sys/bus/pci/drivers/metax/bind", fn.BDF, fn.Driver, fn.BDF))
		}
	}),
	{"driver-vfio", "no GPU is set aside for virtual machines", func(f *Facts, found *findings) {
		if set := those(f.Kernel.Functions, func(fn Function) bool { return fn.Driver == vfio }, func(fn Function) string { return fn.BDF.String() }); set != nil {
			found.add(Info, fmt.Sprintf("GPU %s: set aside for virtual machines, by the driver vfio-pci", list(set)), "containers do not get it",
				fmt.Sprintf("echo %s > /sys/bus/pci/drivers/vfio-pci/unbind && echo %s > /sys/bus/pci/drivers/metax/bind", set[0], set[0]))
		}
	}},
	{"iommu", "there is an IOMMU where GPUs are for virtual machines", func(f *Facts, found *findings) {
		if !f.Kernel.IOMMU && slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Driver == vfio }) {
			found.add(Warning, "a GPU is set aside for virtual machines, and the kernel uses no IOMMU", "no virtual machine can be given it",
				`add "intel_iommu=on iommu=pt" (on AMD "iommu=pt") to the kernel's command line, and reboot`)
		}
	}},
	each("gpu-alive", "every GPU answers on the PCI bus", (*Facts).functions, func(_ *Facts, fn Function, found *findings) {
		if fn.Dead {
			found.add(Error, fmt.Sprintf("GPU %s does not answer: it has fallen off the bus", fn.BDF),
				"programs that use it hang or fail; a reset or a power cycle may bring it back",
				fmt.Sprintf("echo 1 > /sys/bus/pci/devices/%s/remove && echo 1 > /sys/bus/pci/rescan", fn.BDF))
		}
	}),
	each("pcie-width", "every GPU has all lanes of its PCIe link", (*Facts).functions, func(_ *Facts, fn Function, found *findings) {
		if fn.Width > 0 && fn.Width < fn.MaxWidth && !fn.Dead {
			found.add(Warning, fmt.Sprintf("GPU %s uses %d of the %d lanes of its PCIe link", fn.BDF, fn.Width, fn.MaxWidth),
				"copies to and from it take as much longer; a card that sits badly, a riser or a slot is the usual cause",
				fmt.Sprintf("lspci -vv -s %s | grep LnkSta", fn.BDF))
		}
	}),
	each("numa", "the place of every GPU among the memory nodes is known", (*Facts).functions, func(f *Facts, fn Function, found *findings) {
		if fn.NUMA < 0 && f.Kernel.NUMANodes > 1 && len(f.Kernel.Functions) > 1 {
			found.add(Warning, fmt.Sprintf("the firmware does not say at which of %d memory nodes GPU %s is", f.Kernel.NUMANodes, fn.BDF),
				"GPUs are then picked without regard to the CPUs that they hang from",
				fmt.Sprintf("echo 0 > /sys/bus/pci/devices/%s/numa_node, or the node that the board's manual names", fn.BDF))
		}
	}),
}

// allFor reports whether one driver has all GPUs.
func (f *Facts) allFor(name string) bool {
	return !slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Driver != name })
}

var nodeChecks = []Check{
	each("drm-minors", "the driver made a card and a render node for every GPU", (*Facts).functions, func(_ *Facts, fn Function, found *findings) {
		if fn.Driver != driver {
			return
		}
		missing := slices.DeleteFunc([]string{"card", "renderD"}, func(kind string) bool {
			return slices.ContainsFunc(fn.DRM, func(name string) bool { return strings.HasPrefix(name, kind) })
		})
		if len(missing) > 0 {
			found.add(Error, fmt.Sprintf("the driver made no %s node for GPU %s", strings.Join(missing, " and no "), fn.BDF),
				"no container gets a GPU without both of its nodes; the kernel's log says why", "dmesg | grep -i metax; "+reload)
		}
	}),
	{"dev-nodes", "every node of the driver is in /dev", func(f *Facts, found *findings) {
		missing := those(f.Kernel.Nodes, func(n DeviceNode) bool { return !n.Present && n.Numbers != "" }, func(n DeviceNode) string { return n.Path })
		if missing != nil {
			found.add(Error, list(missing)+": missing, though the driver has made it", "no container gets a GPU without both of its nodes",
				"udevadm trigger --action=add --subsystem-match=drm && udevadm settle")
		}
	}},
	each("dev-stale", "every node in /dev is the driver's", func(f *Facts) []DeviceNode { return f.Kernel.Nodes }, func(f *Facts, n DeviceNode, found *findings) {
		is := "no character device"
		if n.Device != nil {
			is = numbers(*n.Device)
		}
		if n.Present && (n.Device == nil || n.Numbers != "" && n.Numbers != is) {
			want := "a device of the driver's"
			if n.Numbers != "" {
				want = n.Numbers
			}
			found.add(Error, fmt.Sprintf("%s is %s, not %s", n.Path, is, want), "a container would get something else than the GPU",
				fmt.Sprintf("rm %s && udevadm trigger --action=add && udevadm settle", f.at(n.Path)))
		}
	}),
	{"mxcd", "/dev/mxcd is there", func(f *Facts, found *findings) {
		if !f.Kernel.Module.Loaded || len(f.Kernel.GPUs) == 0 {
			return
		}
		if i := slices.IndexFunc(f.Kernel.Nodes, func(n DeviceNode) bool { return n.Path == "/dev/mxcd" }); i >= 0 && f.Kernel.Nodes[i].Present {
			return
		}
		found.add(Error, "/dev/mxcd is missing, though the driver is loaded", "every program that computes opens it", "udevadm trigger --action=add; ls /dev/mxcd || { "+reload+"; }")
	}},
	each("node-mode", "the group of every device node may use it", (*Facts).closed, func(f *Facts, n DeviceNode, found *findings) {
		if n.Device.Perm&0o060 == 0o060 && n.Device.GID != 0 {
			return
		}
		group := cmp.Or(n.Device.GID, video)
		found.add(Warning, fmt.Sprintf("only root can open %s (mode %04o, group %d)", n.Path, n.Device.Perm, n.Device.GID),
			"users other than root, in a container or outside, cannot use the GPU; a udev rule makes it last over a boot",
			fmt.Sprintf("chgrp %d %s && chmod 0660 %s", group, f.at(n.Path), f.at(n.Path)))
	}),
	{"node-group", "the group of every device node has a name", func(f *Facts, found *findings) {
		seen := map[uint32]bool{0: true}
		for _, n := range f.closed() {
			if seen[n.Device.GID] || len(f.System.Groups) == 0 {
				continue
			}
			seen[n.Device.GID] = true
			if _, named := f.System.Groups[n.Device.GID]; !named {
				found.add(Warning, fmt.Sprintf("%s belongs to group %d, which has no name", n.Path, n.Device.GID),
					"nobody can be made a member of it", fmt.Sprintf("groupadd --system --gid %d metax", n.Device.GID))
			}
		}
	}},
	{"char-links", "systemd finds every device node by its number", func(f *Facts, found *findings) {
		if !f.Kernel.CharDir && !f.Kernel.Systemd {
			return
		}
		var missing, astray []string
		var steps []Step
		for _, n := range f.Kernel.Nodes {
			if n.Device == nil || n.Link {
				continue
			}
			if n.Astray {
				astray = append(astray, f.at("/dev/char/"+numbers(*n.Device)))
			}
			if len(steps) == 0 && !f.Kernel.CharDir {
				steps = append(steps, Step{Directory: f.at("/dev/char")})
			}
			missing = append(missing, n.Path)
			steps = append(steps, Step{Link: f.at("/dev/char/" + numbers(*n.Device)), Target: ".." + strings.TrimPrefix(n.Path, "/dev")})
		}
		if missing == nil {
			return
		}
		what, why := "no link in /dev/char leads to "+list(missing), "where systemd manages cgroups, a container loses the device at the next systemctl daemon-reload"
		if astray != nil {
			found.add(Warning, what, why, fmt.Sprintf("rm %s\n%s", strings.Join(astray, " "), commands(steps)))
			return
		}
		found.mend(Warning, what, why, steps...)
	}},
}

// video is the group of graphics devices on Debian and its kin.
const video = 44

func numbers(d hostfs.Device) string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// those are the names of things that a test holds for; nil without any.
func those[T any](all []T, are func(T) bool, name func(T) string) []string {
	var names []string
	for _, one := range all {
		if are(one) {
			names = append(names, name(one))
		}
	}
	return names
}

// list names some things; of many, the first ones.
func list(names []string) string { return wording.Some(names, 6) }

// are counts things in a sentence: "1 GPU is", "2 GPUs are".
func are(n int, thing string) string {
	if n == 1 {
		return wording.Count(n, thing) + " is"
	}
	return wording.Count(n, thing) + " are"
}
