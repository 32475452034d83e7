// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/compat"
)

// ifCollected returns the condition that a collector did not fail, and another one; nil for no
// other. It is for checks that would otherwise take missing facts for good ones.
func ifCollected(collector string, also func(*Facts) bool) func(*Facts) bool {
	return func(f *Facts) bool {
		failed := slices.ContainsFunc(f.Troubles, func(t Trouble) bool { return t.Collector == collector })
		return !failed && (also == nil || also(f))
	}
}

// dockerAsked reports whether docker's daemon, which reads the configuration of this host, has
// said how it is set up.
func (f *Facts) dockerAsked() bool {
	d := f.Engines.Docker
	return d.There() && d.Info != nil && !d.Info.Rootless() && d.Broken == ""
}

// driverLoaded reports whether there are GPUs and their driver is loaded.
func (f *Facts) driverLoaded() bool { return len(f.Kernel.GPUs) > 0 && f.Kernel.Module.Loaded }

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

// macaKnown reports whether the rules say if a version of MXMACA works with the driver.
func (f *Facts) macaKnown(version string) bool {
	return compat.Check(f.Software.Rules, version, f.Kernel.Module.Version).State != compat.Unknown
}

func (f *Facts) hasEngine() bool { return len(f.Engines.allInstalled()) > 0 }

func (f *Facts) hasSpecFiles() bool { return len(f.Specs.Files) > 0 }

func (f *Facts) hasOurSpecs() bool { return len(f.Specs.Ours) > 0 }

func (f *Facts) hasHooks() bool { return len(f.System.Hooks) > 0 }

// isThisMachine reports whether facts about this machine and its user were collected: the root
// is not another host's.
func (f *Facts) isThisMachine() bool { return f.Programs.Dir != "" }

// isSnapshot reports whether the root is a snapshot, which has only some of a host's files.
func (f *Facts) isSnapshot() bool { return f.Root == "/" && !f.isThisMachine() }

// hasRootlessPodman reports whether the user can start rootless containers of Podman.
func (f *Facts) hasRootlessPodman() bool { return f.Asker.UID != 0 && f.Engines.Podman.There() }

func (f *Facts) hasLeases() bool { return f.Leases.Dir != "" }
