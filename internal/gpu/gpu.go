// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"encoding/json"
	"strconv"
	"strings"
)

// NUMAUnknown is the NUMA node of a GPU if the host does not state it.
const NUMAUnknown = -1

// GPU is one physical card (a PCI physical function) of a node.
type GPU struct {
	// Index is the position in BDF order, from 0.
	Index int  `json:"index"`
	UUID  UUID `json:"uuid,omitempty"`
	// Serial is the board's serial number, as mx-smi prints it.
	Serial string `json:"serial,omitempty"`
	// BDF is the PCI address. Zero, the address of a host bridge, means unknown, as in a
	// Node that was read from a bare matrix.
	BDF BDF `json:"bdf,omitzero"`
	// Model is the name that the vendor's tools print, such as "MXC500".
	Model string `json:"model,omitempty"`
	// Product is the name of the same card in the vendor's documents, such as "C500".
	Product string `json:"product,omitempty"`
	// VBIOS is the version of the card's firmware, such as "1.30.0.0".
	VBIOS string `json:"vbios,omitempty"`
	// MemoryMiB is the device memory in MiB; 0 if unknown.
	MemoryMiB int `json:"memoryMiB,omitempty"`
	// NUMA is the NUMA node, or NUMAUnknown.
	NUMA int `json:"numa"`
	// CPUs are the processors nearest to the GPU in the kernel's list format
	// ("0-31,64-95"); empty if unknown.
	CPUs string `json:"cpus,omitempty"`
	// PCIeRoot is the host bridge ("pci0000:0a") above the GPU.
	PCIeRoot string `json:"pcieRoot,omitempty"`
	// PCIePath lists the bridges from the root port down to the GPU's parent.
	PCIePath []BDF `json:"pciePath,omitempty"`
	// PCIeSwitch is the upstream port of the nearest switch above the GPU.
	PCIeSwitch *BDF `json:"pcieSwitch,omitempty"`
	// LinkDomain is the number of the GPU's MetaXLink domain, from 1; 0 if it is in none.
	LinkDomain int `json:"linkDomain,omitempty"`
	// Healthy is false for a GPU that must not be given unless it is requested by name:
	// the vendor's tool reports it as unavailable, or it has no device nodes.
	Healthy bool `json:"healthy"`
	// Nodes are the GPU's own device nodes, as absolute paths on the host; empty if one of
	// them is missing or belongs to another GPU.
	Nodes []string `json:"nodes,omitempty"`
	// GIDs are the numeric groups of those Nodes that not everyone may open, ascending and
	// without group 0.
	GIDs []uint32 `json:"gids,omitempty"`
	// NodeGIDs are the groups of those Nodes; left out where GIDs is the one group of all
	// Nodes, or empty.
	NodeGIDs map[string]uint32 `json:"nodeGids,omitempty"`
	// VFs are the SR-IOV virtual functions that this GPU is split into.
	VFs []BDF `json:"vfs,omitempty"`
	// SRIOV is one of the SRIOV constants; empty if unknown.
	SRIOV string `json:"sriov,omitempty"`
	// Mode is ModeSGPU for a GPU that is given in slices only, ModeVFIO for a GPU that is
	// for virtual machines, or empty.
	Mode string `json:"mode,omitempty"`
	// Slices are the parts that the GPU is divided into, sGPUs before virtual
	// functions, by index.
	Slices []Slice `json:"slices,omitempty"`
}

// The states of SR-IOV, in the words of MetaX's node labels.
const (
	SRIOVOn        = "on"        // the GPU is split into virtual functions
	SRIOVOff       = "off"       // it could be
	SRIOVForbidden = "forbidden" // card, firmware or kernel cannot split it
)

// ProductOf returns the name in the vendor's documents of a model in the vendor's tools:
// "C500" for "MXC500" and for its virtual function "MXC500 VF"; empty for a model whose name
// is not known, as "9999:4001".
func ProductOf(model string) string {
	name, ok := strings.CutPrefix(model, "MX")
	if !ok || name == "" {
		return ""
	}
	return strings.TrimSuffix(name, " VF")
}

// ValidCPUList reports whether s has the form of the kernel's lists of processors,
// "0-31,64-95".
func ValidCPUList(s string) bool {
	const longest = 1024
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && r != '-' && r != ','
	})
}

// Divided reports whether the GPU is given in parts and never as a whole, and how it is
// divided.
func (g GPU) Divided() (how string, divided bool) {
	switch {
	case g.Mode == ModeSGPU:
		return "it is in slice mode", true
	case len(g.VFs) > 0:
		return "it has virtual functions", true
	}
	return "", false
}

// SetAside reports whether the GPU is for a virtual machine. Such a GPU has no device nodes.
func (g GPU) SetAside() bool { return g.Mode == ModeVFIO }

// Name returns the most durable known name of the GPU: its UUID, or else its index in
// decimal. Both are CDI device names.
func (g GPU) Name() string {
	if g.UUID != "" {
		return string(g.UUID)
	}
	return strconv.Itoa(g.Index)
}

// UnmarshalJSON reads a GPU. A missing "numa" is unknown and a missing "healthy" is true, so
// a Node written by hand need not have them.
func (g *GPU) UnmarshalJSON(data []byte) error {
	type plain GPU
	p := plain{NUMA: NUMAUnknown, Healthy: true}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*g = GPU(p)
	return nil
}
