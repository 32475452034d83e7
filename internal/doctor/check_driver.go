// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The kernel drivers that a GPU may be bound to.
const (
	driver = "metax"
	vfio   = "vfio-pci"
)

// reload loads the driver again; no program may use a GPU meanwhile.
const reload = "modprobe -r metax && modprobe metax"

var collectorChecks = []Check{
	checkEach("looked", "doctor could inspect everything", nil, func(f *Facts) []Trouble { return f.Troubles },
		func(f *Facts, t Trouble, found *findings) {
			found.add(Warning, fmt.Sprintf("%s could not be inspected: %s", t.Collector, t.Err),
				"problems there are not detected", f.ctkCommand("doctor"))
		}),
}

var driverChecks = []Check{
	{
		ID: "gpu-present", Title: "there is a MetaX GPU on the PCI bus", applies: ifCollected("PCI and device nodes", nil),
		run: func(f *Facts, found *findings) {
			switch {
			case len(f.Kernel.GPUs) > 0 ||
				slices.ContainsFunc(f.Troubles, func(t Trouble) bool { return t.Collector == firstRound[0].name }):
				// there is one, or it is not known
			case f.Record.Present || f.Kernel.Module.Loaded || f.Software.Driver || f.Software.MACA || f.Software.SMI:
				found.add(Error, "no MetaX GPU is on the PCI bus, though MetaX software is installed",
					"containers cannot get a GPU",
					"echo 1 > /sys/bus/pci/rescan && lspci -nn -d 9999:")
			default:
				found.add(Error, "no MetaX GPU in this machine (lspci -d 9999: is empty)",
					"the toolkit has no GPU to give to containers; to try it without one, there are simulated nodes",
					"metax-ctk --node c500-8 topology print")
			}
		},
	},
	{ID: "driver-loaded", Title: "the kernel module metax is loaded", applies: func(f *Facts) bool {
		return len(
			f.Kernel.GPUs) > 0 && !f.allBoundTo(vfio)
	}, run: func(f *Facts, found *findings) {
		if len(f.Kernel.GPUs) == 0 || f.Kernel.Module.Loaded || f.allBoundTo(vfio) {
			return
		}
		what, fix := "but the kernel module metax is not loaded", "modprobe metax"
		if f.Kernel.Absent {
			what = fmt.Sprintf("but the MetaX driver is not installed: kernel %s has no module metax", f.System.Kernel)
			fix = "# install the MetaX driver for this kernel (after a kernel update: again), then: modprobe metax"
		}
		found.add(Error, fmt.Sprintf("%s on the PCI bus, %s", countAre(len(f.Kernel.GPUs), "GPU"), what),
			"without it the GPUs have no device nodes, so containers cannot get them", fix)
	}},
	checkEach("driver-bound", "every GPU is bound to the driver metax", (*Facts).driverLoaded, (*Facts).pciFunctions,
		func(f *Facts, fn Function, found *findings) {
			switch {
			case !f.Kernel.Module.Loaded || sysfs.ServesGPUs(fn.Driver) || fn.Driver == vfio: // bound as it should be
			case fn.Driver == "":
				found.add(Error, fmt.Sprintf("GPU %s is bound to no driver, though the module metax is loaded", fn.BDF),
					"it has no device nodes, so no container gets it", fmt.Sprintf("echo %s > /sys/bus/pci/drivers/metax/bind",
						fn.BDF))
			default:
				found.add(Error, fmt.Sprintf("GPU %s is bound to the driver %s", fn.BDF, fn.Driver),
					"only the driver metax makes its device nodes",
					fmt.Sprintf("echo %s > /sys/bus/pci/drivers/%s/unbind && echo %s > /sys/bus/pci/drivers/metax/bind", fn.BDF,
						fn.Driver, fn.BDF))
			}
		}),
	{
		ID: "driver-vfio", Title: "no GPU is set aside for virtual machines",
		applies: ifCollected("PCI and device nodes", (*Facts).hasFunctions), run: func(f *Facts, found *findings) {
			if set := namesWhere(f.Kernel.Functions, func(fn Function) bool { return fn.Driver == vfio },
				func(fn Function) string { return fn.BDF.String() }); set != nil {
				found.add(Info, fmt.Sprintf("GPU %s: set aside for virtual machines, by the driver vfio-pci", shortList(set)),
					"containers do not get it",
					fmt.Sprintf("echo %s > /sys/bus/pci/drivers/vfio-pci/unbind && echo %s > /sys/bus/pci/drivers/metax/bind", set[0],
						set[0]))
			}
		},
	},
	{
		ID: "iommu", Title: "an IOMMU is in use if GPUs are set aside for virtual machines",
		applies: func(f *Facts) bool { return f.anyBoundTo(vfio) }, run: func(f *Facts, found *findings) {
			if !f.Kernel.IOMMU && slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Driver == vfio }) {
				found.add(Warning, "a GPU is set aside for virtual machines, but the kernel uses no IOMMU",
					"no virtual machine can use it",
					"# add to the kernel's command line: intel_iommu=on iommu=pt (on AMD: iommu=pt); then: reboot")
			}
		},
	},
	checkEach("gpu-alive", "every GPU answers on the PCI bus", (*Facts).hasFunctions, (*Facts).pciFunctions,
		func(_ *Facts, fn Function, found *findings) {
			if fn.Dead {
				found.add(Error, fmt.Sprintf("GPU %s does not answer: it has fallen off the bus", fn.BDF),
					"programs that use it hang or fail; a reset or a power cycle may bring it back",
					fmt.Sprintf("echo 1 > /sys/bus/pci/devices/%s/remove && echo 1 > /sys/bus/pci/rescan", fn.BDF))
			}
		}),
	checkEach("pcie-width", "every GPU has all lanes of its PCIe link", func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Width > 0 })
	}, (*Facts).pciFunctions, func(_ *Facts, fn Function, found *findings) {
		if fn.Width > 0 && fn.Width < fn.MaxWidth && !fn.Dead {
			found.add(Warning, fmt.Sprintf("GPU %s uses %d of the %d lanes of its PCIe link", fn.BDF, fn.Width, fn.MaxWidth),
				"copies to and from it are slower by that factor; usual causes are a badly seated card, a riser or the slot",
				fmt.Sprintf("lspci -vv -s %s | grep LnkSta", fn.BDF))
		}
	}),
	checkEach("numa", "the NUMA node of every GPU is known", func(f *Facts) bool {
		return f.Kernel.NUMANodes > 1 &&
			len(f.Kernel.Functions) > 1
	}, (*Facts).pciFunctions, func(f *Facts, fn Function, found *findings) {
		if fn.NUMA < 0 && f.Kernel.NUMANodes > 1 && len(f.Kernel.Functions) > 1 {
			found.add(Warning,
				fmt.Sprintf("the firmware does not report the NUMA node of GPU %s (this host has %d)", fn.BDF, f.Kernel.NUMANodes),
				"GPUs are chosen without regard to the CPUs near them",
				fmt.Sprintf("echo 0 > /sys/bus/pci/devices/%s/numa_node   # 0, or the NUMA node from the board's manual", fn.BDF))
		}
	}),
}

// allBoundTo reports whether all GPUs are bound to one driver.
func (f *Facts) allBoundTo(name string) bool {
	return !slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Driver != name })
}

var nodeChecks = []Check{
	checkEach("drm-minors", "the driver made a card and a render node for every GPU",
		func(f *Facts) bool {
			return f.anyBoundTo(
				driver)
		}, (*Facts).pciFunctions, func(_ *Facts, fn Function, found *findings) {
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
	{ID: "dev-nodes", Title: "every node of the driver is in /dev", applies: func(f *Facts) bool {
		return f.anyNode(
			func(n DeviceNode) bool { return n.Numbers != "" })
	}, run: func(f *Facts, found *findings) {
		missing := namesWhere(f.Kernel.Nodes, func(n DeviceNode) bool { return !n.Present && n.Numbers != "" },
			func(n DeviceNode) string { return n.Path })
		if missing != nil {
			found.add(Error, shortList(missing)+": missing, though the driver has made it",
				"no container gets a GPU without both of its nodes",
				"udevadm trigger --action=add --subsystem-match=drm && udevadm settle")
		}
	}},
	checkEach("dev-stale", "every node in /dev is a device of the driver",
		func(f *Facts) bool {
			return f.anyNode(
				func(n DeviceNode) bool { return n.Present })
		}, func(f *Facts) []DeviceNode { return f.Kernel.Nodes }, func(f *Facts, n DeviceNode, found *findings) {
			is := "not a character device"
			if n.Device != nil {
				is = deviceNumbers(*n.Device)
			}
			if n.Present && (n.Device == nil || (n.Numbers != "" && n.Numbers != is)) {
				want := "a device of the driver"
				if n.Numbers != "" {
					want = n.Numbers
				}
				found.add(Error, fmt.Sprintf("%s is %s, not %s", n.Path, is, want), "a container would get the wrong device",
					fmt.Sprintf("rm %s && udevadm trigger --action=add && udevadm settle", f.localPath(n.Path)))
			}
		}),
	{ID: "mxcd", Title: "/dev/mxcd is there", applies: (*Facts).driverLoaded, run: func(f *Facts, found *findings) {
		if !f.Kernel.Module.Loaded || len(f.Kernel.GPUs) == 0 {
			return
		}
		if i := slices.IndexFunc(f.Kernel.Nodes, func(n DeviceNode) bool { return n.Path == "/dev/mxcd" }); i >= 0 &&
			f.Kernel.Nodes[i].Present {
			return
		}
		found.add(Error, "/dev/mxcd is missing, though the driver is loaded", "every program that computes on a GPU opens it",
			"udevadm trigger --action=add; ls /dev/mxcd || { "+reload+"; }")
	}},
	checkEach("node-mode", "the group of every device node may use it", (*Facts).hasDevices, (*Facts).restrictedNodes,
		func(f *Facts, n DeviceNode, found *findings) {
			if n.Device.Perm&0o060 == 0o060 && n.Device.GID != 0 {
				return
			}
			group := cmp.Or(n.Device.GID, videoGroup)
			found.add(Warning, fmt.Sprintf("only root can open %s (mode %04o, group %d)", n.Path, n.Device.Perm, n.Device.GID),
				"users other than root, in a container or outside, cannot use the GPU; a udev rule makes the change permanent",
				fmt.Sprintf("chgrp %d %s && chmod 0660 %s", group, f.localPath(n.Path), f.localPath(n.Path)))
		}),
	{
		ID: "node-group", Title: "the group of every device node has a name",
		applies: func(f *Facts) bool { return f.hasDevices() && len(f.System.Groups) > 0 }, run: func(f *Facts,
			found *findings,
		) {
			seen := map[uint32]bool{0: true}
			for _, n := range f.restrictedNodes() {
				if seen[n.Device.GID] || len(f.System.Groups) == 0 {
					continue
				}
				seen[n.Device.GID] = true
				if _, named := f.System.Groups[n.Device.GID]; !named {
					found.add(Warning, fmt.Sprintf("%s belongs to group %d, which has no name", n.Path, n.Device.GID),
						"no user can be added to it", fmt.Sprintf("groupadd --system --gid %d metax", n.Device.GID))
				}
			}
		},
	},
	{
		ID: "char-links", Title: "systemd finds every device node by its number",
		applies: func(f *Facts) bool { return f.hasDevices() && (f.Kernel.CharDir || f.Kernel.Systemd) }, run: func(f *Facts,
			found *findings,
		) {
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
					astray = append(astray, f.localPath("/dev/char/"+deviceNumbers(*n.Device)))
				}
				if len(steps) == 0 && !f.Kernel.CharDir {
					steps = append(steps, Step{Directory: f.localPath("/dev/char")})
				}
				missing = append(missing, n.Path)
				steps = append(steps, Step{Link: f.localPath("/dev/char/" + deviceNumbers(*n.Device)), Target: ".." +
					strings.TrimPrefix(n.Path, "/dev")})
			}
			if missing == nil {
				return
			}
			what, why := "no link in /dev/char leads to "+shortList(
				missing), "where systemd manages cgroups, a container loses the device at the next systemctl daemon-reload"
			if astray != nil {
				found.add(Warning, what, why, fmt.Sprintf("rm %s\n%s", strings.Join(astray, " "), shellCommands(steps)))
				return
			}
			found.addSafe(Warning, what, why, steps...)
		},
	},
}

// videoGroup is the group of graphics devices on Debian and its derivatives.
const videoGroup = 44

func deviceNumbers(d hostfs.Device) string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// namesWhere are the names of the elements for which a test is true; nil if there are
// none.
func namesWhere[T any](all []T, are func(T) bool, name func(T) string) []string {
	var names []string
	for _, one := range all {
		if are(one) {
			names = append(names, name(one))
		}
	}
	return names
}

// shortList lists some names; of many, the first ones.
func shortList(names []string) string { return wording.Some(names, 6) }

// countAre counts things in a sentence: "1 GPU is", "2 GPUs are".
func countAre(n int, thing string) string {
	if n == 1 {
		return wording.Count(n, thing) + " is"
	}
	return wording.Count(n, thing) + " are"
}
