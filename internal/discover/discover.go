package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// ErrNoGPU reports a host without a MetaX GPU.
var ErrNoGPU = errors.New("no MetaX GPU found")

// Host discovers the node that a root directory shows.
type Host struct {
	Root *hostfs.Root
	// Run runs the host's mx-smi. Where it must not be run, Run is nil.
	Run mxsmi.Run
	// Recorded is the Node that an earlier Discover found; it stands in for
	// mx-smi where Run is nil, and for what it does not tell. May be nil.
	Recorded *gpu.Node
	// Timeout bounds all runs of mx-smi together; 0 is mxsmi.DefaultTimeout.
	Timeout time.Duration
}

// Discover returns the host's GPUs in the order of their addresses. Addresses,
// device nodes, NUMA and PCIe places are the kernel's; UUIDs, serial numbers,
// models, memory, health and MetaXLink are the tool's, or the record's. A GPU
// that only the tool lists is there without device nodes, so that those behind
// it keep their indices. It fails with ErrNoGPU if the kernel shows no GPU; all
// else that is missing is a warning in the Node.
func (h Host) Discover(ctx context.Context) (gpu.Node, error) {
	kernel, err := sysfs.Read(h.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gpu.Node{}, fmt.Errorf("%w: this host shows no PCI bus: %w", ErrNoGPU, err)
	case err != nil:
		return gpu.Node{}, fmt.Errorf("read PCI devices: %w", err)
	case len(kernel.GPUs) == 0:
		return gpu.Node{}, noGPU(kernel)
	}
	node := gpu.NewNode(hostname(h.Root))
	node.GPUs, node.Shared, node.Warnings = kernel.GPUs, kernel.Shared, kernel.Warnings
	if !kernel.Loaded {
		node.Warnings = append(node.Warnings, "the kernel module metax is not loaded: modprobe metax")
	}
	h.vendor(ctx, &node, kernel.Strays)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return gpu.Node{}, fmt.Errorf("discover the node: %w", err)
	}
	for d, domain := range graph(node).Domains() {
		for _, i := range domain {
			node.GPUs[i].LinkDomain = d + 1
		}
	}
	files := maca.Read(h.Root)
	node.MACA = files.MACA
	node.Warnings = append(node.Warnings, files.Warnings...)
	if kernel.Version != "" || files.Driver != "" {
		node.Driver = &gpu.Driver{Version: kernel.Version, Path: files.Driver}
	}
	for i, w := range node.Warnings {
		node.Warnings[i] = oneLine(w)
	}
	return node, nil
}

// oneLine makes a warning fit for a terminal: it may quote what a program said.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// vendor adds what only the vendor's tool knows, or what it said before. Strays
// are functions that are no GPUs, even if it lists them.
func (h Host) vendor(ctx context.Context, node *gpu.Node, strays []gpu.BDF) {
	warn := func(s string) { node.Warnings = append(node.Warnings, s) }
	why, asked := "mx-smi is not asked here, and no node is recorded", false
	if h.Run != nil {
		var path string
		if path, asked = mxsmi.Find(h.Root); asked {
			told := mxsmi.Reader{Run: h.Run, Path: path, Timeout: h.Timeout}.Read(ctx)
			node.Warnings = append(node.Warnings, told.Warnings...)
			if len(told.GPUs) > 0 {
				compare(node, told.Listed, strays)
				if h.Recorded != nil {
					complete(&told, recall(*h.Recorded, *node), node)
				}
				merge(node, told.Node, "mx-smi")
				return
			}
			why = "mx-smi told nothing"
		} else {
			why = "there is no mx-smi at " + strings.Join(mxsmi.Paths(), " or ")
		}
	}
	switch {
	case h.Recorded == nil:
		if !asked { // else the reader has said already what is not known
			warn(mxsmi.Unlinked + why)
		}
		return
	case !isTold(*h.Recorded):
		warn(mxsmi.Unlinked + "mx-smi had told nothing when the node was recorded")
	default:
		if h.Run != nil {
			warn("UUIDs, health and MetaXLink are as recorded before: " + why)
		}
		if isUnlinked(*h.Recorded) {
			warn(mxsmi.Unlinked + notThen)
		}
	}
	merge(node, recall(*h.Recorded, *node), "the recorded node")
	for _, g := range node.GPUs {
		if _, ok := h.Recorded.Lookup(g.BDF); !ok {
			warn("the recorded node does not know GPU " + g.BDF.String())
		}
	}
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

// noGPU says what was looked for, and what may be the cause.
func noGPU(kernel sysfs.Report) error {
	hint := "the kernel module metax is not loaded either"
	if kernel.Loaded {
		hint = "though the kernel module metax is loaded"
	}
	if len(kernel.Warnings) > 0 {
		hint += "; " + strings.Join(kernel.Warnings, "; ")
	}
	return fmt.Errorf("%w: no PCI function of vendor 9999 that is a display controller or accelerator in %s (compare lspci -d 9999:); %s",
		ErrNoGPU, sysfs.DevicesDir, hint)
}

// graph is the topology of a node; merge has said already what is strange in
// its links.
func graph(n gpu.Node) *topology.Graph {
	g, _ := topology.New(n)
	return g
}
