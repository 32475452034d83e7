// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"fmt"
	"slices"
)

// The version and kind that a Node's JSON form states.
const (
	APIVersion = "metax-ctk/v1"
	NodeKind   = "Node"
)

// Node is a host with its GPUs and the links between them.
type Node struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Name       string  `json:"name,omitempty"`
	Driver     *Driver `json:"driver,omitempty"`
	MACA       *MACA   `json:"maca,omitempty"`
	// GPUs are in BDF order; GPUs[i].Index == i.
	GPUs []GPU `json:"gpus"`
	// Links are the pairs that the host states. The link class of a pair without a row
	// follows from PCIe and NUMA.
	Links []Link `json:"links,omitempty"`
	// NICs are the network cards, those with RDMA first, each kind in BDF order.
	NICs []NIC `json:"nics,omitempty"`
	// Shared is what every container with a GPU needs besides the GPU's own device nodes.
	Shared *Shared `json:"shared,omitempty"`
	// Lost are GPUs that were here earlier since the boot and that the kernel no longer shows.
	Lost []Lost `json:"lost,omitempty"`
	// Warnings say what could not be discovered, and why, one line each.
	Warnings []string `json:"warnings,omitempty"`
}

// Lost is a GPU that is gone, as it was recorded.
type Lost struct {
	BDF   BDF  `json:"bdf"`
	UUID  UUID `json:"uuid,omitempty"`
	Index int  `json:"index"`
}

// String is such as "GPU 0000:12:00.0 (index 3 earlier) is lost: …", with the next step.
func (l Lost) String() string {
	return fmt.Sprintf(
		"GPU %s (index %d earlier) is lost: the kernel no longer shows it, and GPUs after it have new indices (metax-ctk doctor)", l.BDF, l.Index)
}

// Driver is the kernel driver and its user-space part.
type Driver struct {
	Version string `json:"version,omitempty"`
	// Mode is DriverNative or DriverCloud; empty if unknown.
	Mode string `json:"mode,omitempty"`
	// Path is the directory of the user-space part, "/opt/mxdriver".
	Path string `json:"path,omitempty"`
}

// The modes of a driver, in the words of MetaX's node labels.
const (
	DriverNative = "native" // installed on the host
	DriverCloud  = "cloud"  // loaded from a container, by MetaX's operator
)

// MACA is an installation of the MXMACA software.
type MACA struct {
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
}

// Shared are the device nodes common to all GPUs of a node, such as /dev/mxcd.
type Shared struct {
	Nodes []string `json:"nodes,omitempty"`
	// GIDs are the groups of those Nodes that not everyone may open.
	GIDs []uint32 `json:"gids,omitempty"`
	// NodeGIDs are those of GPU.
	NodeGIDs map[string]uint32 `json:"nodeGids,omitempty"`
}

// Link is what the host states about the pair of GPUs with indices A < B.
type Link struct {
	A int `json:"a"`
	B int `json:"b"`
	// Kind is the word of mx-smi's matrix: MX (in OEM versions HT), PIX, PXB, PHB, NODE, SYS.
	Kind string `json:"kind"`
	// GBps is the bandwidth in GB/s, 0 if unknown.
	GBps float64 `json:"gbps,omitempty"`
	// Down says that the link is disabled or untrained, and so not a link.
	Down bool `json:"down,omitempty"`
}

// NewNode returns an empty Node with its version and kind set.
func NewNode(name string) Node {
	return Node{APIVersion: APIVersion, Kind: NodeKind, Name: name, GPUs: []GPU{}}
}

// Lookup returns the GPU with the given BDF.
func (n Node) Lookup(b BDF) (GPU, bool) {
	for _, g := range n.GPUs {
		if g.BDF == b {
			return g, true
		}
	}
	return GPU{}, false
}

// HasDevices reports whether a GPU or a slice of the Node has device nodes. A Node that was
// read from a bare matrix has none.
func (n Node) HasDevices() bool {
	return slices.ContainsFunc(n.GPUs, func(g GPU) bool {
		return len(g.Nodes) > 0 || slices.ContainsFunc(g.Slices, func(s Slice) bool { return len(s.Nodes) > 0 })
	})
}

// Healthy returns the indices of the GPUs that may be given as a whole.
func (n Node) Healthy() []int {
	var free []int
	for _, g := range n.GPUs {
		if _, divided := g.Divided(); g.Healthy && !divided {
			free = append(free, g.Index)
		}
	}
	return free
}

// SortLinks sorts links by their GPUs.
func SortLinks(links []Link) {
	slices.SortStableFunc(links, func(x, y Link) int { return cmp.Or(x.A-y.A, x.B-y.B) })
}
