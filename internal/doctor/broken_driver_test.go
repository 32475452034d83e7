// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// unloadDriver takes away what only a loaded driver makes.
func unloadDriver(b *bench) {
	b.drop("sys/module/metax", "sys/bus/pci/drivers/metax", "dev/dri", "dev/mxcd", "dev/char")
	for p := range b.tree {
		if path.Base(p) == "driver" || strings.Contains(p, "/drm/") {
			delete(b.tree, p)
		}
	}
}

// brokenDrivers are nodes whose driver, nodes or vendor software are broken.
var brokenDrivers = []brokenNode{
	{
		check: "looked", severity: Warning, what: "drift of CDI specs could not be inspected: make the spec of kind metax-tech.com/gpu: made to fail", fix: "metax-ctk --root DIR doctor",
		host: func(b *bench) {
			b.c.Want = func(gpu.Node, cdi.Options) (*specs.Spec, error) { return nil, errors.New("made to fail") }
		},
	},
	{
		check: "gpu-present", severity: Error, what: "no MetaX GPU is on the PCI bus, though MetaX software is installed", fix: "echo 1 > /sys/bus/pci/rescan && lspci -nn -d 9999:",
		tree: func(b *bench) {
			for p, e := range b.tree {
				if f, ok := e.(sim.File); ok && path.Base(p) == "vendor" && strings.HasPrefix(f.Data, "0x9999") {
					b.tree[p] = sim.File{Data: "0x8086\n"}
				}
			}
			b.drop("opt")
		},
		host: func(b *bench) { b.must(errors.Join(os.Remove(b.path(gpuSpec)), os.Remove(b.path(recordPath)))) },
	},
	{
		check: "gpu-present", name: "nothing installed", severity: Error, what: "no MetaX GPU in this machine (lspci -d 9999: is empty)", fix: "metax-ctk --node c500-8 topology print",
		tree: func(b *bench) {
			b.drop("sys/bus/pci/devices", "sys/module/metax", "sys/bus/pci/drivers/metax", "dev", "opt", "usr/bin/mx-smi")
			b.tree["sys/bus/pci/devices"] = sim.Dir{}
		},
		host: func(b *bench) { b.must(errors.Join(os.Remove(b.path(gpuSpec)), os.Remove(b.path(recordPath)))) },
	},
	{
		check: "driver-loaded", name: "not installed", severity: Error, what: "8 GPUs are on the PCI bus, but the MetaX driver is not installed: kernel 6.1.0-18-amd64 has no module metax",
		fix: "# install the MetaX driver for this kernel (after a kernel update: again), then: modprobe metax",
		tree: func(b *bench) {
			unloadDriver(b)
			b.tree["lib/modules/6.1.0-18-amd64/modules.dep"] = sim.File{Data: "kernel/other.ko:\n"}
		},
	},
	{
		check: "driver-loaded", severity: Error, what: "8 GPUs are on the PCI bus, but the kernel module metax is not loaded", fix: "modprobe metax",
		tree: unloadDriver,
	},
	{
		check: "driver-bound", severity: Error, what: "GPU " + bdf0 + " is bound to no driver", fix: "echo " + bdf0 + " > /sys/bus/pci/drivers/metax/bind",
		tree: func(b *bench) { b.drop(sysfs0+"/driver", sysfs0+"/drm", "usr/bin/mx-smi", "opt/mxdriver/bin") },
	},
	{
		check: "driver-bound", name: "another", severity: Error, what: "GPU " + bdf0 + " is bound to the driver other",
		fix: "echo " + bdf0 + " > /sys/bus/pci/drivers/other/unbind && echo " + bdf0 + " > /sys/bus/pci/drivers/metax/bind",
		tree: func(b *bench) {
			b.drop(sysfs0+"/driver", sysfs0+"/drm", "usr/bin/mx-smi", "opt/mxdriver/bin")
			b.tree[sysfs0+"/driver"] = sim.Link("/sys/bus/pci/drivers/other")
			b.tree["sys/bus/pci/drivers/other"] = sim.Dir{}
		},
	},
	{
		check: "gpu-alive", severity: Error, what: "GPU " + bdf0 + " does not answer", fix: "echo 1 > /sys/bus/pci/devices/" + bdf0 + "/remove && echo 1 > /sys/bus/pci/rescan",
		tree: func(b *bench) { b.tree[sysfs0+"/config"] = sim.File{Data: "\xff\xff\xff\xff\xff\xff\xff\xff"} },
	},
	{
		check: "pcie-width", severity: Warning, what: "uses 8 of the 16 lanes", fix: "lspci -vv -s " + bdf0 + " | grep LnkSta",
		tree: func(b *bench) {
			b.tree[sysfs0+"/current_link_width"], b.tree[sysfs0+"/max_link_width"] = sim.File{Data: "8\n"}, sim.File{Data: "16\n"}
		},
	},
	{
		check: "numa", severity: Warning, what: "the NUMA node of GPU " + bdf0 + " (this host has 2)", fix: "echo 0 > /sys/bus/pci/devices/" + bdf0 + "/numa_node   # 0, or the NUMA node from the board's manual",
		tree: func(b *bench) { b.tree[sysfs0+"/numa_node"] = sim.File{Data: "-1\n"} },
	},
	{
		check: "drm-minors", severity: Error, what: "the driver made no renderD node for GPU " + bdf0, fix: "dmesg | grep -i metax; modprobe -r metax && modprobe metax",
		tree: func(b *bench) { b.drop(sysfs0+"/drm/renderD128", "dev/dri/renderD128") },
	},
	{
		check: "dev-nodes", severity: Error, what: "/dev/dri/renderD128: missing, though the driver has made it",
		fix:  "udevadm trigger --action=add --subsystem-match=drm && udevadm settle",
		tree: func(b *bench) { b.drop("dev/dri/renderD128") },
	},
	{
		check: "dev-stale", severity: Error, what: "/dev/dri/renderD128 is 226:99, not 226:128", fix: "rm DIR/dev/dri/renderD128 && udevadm trigger --action=add && udevadm settle",
		tree: func(b *bench) {
			b.tree["dev/dri/renderD128"] = sim.Device{Major: 226, Minor: 99, Perm: 0o660, GID: 44}
			b.tree["dev/char/226:99"] = sim.Link("../dri/renderD128")
		},
	},
	{
		check: "dev-stale", name: "a file", severity: Error, what: "/dev/mxcd is not a character device, not a device of the driver",
		fix:  "rm DIR/dev/mxcd && udevadm trigger --action=add && udevadm settle",
		tree: func(b *bench) { b.tree["dev/mxcd"] = sim.File{Data: "text"} },
	},
	{
		check: "mxcd", severity: Error, what: "/dev/mxcd is missing", fix: "udevadm trigger --action=add; ls /dev/mxcd || { modprobe -r metax && modprobe metax; }",
		tree: func(b *bench) { b.drop("dev/mxcd") },
	},
	{
		check: "node-mode", severity: Warning, what: "only root can open /dev/mxcd (mode 0600, group 0)", fix: "chgrp 44 DIR/dev/mxcd && chmod 0660 DIR/dev/mxcd",
		tree: func(b *bench) { b.tree["dev/mxcd"] = sim.Device{Major: 511, Perm: 0o600} },
		host: (*bench).rewrite,
	},
	{
		check: "node-mode", name: "render", severity: Warning, what: "only root can open /dev/dri/renderD130 (mode 0640, group 44)", fix: "chgrp 44 DIR/dev/dri/renderD130 && chmod 0660 DIR/dev/dri/renderD130",
		tree: func(b *bench) {
			b.tree["dev/dri/renderD130"] = sim.Device{Major: 226, Minor: 130, Perm: 0o640, GID: 44}
		},
	},
	{
		check: "node-group", severity: Warning, what: "belongs to group 44, which has no name", fix: "groupadd --system --gid 44 metax",
		tree: func(b *bench) { b.tree["etc/group"] = sim.File{Data: "root:x:0:\n"} },
	},
	{
		check: "char-links", severity: Warning, what: "no link in /dev/char leads to /dev/mxcd", fix: "ln -s ../mxcd DIR/dev/char/511:0",
		tree: func(b *bench) { b.drop("dev/char/511:0") },
	},
	{
		check: "char-links", name: "astray", severity: Warning, what: "no link in /dev/char leads to /dev/mxcd", fix: "rm DIR/dev/char/511:0\nln -s ../mxcd DIR/dev/char/511:0",
		tree: func(b *bench) { b.tree["dev/char/511:0"] = sim.Link("../dri/card1") },
	},
	{
		check: "driver-vfio", severity: Info, what: "GPU " + bdf0 + ": set aside for virtual machines",
		fix: "echo " + bdf0 + " > /sys/bus/pci/drivers/vfio-pci/unbind && echo " + bdf0 + " > /sys/bus/pci/drivers/metax/bind",
		tree: func(b *bench) {
			b.simulated = true
			b.vfio()
			b.tree["sys/kernel/iommu_groups/1"] = sim.Dir{}
		},
		host: (*bench).rewrite,
	},
	{
		check: "iommu", severity: Warning, what: "the kernel uses no IOMMU", fix: "# add to the kernel's command line: intel_iommu=on iommu=pt (on AMD: iommu=pt); then: reboot",
		tree: func(b *bench) { b.simulated = true; b.vfio() }, host: func(b *bench) { b.rewrite(); b.leave("driver-vfio") },
	},
	{
		check: "gpu-health", severity: Error, what: "GPU 6 (0000:37:00.0) is not healthy", fix: "mx-smi -i 0000:37:00.0 -r", node: "c500-8-degraded",
	},
	{
		check: "gpu-seen", severity: Error, what: "lists GPU 0000:38:00.0, but the kernel does not show it", fix: "echo 1 > /sys/bus/pci/rescan",
		tree: func(b *bench) {
			b.drop("sys/bus/pci/devices/0000:38:00.0", "dev/dri/card8", "dev/dri/renderD135")
			var list strings.Builder
			for _, g := range simulated(b.t, b.name).GPUs {
				fmt.Fprintf(&list, "GPU#%d    MXC500      %s   Available (UUID: %s)\n", g.Index, g.BDF, g.UUID)
			}
			b.tree["opt/mxdriver/bin/mx-smi"] = sim.File{Data: "#!/bin/sh\n[ \"$1\" = -L ] || exit 0\ncat <<.\nmx-smi  version: 2.2.9\n" + list.String() + ".\n", Perm: 0o755}
		},
		host: (*bench).rewrite,
	},
	{
		check: "gpu-lost", severity: Error, what: "GPU 0000:38:00.0: recorded since this boot, but gone", fix: "echo 1 > /sys/bus/pci/rescan",
		tree: func(b *bench) {
			b.simulated = true
			b.drop("sys/bus/pci/devices/0000:38:00.0", "dev/dri/card8", "dev/dri/renderD135")
		},
		host: func(b *bench) { b.generate(cdi.Options{}) },
	},
	{
		check: "link-down", severity: Warning, what: "MetaXLink is down between GPUs 0–1", fix: "mx-smi topo -m",
		host: func(b *bench) { b.facts(func(f *Facts) { f.Node.Links[0].Down = true }) },
	},
	{
		check: "slices", severity: Warning, what: "GPU 2: in slice mode, without a slice", fix: "metax-ctk --root DIR sgpu create 2 --compute 50 --vram 16G", node: "c500-8-sgpu",
		tree: func(b *bench) {
			b.simulated = true
			for p := range b.tree {
				if strings.Contains(p, "/sgpu/sgpu") || strings.HasPrefix(p, "dev/mxsgpu") {
					delete(b.tree, p)
				}
			}
		},
		host: (*bench).rewrite,
	},
	{
		check: "vf-nodes", severity: Info, what: "no device nodes", fix: "echo 0000:36:00.1 > /sys/bus/pci/drivers/metax/bind", node: "c500-8-sgpu",
		tree: func(b *bench) {
			b.simulated = true
			for p := range b.tree {
				if strings.Contains(p, "/0000:36:00.1/drm") {
					delete(b.tree, p)
				}
			}
		},
		host: (*bench).rewrite,
	},
	{
		check: "mx-smi", severity: Warning, what: "neither mx-smi nor libmxsml is in /opt/mxdriver", fix: "# reinstall the vendor's driver package, then: ls /opt/mxdriver/bin/mx-smi",
		tree: func(b *bench) {
			b.drop("opt/mxdriver", "usr/bin/mx-smi")
			b.tree["opt/mxdriver/share/readme"] = sim.File{Data: "x"}
		},
	},
	{
		check: "mx-smi-answers", severity: Warning, what: "opt/mxdriver/bin/mx-smi", fix: "DIR/opt/mxdriver/bin/mx-smi -L",
		tree: func(b *bench) {
			b.tree["opt/mxdriver/bin/mx-smi"] = sim.File{Data: "#!/bin/sh\necho no driver >&2\nexit 1\n", Perm: 0o755}
		},
		host: (*bench).rewrite,
	},
	{
		check: "mx-smi-answers", name: "hangs", severity: Warning, what: "deadline exceeded", fix: "DIR/opt/mxdriver/bin/mx-smi -L",
		tree: func(b *bench) {
			b.tree["opt/mxdriver/bin/mx-smi"] = sim.File{Data: "#!/bin/sh\nexec sleep 100\n", Perm: 0o755}
		},
		host: (*bench).rewrite,
	},
	{
		check: "mx-smi-quick", severity: Warning, what: "mx-smi -L took 3s", fix: "time DIR/opt/mxdriver/bin/mx-smi -L",
		host: func(b *bench) {
			b.facts(func(f *Facts) {
				for i := range f.Node.SMI {
					if strings.HasSuffix(f.Node.SMI[i].Command, " -L") {
						f.Node.SMI[i].Took = 3 * time.Second
					}
				}
			})
		},
	},
	{
		check: "libmxsml-answers", severity: Warning, what: "run metax-mxsml: crashed", fix: "metax-mxsml DIR/opt/mxdriver/lib/libmxsml.so node",
		host: func(b *bench) {
			b.c.Library = func(context.Context, ...string) ([]byte, error) { return nil, errors.New("run metax-mxsml: crashed") }
		},
	},
	{
		check: "libmxsml-quick", severity: Warning, what: "node took 3s", fix: "time metax-mxsml DIR/opt/mxdriver/lib/libmxsml.so node",
		host: func(b *bench) {
			b.facts(func(f *Facts) {
				f.Node.Library = []Call{{Command: "metax-mxsml " + b.path("opt/mxdriver/lib/libmxsml.so") + " node", Took: 3 * time.Second}}
			})
		},
	},
	{
		check: "driver-files", severity: Warning, what: "/opt/mxdriver is missing or empty", fix: "# reinstall the vendor's driver package, then: metax-ctk --root DIR cdi generate",
		tree: func(b *bench) { b.drop("opt/mxdriver", "usr/bin/mx-smi") },
		host: (*bench).rewrite,
	},
	{
		check: "maca-link", severity: Warning, what: "/opt/maca leads to /opt/maca-9, which does not exist", fix: "ln -sfn /opt/maca-3.3.0.15 DIR/opt/maca",
		tree: func(b *bench) { b.tree["opt/maca"] = sim.Link("/opt/maca-9") },
	},
	{
		check: "maca-version", severity: Warning, what: "does not contain the version", fix: "# with its own version: echo Version:3.3.0.15 > /opt/maca/Version.txt",
		tree: func(b *bench) { b.drop("opt/maca-3.3.0.15/Version.txt") },
	},
	{
		check: "maca-driver", severity: Warning, what: "2.15.9", fix: "metax-ctk --root DIR maca list   # choose one that works with the driver, or install a driver that this one needs",
		tree: func(b *bench) { b.tree["sys/module/metax/version"] = sim.File{Data: "2.15.9\n"} },
	},
}
