package topology

// Kind is the class of the link between two GPUs. A greater Kind is a better
// link; the order is this table's and never the vendor library's enumeration,
// in which MetaXLink stands between NODE and SYS.
type Kind uint8

// The kinds, worst first.
const (
	Unknown Kind = iota // not known, or no link: the worst, never a zero that wins
	SYS                 // PCIe and the interconnect between NUMA nodes
	NODE                // PCIe and the interconnect between host bridges of one NUMA node
	PHB                 // PCIe through one host bridge
	PXB                 // several PCIe bridges, no host bridge
	PIX                 // at most one PCIe bridge or switch
	MX                  // MetaXLink
	numKinds
)

var kindNames = [numKinds]string{"NA", "SYS", "NODE", "PHB", "PXB", "PIX", "MX"}

var kindMeanings = [numKinds]string{
	"link not known",
	"PCIe and the interconnect between NUMA nodes",
	"PCIe and the interconnect between host bridges of one NUMA node",
	"PCIe through one host bridge",
	"several PCIe bridges, no host bridge",
	"at most one PCIe bridge or switch",
	"MetaXLink",
}

// Kinds lists all kinds, best first.
func Kinds() []Kind { return []Kind{MX, PIX, PXB, PHB, NODE, SYS, Unknown} }

// String returns mx-smi's word for the kind.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// ParseKind reads mx-smi's word; ok is false for a word that is none. "NA" is
// Unknown and ok.
func ParseKind(s string) (k Kind, ok bool) {
	for i, name := range kindNames {
		if s == name {
			return Kind(i), true
		}
	}
	return Unknown, false
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Meaning is one line of the legend.
func (k Kind) Meaning() string {
	if k < numKinds {
		return kindMeanings[k]
	}
	return kindMeanings[Unknown]
}
