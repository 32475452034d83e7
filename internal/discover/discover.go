// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// ErrNoGPU reports a host without a MetaX GPU.
var ErrNoGPU = errors.New("no MetaX GPU in this machine")

// The warnings of a Node whose driver is not loaded: one that modprobe can load, and one
// that the running kernel does not have.
const (
	moduleMissing = "the kernel module metax is not loaded (sudo modprobe metax; details: metax-ctk doctor)"
	driverMissing = "the MetaX driver is not installed: this kernel has no module metax (details: metax-ctk doctor)"
)

// NotLoaded returns the warning of a Node whose driver is not loaded; empty if it is.
func NotLoaded(n gpu.Node) string {
	for _, why := range []string{moduleMissing, driverMissing} {
		if slices.Contains(n.Warnings, why) {
			return why
		}
	}
	return ""
}

// LinksUnknown reports whether the MetaXLink topology of a node with several GPUs is unknown.
func LinksUnknown(n gpu.Node) bool {
	return len(n.GPUs) > 1 &&
		slices.ContainsFunc(n.Warnings, func(w string) bool { return strings.HasPrefix(w, mxsmi.LinksUnknown) })
}

// Host discovers the node below a root directory.
type Host struct {
	Root *hostfs.Root
	// Library runs metax-mxsml, which queries the host's libmxsml. mx-smi is used if
	// Library is nil or libmxsml gives no answer.
	Library mxsml.Run
	// Run runs the host's mx-smi; nil if mx-smi must not be run.
	Run mxsmi.Run
	// Recorded is the Node that an earlier Discover returned. It is used if both
	// Library and Run are nil, and for facts that they do not report. May be nil.
	Recorded *gpu.Node
	// Inactive are the GPUs of Recorded that the driver's own files called unavailable then.
	// They are healthy again once the files call them available; any other verdict of the
	// record stays.
	Inactive []gpu.BDF
	// Surroundings is true if the network cards and the processors near the GPUs are
	// wanted too, which no container needs.
	Surroundings bool
	// NoLinks is true if nothing is chosen by links. Those in the driver's own files are then
	// not read, and the Node has only those of the other sources.
	NoLinks bool
	// Timeout bounds the run of metax-mxsml, and all runs of mx-smi together; 0 stands
	// for the defaults of their packages.
	Timeout time.Duration
}

// Discover returns the host's GPUs in the order of their addresses. Addresses, device
// nodes, NUMA nodes and PCIe positions come from the kernel; UUIDs, health and MetaXLink
// from the driver's own files; these and serial numbers, models and memory sizes from
// libmxsml, mx-smi or the record. Of two UUIDs, that of the driver's files is used; of two
// verdicts on health or a link, the worse.
// libmxsml and mx-smi give the same Node, except that only libmxsml reports slices,
// disabled MetaXLinks and the reason why a GPU is unhealthy. A GPU that only they list
// is in the Node without device nodes, so that the GPUs after it keep their indices.
// Discover fails with ErrNoGPU if the kernel lists no GPU; everything else that is
// missing is a warning in the Node.
func (h Host) Discover(ctx context.Context) (gpu.Node, error) {
	node, _, _, err := h.discover(ctx)
	return node, err
}

// DiscoverSources is Discover, and says where the facts come from.
func (h Host) DiscoverSources(ctx context.Context) (gpu.Node, Sources, error) {
	node, now, other, err := h.discover(ctx)
	if err != nil {
		return gpu.Node{}, Sources{}, err
	}
	return node, h.sourcesOf(node, now, other), nil
}

// discover also returns what the driver's own files and the vendor's software or the record
// said.
func (h Host) discover(ctx context.Context) (node gpu.Node, now fresh, other vendorAnswer, err error) {
	kernel, err := h.readKernel()
	if err != nil {
		return node, now, other, err
	}
	node = gpu.NewNode(hostname(h.Root))
	node.GPUs, node.Shared, node.Warnings = kernel.GPUs, kernel.Shared, kernel.Warnings
	files := maca.Read(h.Root)
	ask := true
	if !kernel.Module.Loaded {
		why := h.notLoaded(files.Driver)
		if hasNoNodes(kernel) {
			node.Warnings = nil // they are about nodes that only the driver makes
			h.Library, h.Run, ask = nil, nil, h.Recorded != nil
		}
		node.Warnings = append(node.Warnings, why)
	}
	if ask {
		now = h.readLayout(kernel, !h.NoLinks)
		other = h.addVendorFacts(ctx, &node, kernel, now)
		now.addTo(&node, other.Node, other.source)
	}
	h.noteLost(&node)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return node, now, other, fmt.Errorf("discover the node: %w", err)
	}
	topologyOf(node).MarkDomains(node.GPUs)
	if h.Surroundings {
		near := sysfs.ReadSurroundings(h.Root, node.GPUs)
		node.NICs = near.NICs
		for i := range node.GPUs {
			node.GPUs[i].CPUs = near.CPUs[i]
		}
	}
	node.MACA = files.MACA
	node.Warnings = append(node.Warnings, files.Warnings...)
	module := kernel.Module
	if module.Version == "" && module.Loaded {
		module = h.driverModule(module, other.driver)
		node.Warnings = append(node.Warnings, module.Warnings...)
	}
	if module.Version != "" || files.Driver != "" {
		node.Driver = &gpu.Driver{Version: module.Version, Mode: h.driverMode(module.Loaded), Path: files.Driver}
	}
	for i, g := range node.GPUs {
		node.GPUs[i].Product = gpu.ProductOf(g.Model)
	}
	for i, w := range node.Warnings {
		node.Warnings[i] = terminal.Line(w)
	}
	return node, now, other, nil
}

// notLoaded returns why the driver is not loaded; driver is the directory of its user-space
// part, empty if that is not installed.
func (h Host) notLoaded(driver string) string {
	if installed, known := sysfs.ModuleInstalled(h.Root); (known && !installed) || (!known && driver == "") {
		return driverMissing
	}
	return moduleMissing
}

// hasNoNodes reports whether no GPU has a device node, and none is set aside for a virtual
// machine.
func hasNoNodes(kernel sysfs.Report) bool {
	return kernel.Shared == nil &&
		!slices.ContainsFunc(kernel.GPUs, func(g gpu.GPU) bool { return len(g.Nodes) > 0 || g.SetAside() })
}

// readKernel reads what the kernel reports. It fails with ErrNoGPU for a host without a GPU.
func (h Host) readKernel() (sysfs.Report, error) {
	kernel, err := sysfs.Read(h.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sysfs.Report{}, fmt.Errorf("%w: it has no PCI bus: %w", ErrNoGPU, err)
	case err != nil:
		return sysfs.Report{}, fmt.Errorf("read PCI devices: %w", err)
	case len(kernel.GPUs) == 0:
		return sysfs.Report{}, noGPU(kernel)
	}
	return kernel, nil
}

// driverModule finds the version of a loaded module for which the kernel has none.
// reported is the version from the vendor's library. If neither library nor mx-smi may
// be run, the version comes from the record, and the module's file is not read.
func (h Host) driverModule(module sysfs.Module, reported string) sysfs.Module {
	switch {
	case reported != "":
		return sysfs.Module{Loaded: true, Version: reported}
	case h.Run != nil || h.Library != nil:
		return sysfs.ReadModule(h.Root, nil)
	case h.Recorded != nil && h.Recorded.Driver != nil && h.Recorded.Driver.Version != "":
		return sysfs.Module{Loaded: true, Version: h.Recorded.Driver.Version}
	}
	return module
}

// driverMode finds out how a loaded module came to this host. If neither library nor mx-smi
// may be run, the mode comes from the record, because modules.dep is large.
func (h Host) driverMode(loaded bool) string {
	switch {
	case !loaded:
		return ""
	case h.Run != nil || h.Library != nil:
		return sysfs.DriverMode(h.Root)
	case h.Recorded != nil && h.Recorded.Driver != nil:
		return h.Recorded.Driver.Mode
	}
	return ""
}

// hostname returns the host's name from /etc/hostname; empty if the file is missing or has no
// valid name.
func hostname(host *hostfs.Root) string {
	text, err := host.ReadFile("/etc/hostname")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if len(name) > 253 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return ""
		}
		return name
	}
	return ""
}

// noGPU is ErrNoGPU with how to check it, or with what could not be read.
func noGPU(kernel sysfs.Report) error {
	if len(kernel.Warnings) > 0 {
		return fmt.Errorf("%w (compare lspci -d 9999:): %s", ErrNoGPU, strings.Join(kernel.Warnings, "; "))
	}
	return fmt.Errorf("%w (lspci -d 9999: is empty)", ErrNoGPU)
}

// topologyOf is the topology of a node. Its warnings are dropped, because merge has already
// reported them.
func topologyOf(n gpu.Node) *topology.Graph {
	g, _ := topology.New(n)
	return g
}
