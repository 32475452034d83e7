// SPDX-License-Identifier: Apache-2.0

package sim

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/sim/smi"
)

// addSystemFiles adds the files about the host itself.
func (h *host) addSystemFiles() {
	h.addFile("etc/hostname", h.node.Name+"\n")
	h.addFile("etc/os-release", "ID=sim\nNAME=\"Simulated MetaX node\"\nPRETTY_NAME=\"Simulated MetaX node\"\n")
	h.addFile("proc/sys/kernel/random/boot_id", formatUUID(identityBytes(h.node.Name, -1))+"\n")

	// Programs need these devices if /dev and /sys of the tree are mounted over those
	// of a machine.
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		h.addEntry("dev/"+name, Device{Major: 1, Minor: minor, Perm: 0o666})
	}
	h.addEntry("dev/tty", Device{Major: 5, Perm: 0o666, GID: 5})
	for _, mountPoint := range []string{"dev/pts", "dev/shm", "sys/fs/cgroup"} {
		h.addEntry(mountPoint, Dir{})
	}

	if h.loaded() {
		bus := "sys/bus/pci/drivers/" + module
		h.addLink(bus+"/module", "sys/module/"+module)
		h.addLink("sys/module/"+module+"/drivers/pci:"+module, bus)
		h.addFile("sys/module/"+module+"/initstate", "live\n")
		if d := h.node.Driver; d != nil {
			if d.Version != "" {
				h.addFile("sys/module/"+module+"/version", d.Version+"\n")
			}
			h.addKernelModules(d.Mode)
		}
		modules := fmt.Sprintf("%s 1605632 %d - Live 0x0000000000000000 (OE)\n", module, len(h.node.GPUs))
		if slices.ContainsFunc(h.fabric.gpus, func(f function) bool { return f.driver == pfModule }) {
			name := strings.ToLower(pfModule)
			h.addFile("sys/module/"+name+"/initstate", "live\n")
			modules += name + " 409600 0 - Live 0x0000000000000000 (OE)\n"
		}
		h.addFile("proc/modules", modules)
	}
	devices := fmt.Sprintf("Character devices:\n%3d drm\n", drmMajor)
	if s := h.node.Shared; s != nil && len(s.Nodes) > 0 {
		devices += fmt.Sprintf("%3d mxcd\n", sharedMajor)
	}
	if slices.ContainsFunc(h.node.GPUs, hasOwnNode) {
		devices += fmt.Sprintf("%3d mxsgpu\n", slicedMajor)
	}
	h.addFile("proc/devices", devices+"\nBlock devices:\n")
}

// kernel is the release of the simulated kernel.
const kernel = "6.8.0-31-generic"

// addKernelModules adds the list of the modules that are installed on the host: with the
// driver in the mode native, without it in the mode cloud.
func (h *host) addKernelModules(mode string) {
	list := "kernel/drivers/gpu/drm/drm.ko:\n"
	switch mode {
	case gpu.DriverNative:
		list += "updates/dkms/" + module + ".ko: kernel/drivers/gpu/drm/drm.ko\n"
	case gpu.DriverCloud: // no module of MetaX
	default:
		return
	}
	h.addFile("proc/sys/kernel/osrelease", kernel+"\n")
	h.addFile("lib/modules/"+kernel+"/modules.dep", list)
}

// loaded reports whether the node has anything that only a loaded kernel driver
// provides.
func (h *host) loaded() bool {
	return h.node.Driver != nil || h.node.Shared != nil ||
		slices.ContainsFunc(h.node.GPUs, func(g gpu.GPU) bool { return len(g.Nodes) > 0 })
}

// libraries are the shared libraries of the driver's user-space part and of MXMACA,
// below "driver" and "maca". They represent the many libraries of a real installation:
// one in each directory that the vendor's images name in LD_LIBRARY_PATH, and some that
// need each other.
//
//go:embed libraries.txtar
var libraries []byte

// addSoftware adds the driver's user-space part and MXMACA.
func (h *host) addSoftware() {
	if d := h.node.Driver; d != nil && d.Path != "" {
		home := inTree(d.Path)
		h.addLibraries("driver", home)
		h.addFile(path.Join(home, smi.FactsFile), h.smiFacts().Text())
	}
	if m := h.node.MACA; m != nil && m.Path != "" {
		home := inTree(m.Path)
		if m.Version != "" {
			// The vendor's package installs to a path with the version and links the
			// usual path to it by an absolute path. A program that follows that link
			// outside the host's root reaches the wrong directory.
			h.addEntry(home, Link(m.Path+"-"+m.Version))
			home += "-" + m.Version
			h.addFile(home+"/Version.txt", "Version:"+m.Version+"\n")
		}
		h.addEntry(home+"/bin/macainfo", File{Data: "#!/bin/sh\nprintf '%s\\n' " +
			dockerargs.QuoteWord("MXMACA "+m.Version+" (simulated)") + "\n", Perm: 0o755})
		for name, says := range map[string]string{
			"mxgpu_llvm/bin/mxcc":      "mxcc (simulated)",
			"tools/cu-bridge/bin/cucc": "cucc of ${CUCC_PATH:-?} (simulated)",
		} {
			h.addEntry(home+"/"+name, File{Data: "#!/bin/sh\necho \"" + says + "\"\n", Perm: 0o755})
		}
		h.addLibraries("maca", home)
	}
}

// addLibraries adds the libraries of the driver or of MXMACA.
func (h *host) addLibraries(kind, home string) {
	tree, err := hosttree.Parse(libraries)
	h.err = errors.Join(h.err, err)
	for p, file := range tree {
		if below, ok := strings.CutPrefix(p, kind+"/"); ok {
			h.addEntry(path.Join(home, below), file)
		}
	}
}

// inTree converts a host's absolute path to a path of the tree.
func inTree(p string) string { return strings.TrimPrefix(p, "/") }
