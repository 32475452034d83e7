package request

import (
	"strconv"
	"strings"
)

// SoftwareKind is the CDI kind of the host's MXMACA.
const SoftwareKind = "metax-tech.com/maca"

// The CDI kinds whose device names may stand as an ID: "metax-tech.com/gpu=0" is
// the GPU that CDI knows as "0", "metax-tech.com/sgpu=…" the slice of a name.
const (
	CDIKind   = "metax-tech.com/gpu"
	SliceKind = "metax-tech.com/sgpu"
)

// Request is what --gpus asks for. Exactly one of its forms is set.
type Request struct {
	// All asks for every GPU of the node.
	All bool
	// Count asks for any so many GPUs, at least 1.
	Count int
	// IDs asks for these GPUs: each is an index, a UUID, a PCI address or a
	// serial number, none of them twice, without the prefix of CDIKind.
	IDs []string
	// Slices asks for these slices of GPUs: each is the UUID of one, or the PCI
	// address of a virtual function, none of them twice, without "sgpu:" or the
	// prefix of SliceKind.
	Slices []string
}

// String is the shortest value of --gpus that asks for the same: "all", "2",
// "[0,2]" or "[sgpu:UUID]". Parse reads it back to an equal Request.
func (r Request) String() string {
	switch {
	case r.All:
		return "all"
	case len(r.IDs) > 0:
		return "[" + strings.Join(r.IDs, ",") + "]"
	case len(r.Slices) > 0:
		return "[" + slicePrefix + strings.Join(r.Slices, ","+slicePrefix) + "]"
	}
	return strconv.Itoa(r.Count)
}
