// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Facts are what the collectors found. What they could not find is zero, which every
// check reads as unknown.
type Facts struct {
	// Root is the directory that stands for the host's "/".
	Root string
	// Asker is the user who runs doctor.
	Asker Asker
	// Troubles are the collectors that failed.
	Troubles []Trouble

	Kernel   Kernel
	Node     Node
	Software Software
	Specs    Specs
	Record   Record
	Engines  Engines
	System   System
	Programs Programs
	Leases   Leases
	Image    *Image // nil if none was named
}

// Asker is the user who runs doctor.
type Asker struct {
	UID    int
	Name   string
	Groups []int
}

// Trouble is a collector that failed or did not end.
type Trouble struct{ Collector, Err string }

// Kernel is what sysfs and /dev show.
type Kernel struct {
	sysfs.Report
	// Read is whether there is a PCI bus to read.
	Read bool
	// Functions are the PCI functions of the GPUs, in their order.
	Functions []Function
	// Nodes are the device nodes that should exist, by path.
	Nodes []DeviceNode
	// CharDir and Systemd are whether /dev/char exists and systemd runs.
	CharDir, Systemd bool
	// NUMANodes is the number of NUMA nodes.
	NUMANodes int
	// Absent is whether the running kernel certainly has no module metax to load.
	Absent bool
	// IOMMU is whether an IOMMU is in use.
	IOMMU bool
}

// Function is a GPU's PCI function.
type Function struct {
	gpu.GPU
	// Driver is the kernel driver that it is bound to; empty if there is none.
	Driver string
	// DRM are its DRM minors in sysfs: "card1", "renderD128".
	DRM []string
	// Dead is whether its configuration space reads as all ones: the GPU does not
	// answer.
	Dead bool
	// Width and MaxWidth are the lanes of its PCIe link; 0 is unknown.
	Width, MaxWidth int
}

// DeviceNode is a node in /dev of one GPU or of all.
type DeviceNode struct {
	Path string
	// Numbers are the device numbers in sysfs; empty if unknown.
	Numbers string
	// Present is whether anything is at Path; Device is nil if that is not a character
	// device.
	Present bool
	Device  *hostfs.Device
	// Link is whether its link in /dev/char leads to it, Astray whether that link leads
	// elsewhere.
	Link, Astray bool
	// Type is the type in its SELinux label; empty where there is none.
	Type string
}

// Node is the result of discovery, and of the vendor's software.
type Node struct {
	gpu.Node
	Known bool // whether discovery found one
	// Sources are where its facts come from.
	Sources discover.Sources
	// Library and SMI are the runs of metax-mxsml and of mx-smi.
	Library, SMI []Call
	// Unusable is whether the file called libmxsml is something else.
	Unusable bool
}

// Call is one run of a program.
type Call struct {
	Command string
	Took    time.Duration
	Err     string // empty if it went well
}

// Software is the driver's user part and MXMACA.
type Software struct {
	// Driver is whether the driver's user part is installed, Library and SMI whether
	// libmxsml and mx-smi are.
	Driver, Library, SMI bool
	// Link is the target of /opt/maca, which need not exist; empty if that is not a
	// link.
	Link string
	// Dangling is whether the target does not exist.
	Dangling bool
	// Others are the other installations, "/opt/maca-3.3.0.15", sorted.
	Others []string
	// MACA is whether MXMACA is installed; Version is empty if unknown.
	MACA    bool
	Version string
	// Rules are which driver a version needs.
	Rules []compat.Rule
}

// Specs are the CDI specs.
type Specs struct {
	// Dirs are the directories that engines read, in ascending priority, and Missing
	// those that do not exist.
	Dirs, Missing []string
	// Listing is what engines find there, of all kinds.
	cdi.Listing
	// Ours are the files of the toolkit's kinds that the toolkit wrote.
	Ours []Spec
	// Names are the device names that the node's GPUs should have, and Unresolved, by
	// the engine's name, those that the engine does not resolve.
	Names      []string
	Unresolved map[string][]string
}

// Spec is a file of one of our kinds that the toolkit wrote.
type Spec struct {
	Path, Kind, Version string
	// Priority is the priority of its directory.
	Priority int
	// Problems are what cdi check finds.
	Problems []cdi.Problem
	// Drift is what cdi generate would change; Removed is whether the node has nothing
	// of the kind any more.
	Drift   []cdi.Difference
	Removed bool
	// Groups is whether it adds groups, Names how it names devices, EngineRoot where
	// its engine sees the host's files.
	Groups     bool
	Names      cdi.Names
	EngineRoot string
	// Same are files of other directories with the same content.
	Same []string

	spec *specs.Spec
}

// Record is the node that cdi generate recorded.
type Record struct {
	Path    string
	Present bool
	Err     string
	Node    gpu.Node
	// Early is whether it was written before this boot.
	Early bool
}

// System is the rest of the host.
type System struct {
	// Distribution is its name in os-release; empty if unknown.
	Distribution string
	// Kernel is the release, "6.1.0-18-amd64".
	Kernel string
	// MissingCalls are the system calls of metax-hook that this kernel lacks.
	MissingCalls []string
	// Groups are the names of groups by their numbers.
	Groups map[uint32]string
	// Enforcing is whether SELinux is enforcing; Booleans are its booleans about
	// containers' devices.
	Enforcing bool
	Booleans  map[string]bool
	// Denials are lines of logs that deny access to what may be a GPU, the last one of
	// a log first.
	Denials []Denial
	// Limits are the limits of open files of the engines' daemons, by program.
	Limits map[string]uint64
	// SubIDs is whether the user has subordinate ids.
	SubIDs bool
	// HidePID is whether /proc shows other users' processes only to root.
	HidePID bool
	// Unit is the state of the refresh unit.
	Unit Unit
	// Hooks are the files in directories of OCI hooks that run metax-hook.
	Hooks []HookFile
	// Kubelet is the cgroup driver in kubelet's configuration, empty if there is none;
	// HasKubelet is whether it is installed, or has run here.
	Kubelet    string
	HasKubelet bool
}

// Denial is a line of a security module's log.
type Denial struct{ Module, File, Line string }

// Unit is a unit of systemd.
type Unit struct {
	Installed, Enabled bool
	// Result is systemd's word for how it ended, "exit-code"; empty if unknown.
	Result string
}

// HookFile is the file of an OCI hook.
type HookFile struct {
	Path   string // of the file
	Hook   string // the program that it runs
	Stages []string
	// Runs is whether the program exists.
	Runs bool
}

// Programs are the toolkit's programs.
type Programs struct {
	// Dir is the directory of metax-ctk; empty if the root is another host's.
	Dir string
	// Missing are the names of programs that are not there.
	Missing []string
	// Unsafe are the programs that cannot be trusted.
	Unsafe []Unsafe
	// Version is that of metax-ctk; Versions are those of other programs that differ,
	// by name.
	Version  string
	Versions map[string]string
	// Foreign is the first metax-docker on PATH, if it is not the toolkit's.
	Foreign string
	// Config is the error of the configuration file, ConfigMode its mode if that is
	// unsafe.
	ConfigPath, Config, ConfigMode string
}

// Unsafe is a program that cannot be trusted.
type Unsafe struct {
	Path, Why string
	// Culprit is the file or directory that is the cause, and Sticky is whether it is a
	// directory for everybody, such as /tmp.
	Culprit string
	Sticky  bool
}

// Leases are who uses which GPU.
type Leases struct {
	lease.Report
	// Err is why they cannot be read; Fix is the command in that error.
	Err, Fix string
	// Dir is their directory, empty if leases were not collected, and Present whether
	// it exists.
	Dir     string
	Present bool
	// Shared is whether users other than root may use docker.
	Shared bool
}

// Image is the image that the user named.
type Image struct {
	Ref   string
	Facts image.Facts
	Err   string
}

func (f *Facts) pciFunctions() []Function { return f.Kernel.Functions }

// restrictedNodes are the device nodes that not everybody may open.
func (f *Facts) restrictedNodes() []DeviceNode {
	return slices.DeleteFunc(slices.Clone(f.Kernel.Nodes),
		func(n DeviceNode) bool { return n.Device == nil || n.Device.World() })
}

// listedContainers are those that engines listed.
func (f *Facts) listedContainers() (all []usage.Container) {
	for _, l := range f.Leases.Looks {
		all = append(all, l.Containers...)
	}
	return all
}

func (f *Facts) installedHooks() []HookFile { return f.System.Hooks }

func (f *Facts) nodeGPUs() []gpu.GPU { return f.Node.GPUs }

func (f *Facts) smiCalls() []Call { return f.Node.SMI }

func (f *Facts) libraryCalls() []Call { return f.Node.Library }

func (f *Facts) ourSpecs() []Spec { return f.Specs.Ours }

// localPath is the path on this machine of a file of the host.
func (f *Facts) localPath(path string) string {
	if f.Root == "/" || f.Root == "" {
		return path
	}
	return f.Root + path
}

// toolkitStep is a command of metax-ctk about this host, as a step.
func (f *Facts) toolkitStep(args ...string) Step {
	if f.Root != "/" && f.Root != "" {
		args = append([]string{"--root", f.Root}, args...)
	}
	return Step{Toolkit: args}
}

// ctkCommand is a command of metax-ctk about this host, as text.
func (f *Facts) ctkCommand(args ...string) string { return f.toolkitStep(args...).String() }

// driverUp reports whether the driver runs and has made all nodes. Checks of what
// depends on that are silent otherwise.
func (f *Facts) driverUp() bool {
	if !f.Kernel.Read || len(f.Kernel.GPUs) == 0 || !f.Kernel.Module.Loaded || f.Kernel.Shared == nil {
		return false
	}
	return !slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return !fn.Healthy && fn.Driver != vfio }) &&
		!slices.ContainsFunc(f.Kernel.Nodes, func(n DeviceNode) bool { return n.Device == nil })
}
