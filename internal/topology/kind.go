// SPDX-License-Identifier: Apache-2.0

package topology

// Kind is how two GPUs are linked. A greater Kind is a better link. The order is that of
// this table, not of the vendor library's enumeration, in which MetaXLink is between NODE
// and SYS.
type Kind uint8

// The kinds, worst first.
const (
	Unknown Kind = iota // not known, or no link: the worst
	SYS                 // PCIe and the interconnect between NUMA nodes
	NODE                // PCIe and the interconnect between host bridges of one NUMA node
	PHB                 // PCIe through one host bridge
	PXB                 // several PCIe bridges, no host bridge
	PIX                 // at most one PCIe bridge or switch
	Switch              // the link class of PXB and PIX; no link has this kind
	MX                  // MetaXLink
	numKinds
)

var kindNames = [numKinds]string{"NA", "SYS", "NODE", "PHB", "PXB", "PIX", "SWITCH", "MX"}

var kindMeanings = [numKinds]string{
	"link not known",
	"PCIe and the interconnect between NUMA nodes",
	"PCIe and the interconnect between host bridges of one NUMA node",
	"PCIe through one host bridge",
	"several PCIe bridges, no host bridge",
	"at most one PCIe bridge or switch",
	"PCIe switches, no host bridge",
	"MetaXLink",
}

// Kinds returns all kinds that a link can have, best first.
func Kinds() []Kind { return []Kind{MX, PIX, PXB, PHB, NODE, SYS, Unknown} }

// Classes returns all link classes, best first.
func Classes() []Kind { return []Kind{MX, Switch, PHB, NODE, SYS, Unknown} }

// Class returns the link class that the picker compares. PIX and PXB are one class, because
// MetaX's rules have one class "PCIe switch"; every other kind is a class of its own.
func (k Kind) Class() Kind {
	if k == PIX || k == PXB {
		return Switch
	}
	return k
}

// String returns mx-smi's word for the kind, and SWITCH for the class.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// oemMX is MetaXLink in the tool of the OEM version, ht-smi, which calls it MarsLink.
const oemMX = "HT"

// ethernet is the word of mx-smi's legend for Ethernet. What it says of a pair inside a node,
// and how it compares with PCIe, is not published.
const ethernet = "ETH"

// ParseKind reads mx-smi's word; ok is false if s is not one of its words. "NA" and "ETH" are
// Unknown and ok.
func ParseKind(s string) (k Kind, ok bool) {
	if s == oemMX {
		return MX, true
	}
	if s == ethernet {
		return Unknown, true
	}
	for i, name := range kindNames {
		if s == name && Kind(i) != Switch {
			return Kind(i), true
		}
	}
	return Unknown, false
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Meaning returns the kind's explanation in the legend.
func (k Kind) Meaning() string {
	if k < numKinds {
		return kindMeanings[k]
	}
	return kindMeanings[Unknown]
}
