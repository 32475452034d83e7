// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The kinds of network cards.
const (
	NICRDMA = "rdma" // it has an RDMA device
	NICNet  = "net"  // it has a network interface only
)

// MaxNICs is the greatest number of network cards in a Node that is read.
const MaxNICs = 256

// NIC is a PCI function of a network card. Virtual functions and interfaces without a
// card are not NICs.
type NIC struct {
	// Name is the kernel's name of the RDMA device ("mlx5_0"), or else of the network
	// interface ("eth0").
	Name string `json:"name"`
	// Kind is NICRDMA or NICNet.
	Kind string `json:"kind"`
	BDF  BDF    `json:"bdf"`
	// NUMA, PCIeRoot, PCIePath and PCIeSwitch are as those of a GPU.
	NUMA       int    `json:"numa"`
	PCIeRoot   string `json:"pcieRoot,omitempty"`
	PCIePath   []BDF  `json:"pciePath,omitempty"`
	PCIeSwitch *BDF   `json:"pcieSwitch,omitempty"`
}

// UnmarshalJSON reads a NIC. A missing "numa" is unknown.
func (n *NIC) UnmarshalJSON(data []byte) error {
	type plain NIC
	p := plain{NUMA: NUMAUnknown}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*n = NIC(p)
	return nil
}

// ValidNICName reports whether s has the form of the names of network devices that are
// shown: up to 64 letters, digits, dots, dashes and underscores, with a letter first.
func ValidNICName(s string) bool {
	letter := func(r rune) bool { return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') }
	return s != "" && len(s) <= 64 && letter(rune(s[0])) && !strings.ContainsFunc(s, func(r rune) bool {
		return !letter(r) && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	})
}

// SortNICs puts cards with RDMA first, each kind in the order of addresses.
func SortNICs(nics []NIC) {
	slices.SortFunc(nics, func(a, b NIC) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), a.BDF.Compare(b.BDF)) // "rdma" is after "net"
	})
}

// checkNICs returns what is wrong with the network cards of a Node.
func (n Node) checkNICs() error {
	if len(n.NICs) > MaxNICs {
		return fmt.Errorf("%d network cards; at most %d", len(n.NICs), MaxNICs)
	}
	seen := map[BDF]bool{}
	for _, c := range n.NICs {
		_, gpu := n.Lookup(c.BDF)
		switch {
		case !ValidNICName(c.Name):
			return fmt.Errorf("network card %s has the name %q", c.BDF, c.Name)
		case c.Kind != NICRDMA && c.Kind != NICNet:
			return fmt.Errorf("network card %s is of kind %q; want %s or %s", c.BDF, c.Kind, NICRDMA, NICNet)
		case c.BDF == BDF{}, seen[c.BDF], gpu:
			return fmt.Errorf("network card %q has the PCI address %s; want one that no other device has", c.Name, c.BDF)
		case c.NUMA < NUMAUnknown:
			return fmt.Errorf("network card %s has NUMA node %d", c.BDF, c.NUMA)
		}
		seen[c.BDF] = true
	}
	return nil
}
