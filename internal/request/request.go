package request

import (
	"strconv"
	"strings"
)

// CDIKind is the CDI kind whose device names may stand as an ID:
// "metax-tech.com/gpu=0" is the GPU that CDI knows as "0".
const CDIKind = "metax-tech.com/gpu"

// Request is what --gpus asks for. Exactly one of its forms is set.
type Request struct {
	// All asks for every GPU of the node.
	All bool
	// Count asks for any so many GPUs, at least 1.
	Count int
	// IDs asks for these GPUs: each is an index, a UUID, a PCI address or a
	// serial number, none of them twice, without the prefix of CDIKind.
	IDs []string
}

// String is the shortest value of --gpus that asks for the same: "all", "2" or
// "[0,2]". Parse reads it back to an equal Request.
func (r Request) String() string {
	switch {
	case r.All:
		return "all"
	case len(r.IDs) > 0:
		return "[" + strings.Join(r.IDs, ",") + "]"
	}
	return strconv.Itoa(r.Count)
}
