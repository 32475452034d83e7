// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The codes of problems. A GPU that the vendor's library reports as unhealthy for a reason
// with the number 7 has the code "vendor-7".
const (
	NoDeviceNodes = "no-device-nodes" // or one of them is missing, or another GPU has it too
	PCILink       = "pci-link"        // its PCIe link is down
	VFIO          = "vfio"            // it is for a virtual machine
	Vendor        = "vendor"          // the vendor's software reports it as unhealthy
	NotListed     = "not-listed"      // the vendor's software does not list it
	Missing       = "missing"         // the kernel does not list it any more
)

// Codes are all codes, without those of the vendor's numbers.
var Codes = []string{NoDeviceNodes, PCILink, VFIO, Vendor, NotListed, Missing}

// IsCode reports whether a problem can have this code.
func IsCode(code string) bool {
	if number, ok := strings.CutPrefix(code, Vendor+"-"); ok {
		_, err := strconv.Atoi(number)
		return err == nil
	}
	return slices.Contains(Codes, code)
}

// GPU names a GPU. Its key is the address, which is the same in all looks, unlike the index;
// a GPU of a Node without addresses has its index for a key.
type GPU struct {
	// Index is its position in the node, -1 if it is not there any more.
	Index int      `json:"index"`
	UUID  gpu.UUID `json:"uuid,omitempty"` // empty if unknown
	BDF   gpu.BDF  `json:"bdf,omitzero"`
}

// Key returns the name by which State and Rules know the GPU.
func (g GPU) Key() string {
	if (g.BDF == gpu.BDF{}) {
		return strconv.Itoa(g.Index)
	}
	return g.BDF.String()
}

// Problem is a reason why a GPU must not be given.
type Problem struct {
	Code string `json:"code"` // one of the codes
	Text string `json:"text"` // one line for people
	// Words are the vendor's own reason, a part of Text; empty if it gave none.
	Words string `json:"words,omitempty"`
}

// Reading is what one look found out about one GPU.
type Reading struct {
	GPU
	Problems []Problem `json:"problems,omitempty"` // the most important first; empty for a healthy GPU
}

// Look is what was seen of all GPUs at one time.
type Look struct {
	Readings []Reading `json:"readings"`
	// Failed is why the look failed as a whole, such as a vendor's tool that is installed but
	// does not answer; empty if it did not fail. The problems that a failed look still found
	// count, but it is unknown whether a GPU without a problem is healthy.
	Failed string `json:"failed,omitempty"`
}

// Key returns the key of the GPU that name means in this look: an index, a PCI address or a
// UUID.
func (l Look) Key(name string) (key string, ok bool) {
	for _, r := range l.Readings {
		if name == strconv.Itoa(r.Index) || strings.EqualFold(name, r.BDF.String()) || r.UUID.Equal(name) {
			return r.Key(), true
		}
	}
	return "", false
}

// Keys returns the keys of the GPUs that the names mean in this look, as Key does. A name that
// means none is left out.
func (l Look) Keys(names []string) (keys []string) {
	for _, name := range names {
		if key, ok := l.Key(name); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// FromNode returns the Look at a Node that a file or a simulation states.
func FromNode(n gpu.Node) Look {
	var l Look
	for _, g := range n.GPUs {
		r := Reading{GPU: GPU{Index: g.Index, UUID: g.UUID, BDF: g.BDF}}
		switch {
		case g.Healthy: // no problem
		case g.SetAside():
			r.Problems = []Problem{SetAside}
		case len(g.Nodes) == 0:
			r.Problems = []Problem{{Code: NoDeviceNodes, Text: "it has no device nodes"}}
		default:
			r.Problems = []Problem{{Code: Vendor, Text: "the vendor's software reports it as unhealthy"}}
		}
		l.Readings = append(l.Readings, r)
	}
	return l
}

// SetAside is the problem of a GPU with the mode vfio.
var SetAside = Problem{Code: VFIO, Text: "it is bound to vfio-pci, for a virtual machine"}
