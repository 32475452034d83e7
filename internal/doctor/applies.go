package doctor

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// applies reports whether a check has something to examine: the facts that it is about
// were collected, and what it is about exists.
func (f *Facts) applies(id string) bool {
	collector, condition := collectorOf[id], conditions[id]
	failed := slices.ContainsFunc(f.Troubles, func(t Trouble) bool { return t.Collector == collector })
	return !failed && (condition == nil || condition(f))
}

// collectorOf is the collector whose failure leaves a check without facts, of checks
// whose conditions do not show it.
var collectorOf = map[string]string{
	"gpu-present": "PCI and device nodes", "driver-vfio": "PCI and device nodes",
	"spec-drift": "drift of CDI specs", "distributions": "containerd", "denials": "the system", "proc": "the system",
	"remote": "remote engines", "config": "programs", "config-mode": "programs",
}

// conditions are when checks apply; a check that is not listed always does.
var conditions = map[string]func(*Facts) bool{
	"driver-loaded": func(f *Facts) bool { return len(f.Kernel.GPUs) > 0 && !f.allBoundTo(vfio) },
	"driver-bound":  (*Facts).loaded,
	"driver-vfio":   (*Facts).hasFunctions,
	"iommu":         func(f *Facts) bool { return f.anyBoundTo(vfio) },
	"gpu-alive":     (*Facts).hasFunctions,
	"pcie-width": func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Width > 0 })
	},
	"numa": func(f *Facts) bool { return f.Kernel.NUMANodes > 1 && len(f.Kernel.Functions) > 1 },

	"drm-minors": func(f *Facts) bool { return f.anyBoundTo(driver) },
	"dev-nodes":  func(f *Facts) bool { return f.anyNode(func(n DeviceNode) bool { return n.Numbers != "" }) },
	"dev-stale":  func(f *Facts) bool { return f.anyNode(func(n DeviceNode) bool { return n.Present }) },
	"mxcd":       (*Facts).loaded,
	"node-mode":  (*Facts).hasDevices,
	"node-group": func(f *Facts) bool { return f.hasDevices() && len(f.System.Groups) > 0 },
	"char-links": func(f *Facts) bool { return f.hasDevices() && (f.Kernel.CharDir || f.Kernel.Systemd) },

	"gpu-health": func(f *Facts) bool { return f.loaded() && len(f.Node.GPUs) > 0 },
	"gpu-seen":   func(f *Facts) bool { return f.loaded() && len(f.Node.GPUs) > 0 },
	"gpu-lost": func(f *Facts) bool {
		return f.Record.Present && f.Record.Err == "" && !f.Record.Early && len(f.Kernel.GPUs) > 0
	},
	"link-down": func(f *Facts) bool { return len(f.Node.Links) > 0 },
	"slices": func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.GPUs, func(g gpu.GPU) bool { return g.Mode == gpu.ModeSGPU })
	},
	"vf-nodes": func(f *Facts) bool {
		return slices.ContainsFunc(f.Kernel.GPUs, func(g gpu.GPU) bool {
			return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceVF })
		})
	},

	"mx-smi":           func(f *Facts) bool { return f.Software.Driver },
	"mx-smi-answers":   func(f *Facts) bool { return len(f.Node.SMI) > 0 },
	"mx-smi-quick":     func(f *Facts) bool { return anyAnswered(f.Node.SMI) },
	"libmxsml-answers": func(f *Facts) bool { return len(f.Node.Library) > 0 },
	"libmxsml-quick":   func(f *Facts) bool { return anyAnswered(f.Node.Library) },
	"driver-files":     (*Facts).loaded,
	"maca-link":        func(f *Facts) bool { return f.Software.Link != "" },
	"maca-version":     func(f *Facts) bool { return f.Software.MACA },
	"maca-driver":      func(f *Facts) bool { return f.macaKnown(f.Software.Version) },
	"spec-dirs":        (*Facts).hasEngine,
	"spec-present":     (*Facts).driverUp,
	"spec-readable":    (*Facts).hasSpecFiles,
	"spec-writable":    func(f *Facts) bool { return len(f.Specs.Dirs) > len(f.Specs.Missing) },
	"spec-kind":        (*Facts).hasSpecFiles,
	"spec-form":        (*Facts).hasSpecFiles,
	"spec-conflict":    (*Facts).hasSpecFiles,
	"spec-shadowed":    (*Facts).hasSpecFiles,
	"spec-drift":       (*Facts).hasOurSpecs,
	"spec-hooks":       (*Facts).hasOurSpecs,
	"spec-files":       func(f *Facts) bool { return f.driverUp() && f.hasOurSpecs() },
	"spec-groups":      func(f *Facts) bool { return f.Specs.hasKind(gpuKind) },
	"spec-version":     func(f *Facts) bool { return f.hasEngine() && f.hasOurSpecs() },
	"cdi-names":        func(f *Facts) bool { return f.hasEngine() && f.Specs.hasKind(gpuKind) },
	"record":           func(f *Facts) bool { return f.driverUp() && f.hasSpec() },
	"record-drift": func(f *Facts) bool {
		return f.driverUp() && f.Node.Known && f.Record.Present && f.Record.Err == "" && !f.Record.Early
	},
	"docker-version": func(f *Facts) bool { return f.Engines.Docker.Version.Known() },
	"docker-config":  func(f *Facts) bool { return f.Engines.Docker.There() },
	"docker-answers": func(f *Facts) bool { return f.Engines.Docker.Info != nil },
	"docker-old":     func(f *Facts) bool { return f.Engines.Docker.Version.Known() },
	"docker-cdi":     func(f *Facts) bool { return f.Engines.Docker.Version.AtLeast(25, 0) && f.Engines.Docker.Broken == "" },
	"docker-boot":    func(f *Facts) bool { return f.Engines.Docker.Version.AtLeast(25, 0) && f.Specs.hasKind(gpuKind) },
	"docker-groups":  func(f *Facts) bool { return f.Engines.Docker.Version.AtLeast(25, 0) && f.Specs.hasKind(gpuKind) },
	"docker-userns":  func(f *Facts) bool { return f.Engines.Docker.There() && f.hasDevices() },
	"docker-devices": func(f *Facts) bool {
		return f.Engines.Docker.Info != nil && f.Engines.Docker.Version.AtLeast(28, 2) && f.Specs.hasKind(gpuKind)
	},
	"containerd-version": func(f *Facts) bool { return f.Engines.Containerd.Version.Known() },
	"containerd-config":  func(f *Facts) bool { return f.Engines.Containerd.There() },
	"containerd-old":     func(f *Facts) bool { return f.Engines.Containerd.Version.Known() && f.System.HasKubelet },
	"containerd-cdi": func(f *Facts) bool {
		d := f.Engines.Containerd
		return d.Version.AtLeast(1, 7) && d.Broken == "" && !d.NoCRI && f.System.HasKubelet
	},
	"containerd-cri": func(f *Facts) bool {
		return f.Engines.Containerd.There() && f.Engines.Containerd.Broken == "" && f.System.HasKubelet
	},
	"containerd-drop-in": func(f *Facts) bool { return f.Engines.Containerd.There() && f.Engines.Containerd.Broken == "" },
	"cgroup-driver":      func(f *Facts) bool { return f.System.Kubelet != "" && len(f.cgroupDrivers()) > 0 },
	"podman-version":     func(f *Facts) bool { return f.Engines.Podman.Version.Known() },
	"podman-config":      func(f *Facts) bool { return f.Engines.Podman.There() },
	"podman-image":       func(f *Facts) bool { return f.Engines.Podman.Version.Known() },
	"hook-stage":         (*Facts).hasHooks,
	"hook-program":       (*Facts).hasHooks,
	"crio-version":       func(f *Facts) bool { return f.Engines.CRIO.Version.Known() },
	"crio-config":        func(f *Facts) bool { return f.Engines.CRIO.There() },
	"crio-hook":          func(f *Facts) bool { return f.Engines.CRIO.There() && f.hasHooks() },
	"runtime-default":    (*Facts).hasEngine,
	"runtime-program":    (*Facts).hasEngine,
	"remote":             (*Facts).here,

	"kernel":          (*Facts).here,
	"denials":         func(f *Facts) bool { return !f.trimmed() },
	"distributions":   func(f *Facts) bool { return !f.trimmed() },
	"open-files":      func(f *Facts) bool { return len(f.System.Limits) > 0 },
	"proc":            (*Facts).here,
	"refresh-unit":    func(f *Facts) bool { return f.Kernel.Systemd && len(f.Kernel.GPUs) > 0 },
	"user-nodes":      func(f *Facts) bool { return f.here() && f.hasDevices() },
	"user-docker":     func(f *Facts) bool { return f.here() && f.Engines.Docker.Socket },
	"user-subids":     (*Facts).rootless,
	"rootless-groups": func(f *Facts) bool { return f.rootless() && f.hasDevices() },
	"selinux":         func(f *Facts) bool { return f.System.Enforcing && f.hasEngine() },

	"programs":         (*Facts).here,
	"config":           (*Facts).here,
	"config-mode":      func(f *Facts) bool { return !f.trimmed() },
	"programs-trust":   (*Facts).here,
	"programs-version": (*Facts).here,
	"wrapper":          (*Facts).here,

	"lease-state":     (*Facts).hasLeases,
	"lease-lost":      (*Facts).hasLeases,
	"lease-over":      (*Facts).hasLeases,
	"lease-dir":       func(f *Facts) bool { return f.hasLeases() && f.Leases.Shared && len(f.Kernel.GPUs) > 0 },
	"lease-gone":      func(f *Facts) bool { return f.hasLeases() && f.Node.Known },
	"holders-seen":    func(f *Facts) bool { return len(f.Leases.Looks) > 0 },
	"holders-outside": func(f *Facts) bool { return len(f.Leases.Looks) > 0 },
	"image":           func(f *Facts) bool { return f.Image != nil },
	"image-driver": func(f *Facts) bool {
		return f.Image != nil && f.Image.Facts.MACA != nil && f.macaKnown(f.Image.Facts.MACA.Version)
	},
}

// loaded reports whether there are GPUs and their driver is loaded.
func (f *Facts) loaded() bool { return len(f.Kernel.GPUs) > 0 && f.Kernel.Module.Loaded }

func (f *Facts) hasFunctions() bool { return len(f.Kernel.Functions) > 0 }

// anyBoundTo reports whether a GPU is bound to a driver.
func (f *Facts) anyBoundTo(name string) bool {
	return slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return fn.Driver == name })
}

func (f *Facts) anyNode(is func(DeviceNode) bool) bool {
	return slices.ContainsFunc(f.Kernel.Nodes, is)
}

// hasDevices reports whether a device node of a GPU exists.
func (f *Facts) hasDevices() bool {
	return f.anyNode(func(n DeviceNode) bool { return n.Device != nil })
}

// anyAnswered reports whether a run of a program went well.
func anyAnswered(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return c.Err == "" })
}

// macaKnown reports whether the rules say if a version of MXMACA works with the driver.
func (f *Facts) macaKnown(version string) bool {
	return compat.Check(f.Software.Rules, version, f.Kernel.Module.Version).State != compat.Unknown
}

func (f *Facts) hasEngine() bool { return len(f.Engines.all()) > 0 }

func (f *Facts) hasSpecFiles() bool { return len(f.Specs.Files) > 0 }

func (f *Facts) hasOurSpecs() bool { return len(f.Specs.Ours) > 0 }

func (f *Facts) hasHooks() bool { return len(f.System.Hooks) > 0 }

// here reports whether facts about this machine and its user were collected: the root
// is not another host's.
func (f *Facts) here() bool { return f.Programs.Dir != "" }

// trimmed reports whether the root is a snapshot, which has only some of a host's files.
func (f *Facts) trimmed() bool { return f.Root == "/" && !f.here() }

// rootless reports whether the user can start rootless containers of Podman.
func (f *Facts) rootless() bool { return f.Asker.UID != 0 && f.Engines.Podman.There() }

func (f *Facts) hasLeases() bool { return f.Leases.Dir != "" }
