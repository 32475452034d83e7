package doctor

import (
	"slices"
	"time"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// Facts are what the collectors found of a node. What they could not find out is
// zero, which every check takes for unknown.
type Facts struct {
	// Root is the directory that stands for the host's "/".
	Root string
	// Asker is who asks.
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

// Asker is the user who asks.
type Asker struct {
	UID    int
	Name   string
	Groups []int
}

// Trouble is a collector that failed, or did not come back.
type Trouble struct{ Collector, Err string }

// Kernel is what the kernel shows.
type Kernel struct {
	sysfs.Report
	// Read reports whether there is a PCI bus to read at all.
	Read bool
	// Functions are the PCI functions of the GPUs, in their order.
	Functions []Function
	// Nodes are the device nodes that should be there, by path.
	Nodes []DeviceNode
	// CharDir and Systemd report whether /dev/char and systemd are there.
	CharDir, Systemd bool
	// NUMANodes is how many memory nodes the host has.
	NUMANodes int
	// IOMMU reports whether there is one in use.
	IOMMU bool
}

// Function is a GPU's PCI function.
type Function struct {
	gpu.GPU
	// Driver is the kernel driver that has it; empty if none has.
	Driver string
	// DRM are its DRM minors in sysfs: "card1", "renderD128".
	DRM []string
	// Dead tells that its configuration space reads as all ones.
	Dead bool
	// Width and MaxWidth are the lanes of its PCIe link; 0 is not known.
	Width, MaxWidth int
}

// DeviceNode is a node in /dev of a GPU, or common to all.
type DeviceNode struct {
	Path string
	// Numbers are what sysfs says; empty if it does not.
	Numbers string
	// Present reports whether anything is at Path; Device is nil if that is no
	// character device.
	Present bool
	Device  *hostfs.Device
	// Link reports whether /dev/char has a link for it that leads there, Astray whether
	// what it has leads elsewhere.
	Link, Astray bool
	// Type is the type in its SELinux label; empty where there is none.
	Type string
}

// Node is what discovery makes of the host, and how the vendor's software served.
type Node struct {
	gpu.Node
	Known bool // whether discovery found one
	// Library and SMI are the runs of metax-mxsml and of mx-smi.
	Library, SMI []Call
	// Unusable tells that the file called libmxsml is something else.
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
	// Driver reports whether the driver's user part is there, Library and SMI whether
	// libmxsml and mx-smi are.
	Driver, Library, SMI bool
	// Link is where /opt/maca leads to, which need not be there; empty where it is
	// no link.
	Link string
	// Dangling tells that nothing is there.
	Dangling bool
	// Others are the installations beside, "/opt/maca-3.3.0.15", ascending.
	Others []string
	// MACA reports whether there is an MXMACA, of the Version, empty if not known.
	MACA    bool
	Version string
	// Rules tell which driver a version needs.
	Rules []compat.Rule
}

// Specs are the CDI specs.
type Specs struct {
	// Dirs are the directories in which engines look, in ascending priority, and
	// Missing those that are not there.
	Dirs, Missing []string
	// Listing is what engines find there, of all kinds.
	cdi.Listing
	// Ours are the files of the toolkit's kinds.
	Ours []Spec
	// Names are the device names that the node's GPUs should have, and Unresolved
	// those of them that an engine, by its name, does not resolve.
	Names      []string
	Unresolved map[string][]string
}

// Spec is a file of one of our kinds.
type Spec struct {
	Path, Kind, Version string
	// Priority is that of its directory.
	Priority int
	// Problems are what cdi check says of it.
	Problems []cdi.Problem
	// Drift is what cdi generate would change; Removed tells that the node has
	// nothing of the kind any more.
	Drift   []cdi.Difference
	Removed bool
	// Groups reports whether it gives groups, Names how it names devices, EngineRoot
	// where its engine sees the host's files.
	Groups     bool
	Names      cdi.Names
	EngineRoot string
	// Same are files of another directory that say the same.
	Same []string

	spec *specs.Spec
}

// Record is what cdi generate recorded of the node.
type Record struct {
	Path    string
	Present bool
	Err     string
	Node    gpu.Node
	// Early tells that it was written before this boot.
	Early bool
}

// System is the rest of the host.
type System struct {
	// Kernel is the release, "6.1.0-18-amd64".
	Kernel string
	// Groups are the names of groups by their numbers.
	Groups map[uint32]string
	// Enforcing reports whether SELinux is; Booleans are those of containers' devices.
	Enforcing bool
	Booleans  map[string]bool
	// Denials are lines of logs in which somebody was denied what may be a GPU, the
	// last one of a log first.
	Denials []Denial
	// Limits are the most open files of engines' daemons, by program.
	Limits map[string]uint64
	// SubIDs reports whether the asker has subordinate ids.
	SubIDs bool
	// HidePID tells that /proc shows others' processes to root only.
	HidePID bool
	// Unit is the state of the refresh unit.
	Unit Unit
	// Hooks are the files in directories of OCI hooks that run metax-hook.
	Hooks []HookFile
	// Kubelet is the cgroup driver that kubelet is configured for, empty if there
	// is none; HasKubelet reports whether it is installed, or has been started here.
	Kubelet    string
	HasKubelet bool
}

// Denial is a line of a security module's log.
type Denial struct{ Module, File, Line string }

// Unit is a unit of systemd.
type Unit struct {
	Installed, Enabled bool
	// Result is systemd's word for how it ended, "exit-code"; empty if not known.
	Result string
}

// HookFile is an OCI hook's file.
type HookFile struct {
	Path   string // of the file
	Hook   string // the program that it runs
	Stages []string
	// Runs reports whether the program is there.
	Runs bool
}

// Programs are those of the toolkit.
type Programs struct {
	// Dir is where metax-ctk is; empty where that is on another host.
	Dir string
	// Missing are the names of those that are not beside it.
	Missing []string
	// Unsafe are those that cannot be trusted, with the reason.
	Unsafe []Unsafe
	// Version is ours; Versions are the others' that differ, by name.
	Version  string
	Versions map[string]string
	// Foreign is the first metax-docker on PATH, if it is not ours.
	Foreign string
	// Config is the error of the configuration file, ConfigMode why it is unsafe.
	ConfigPath, Config, ConfigMode string
}

// Unsafe is a program that cannot be trusted.
type Unsafe struct {
	Path, Why string
	// Culprit is the file or directory that is the cause, and Sticky tells that it
	// is one for everybody, as /tmp is.
	Culprit string
	Sticky  bool
}

// Leases are who holds which GPU.
type Leases struct {
	lease.Report
	// Err is why they cannot be read; Fix is the command that the error names.
	Err, Fix string
	// Dir is their directory, empty where nobody could look, and Present whether it
	// is there.
	Dir     string
	Present bool
	// Shared reports whether others than root use docker.
	Shared bool
}

// Image is the image that was asked about.
type Image struct {
	Ref   string
	Facts image.Facts
	Err   string
}

func (f *Facts) functions() []Function { return f.Kernel.Functions }

// closed are the device nodes that not everybody may open.
func (f *Facts) closed() []DeviceNode {
	return slices.DeleteFunc(slices.Clone(f.Kernel.Nodes), func(n DeviceNode) bool { return n.Device == nil || n.Device.World() })
}

func (f *Facts) hooks() []HookFile { return f.System.Hooks }

func (f *Facts) gpus() []gpu.GPU { return f.Node.GPUs }

func (f *Facts) smi() []Call { return f.Node.SMI }

func (f *Facts) library() []Call { return f.Node.Library }

func (f *Facts) specs() []Spec { return f.Specs.Ours }

// at is the path on this machine of a file of the host.
func (f *Facts) at(path string) string {
	if f.Root == "/" || f.Root == "" {
		return path
	}
	return f.Root + path
}

// toolkit is a command of metax-ctk about this host, as a step.
func (f *Facts) toolkit(args ...string) Step {
	if f.Root != "/" && f.Root != "" {
		args = append([]string{"--root", f.Root}, args...)
	}
	return Step{Toolkit: args}
}

// command is the same as text.
func (f *Facts) command(args ...string) string { return f.toolkit(args...).String() }

// up reports whether the driver runs and has made all nodes, so that what comes
// after can be judged.
func (f *Facts) up() bool {
	if !f.Kernel.Read || len(f.Kernel.GPUs) == 0 || !f.Kernel.Module.Loaded || f.Kernel.Shared == nil {
		return false
	}
	return !slices.ContainsFunc(f.Kernel.Functions, func(fn Function) bool { return !fn.Healthy && fn.Driver != vfio }) &&
		!slices.ContainsFunc(f.Kernel.Nodes, func(n DeviceNode) bool { return n.Device == nil })
}
