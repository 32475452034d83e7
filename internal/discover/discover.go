package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// ModuleMissing is the warning of a Node whose driver is not loaded.
const ModuleMissing = "the kernel module metax is not loaded (sudo modprobe metax; details: metax-ctk doctor)"

// Host discovers the node that a root directory shows.
type Host struct {
	Root *hostfs.Root
	// Library runs metax-mxsml, which asks the host's libmxsml. It is asked first;
	// where it is nil, or does not tell, mx-smi is asked.
	Library mxsml.Run
	// Run runs the host's mx-smi. Where it must not be run, Run is nil.
	Run mxsmi.Run
	// Recorded is the Node that an earlier Discover found; it stands in for
	// both where they are nil, and for what they do not tell. May be nil.
	Recorded *gpu.Node
	// Timeout bounds the run of metax-mxsml, and all runs of mx-smi together; 0
	// are the defaults of their packages.
	Timeout time.Duration
}

// Discover returns the host's GPUs in the order of their addresses. Addresses,
// device nodes, NUMA and PCIe places are the kernel's; UUIDs, serial numbers,
// models, memory, health and MetaXLink are the library's, or mx-smi's, or the
// record's. The first two give the same Node; only of slices, of a MetaXLink that
// is switched off, and of why a GPU is not available, the library alone tells. A
// GPU that only they list is there without device nodes, so that those behind it
// keep their indices. It fails with ErrNoGPU if the kernel shows no GPU; all
// else that is missing is a warning in the Node.
func (h Host) Discover(ctx context.Context) (gpu.Node, error) {
	kernel, err := sysfs.Read(h.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gpu.Node{}, fmt.Errorf("%w: it has no PCI bus: %w", ErrNoGPU, err)
	case err != nil:
		return gpu.Node{}, fmt.Errorf("read PCI devices: %w", err)
	case len(kernel.GPUs) == 0:
		return gpu.Node{}, noGPU(kernel)
	}
	node := gpu.NewNode(hostname(h.Root))
	node.GPUs, node.Shared, node.Warnings = kernel.GPUs, kernel.Shared, kernel.Warnings
	if !kernel.Module.Loaded {
		node.Warnings = append(node.Warnings, ModuleMissing)
	}
	driver := h.vendor(ctx, &node, kernel)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return gpu.Node{}, fmt.Errorf("discover the node: %w", err)
	}
	graph(node).MarkDomains(node.GPUs)
	files := maca.Read(h.Root)
	node.MACA = files.MACA
	node.Warnings = append(node.Warnings, files.Warnings...)
	module := kernel.Module
	if module.Version == "" && module.Loaded {
		module = h.driver(module, driver)
		node.Warnings = append(node.Warnings, module.Warnings...)
	}
	if module.Version != "" || files.Driver != "" {
		node.Driver = &gpu.Driver{Version: module.Version, Path: files.Driver}
	}
	for i, w := range node.Warnings {
		node.Warnings[i] = terminal.Line(w)
	}
	return node, nil
}

// driver finds the version of a module that the kernel tells none of: told is what
// the vendor's library says of it. Where that is not asked, the record serves, and
// the module's file stays unread.
func (h Host) driver(module sysfs.Module, told string) sysfs.Module {
	switch {
	case told != "":
		return sysfs.Module{Loaded: true, Version: told}
	case h.Run != nil || h.Library != nil:
		return sysfs.ReadModule(h.Root, nil)
	case h.Recorded != nil && h.Recorded.Driver != nil && h.Recorded.Driver.Version != "":
		return sysfs.Module{Loaded: true, Version: h.Recorded.Driver.Version}
	}
	return module
}

// hostname is what /etc/hostname says; a Node may go without a name.
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

// noGPU says how that shows, and what could not be read.
func noGPU(kernel sysfs.Report) error {
	if len(kernel.Warnings) > 0 {
		return fmt.Errorf("%w (compare lspci -d 9999:): %s", ErrNoGPU, strings.Join(kernel.Warnings, "; "))
	}
	return fmt.Errorf("%w (lspci -d 9999: is empty)", ErrNoGPU)
}

// graph is the topology of a node; merge has said already what is strange in
// its links.
func graph(n gpu.Node) *topology.Graph {
	g, _ := topology.New(n)
	return g
}
