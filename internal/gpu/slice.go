// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// ModeSGPU is the mode of a GPU that the vendor's driver divides into sGPUs.
const ModeSGPU = "sgpu"

// ModeVFIO is the mode of a GPU for a virtual machine: the driver vfio-pci uses it, and it
// has no device nodes on this host.
const ModeVFIO = "vfio"

// The kinds of slices.
const (
	SliceSGPU = "sgpu" // made by the driver, with a share of compute and memory
	SliceVF   = "vf"   // an SR-IOV virtual function
)

// MaxSlices is the greatest number of sGPUs that the driver makes of one GPU.
const MaxSlices = 16

// The ways in which the sGPUs of one GPU share its compute units. All sGPUs of a GPU have the
// same.
const (
	QoSBestEffort = "best-effort"
	QoSFixedShare = "fixed-share"
	QoSBurstShare = "burst-share"
)

// QoSClasses returns all of them, in the order of the vendor's numbers, from 0.
func QoSClasses() []string { return []string{QoSBestEffort, QoSFixedShare, QoSBurstShare} }

// Slice is a part of a GPU that can be given without the rest.
type Slice struct {
	// Kind is SliceSGPU or SliceVF.
	Kind string `json:"kind"`
	// Index numbers the slices of one kind on their GPU, from 0, as sysfs does:
	// sgpu<k>, virtfn<k>.
	Index int `json:"index"`
	// UUID names a slice for its lifetime; empty if unknown.
	UUID string `json:"uuid,omitempty"`
	// BDF is the PCI address of a virtual function.
	BDF BDF `json:"bdf,omitzero"`
	// Alias is the name that its creator gave it.
	Alias string `json:"alias,omitempty"`
	// ComputePercent is its share of the GPU's compute units, 1–100; 0 if unknown.
	ComputePercent int `json:"computePercent,omitempty"`
	// MemoryMiB is its device memory in MiB; 0 if unknown.
	MemoryMiB int `json:"memoryMiB,omitempty"`
	// QoS is one of the QoS constants; empty if unknown.
	QoS string `json:"qos,omitempty"`
	// Nodes are the device nodes that a container with the slice needs besides those that
	// all GPUs share; empty if they do not exist.
	Nodes []string `json:"nodes,omitempty"`
	// GIDs are the groups of those Nodes that not everyone may open.
	GIDs []uint32 `json:"gids,omitempty"`
	// NodeGIDs are those of GPU.
	NodeGIDs map[string]uint32 `json:"nodeGids,omitempty"`
}

// Name returns the most durable known name of the slice: its UUID, or the address of a
// virtual function; empty if it has neither.
func (s Slice) Name() string {
	switch {
	case s.UUID != "":
		return s.UUID
	case s.BDF != BDF{}:
		return s.BDF.String()
	}
	return ""
}

// SortSlices sorts slices by kind and index.
func SortSlices(s []Slice) {
	slices.SortStableFunc(s, func(a, b Slice) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index)) // "sgpu" < "vf"
	})
}

// Parts says what the GPU is divided into, such as "sgpu: 2 slices" or "sriov: 4 VFs"; empty
// if it is not divided.
func (g GPU) Parts() string {
	var parts []string
	if g.Mode == ModeSGPU {
		n := 0
		for _, s := range g.Slices {
			if s.Kind == SliceSGPU {
				n++
			}
		}
		parts = append(parts, "sgpu: "+wording.Count(n, "slice"))
	}
	if len(g.VFs) > 0 {
		parts = append(parts, "sriov: "+wording.Count(len(g.VFs), "VF"))
	}
	return strings.Join(parts, ", ")
}

// The limits of slices in a Node that is read. The driver makes up to 16 sGPUs and 8 virtual
// functions of one GPU; how it numbers them is not published.
const (
	MaxVFs     = 256
	maxIndex   = 4096
	maxPercent = 100
)

// checkSlices returns what is wrong with the slices of one GPU. A slice of a GPU that does
// not count as divided is an error, because the GPU would also be given as a whole.
func (g GPU) checkSlices() error {
	if g.Mode != "" && g.Mode != ModeSGPU && g.Mode != ModeVFIO {
		return fmt.Errorf("mode %q; want %q, %q or none", g.Mode, ModeSGPU, ModeVFIO)
	}
	type number struct {
		kind  string
		index int
	}
	seen := map[number]bool{}
	count := map[string]int{}
	for _, s := range g.Slices {
		at := number{s.Kind, s.Index}
		count[s.Kind]++
		switch {
		case s.Kind == SliceSGPU && g.Mode != ModeSGPU:
			return fmt.Errorf("it has sGPUs, and its mode is not %q", ModeSGPU)
		case s.Kind == SliceSGPU && s.BDF != BDF{}:
			return fmt.Errorf("sGPU %d has a PCI address", s.Index)
		case s.Kind == SliceVF && !slices.Contains(g.VFs, s.BDF):
			return fmt.Errorf("slice %s is not one of its virtual functions", s.BDF)
		case s.Kind != SliceSGPU && s.Kind != SliceVF:
			return fmt.Errorf("slice of kind %q; want %q or %q", s.Kind, SliceSGPU, SliceVF)
		case s.Index < 0 || s.Index >= maxIndex || seen[at]:
			return fmt.Errorf("slice of kind %q has index %d; indices are 0 to %d, each once", s.Kind, s.Index, maxIndex-1)
		case count[SliceSGPU] > MaxSlices || count[SliceVF] > MaxVFs:
			return fmt.Errorf("too many slices of kind %q; at most %d, and %d virtual functions", s.Kind, MaxSlices, MaxVFs)
		}
		seen[at] = true
		if err := s.check(); err != nil {
			return fmt.Errorf("slice %s %d: %w", s.Kind, s.Index, err)
		}
	}
	return nil
}

// check returns what is wrong with one slice.
func (s Slice) check() error {
	switch {
	case s.UUID != "" && !ValidSliceUUID(s.UUID):
		return fmt.Errorf("%q is not a UUID", s.UUID)
	case s.ComputePercent < 0 || s.ComputePercent > maxPercent:
		return fmt.Errorf("%d percent of compute", s.ComputePercent)
	case s.MemoryMiB < 0:
		return fmt.Errorf("%d MiB of memory", s.MemoryMiB)
	case s.QoS != "" && !slices.Contains(QoSClasses(), s.QoS):
		return fmt.Errorf("QoS class %q; want %q, %q or %q", s.QoS, QoSBestEffort, QoSFixedShare, QoSBurstShare)
	}
	return checkNodes(s.Nodes, s.NodeGIDs)
}

// checkSliceNames returns an error if two slices of the node have the same name.
func (n Node) checkSliceNames() error {
	uuid, bdf := map[string]bool{}, map[BDF]bool{}
	for _, g := range n.GPUs {
		bdf[g.BDF] = true
	}
	for _, g := range n.GPUs {
		for _, s := range g.Slices {
			key := strings.ToLower(s.UUID)
			switch {
			case s.UUID != "" && uuid[key]:
				return fmt.Errorf("two slices have the UUID %s", s.UUID)
			case s.BDF != BDF{} && bdf[s.BDF]:
				return fmt.Errorf("PCI address %s occurs twice", s.BDF)
			}
			uuid[key] = true
			if (s.BDF != BDF{}) {
				bdf[s.BDF] = true
			}
		}
	}
	return nil
}

// ValidSliceUUID reports whether s can be the UUID of a slice: letters, digits and dashes,
// not beginning with a dash, at most as long as the vendor library's field. The form is not
// published.
func ValidSliceUUID(s string) bool {
	return s != "" && len(s) < 94 && s[0] != '-' && consistsOf(s, alphanumeric+"-")
}
