package alloc

import "github.com/metax-ctk/container-toolkit/internal/topology"

// weights is what a link of each kind is worth: the default table of the
// allocation specification, section 2.
var weights = [...]uint16{
	topology.MX: 100, topology.PIX: 50, topology.PXB: 40, topology.PHB: 30,
	topology.NODE: 20, topology.SYS: 10, topology.Unknown: 0,
}

// Component is one of the quantities by which sets of GPUs are compared.
type Component uint8

// The components; the package comment says what they are. The zero Component is
// none of them.
const (
	ByClass      Component = iota + 1
	ByCapability           // of the set
	ByWeight               // of the set
	ByRest                 // the capability of the free GPUs that remain
	ByCut                  // less is better, as in no other
	ByLocality             // of the set
	ByOrder                // the indices, listed ascending: the least list is best
)

var componentNames = []string{"none", "class", "capability", "weight", "rest", "cut", "locality", "order"}

// String is the component's name: "class", "capability", "weight", "rest",
// "cut", "locality" or "order".
func (c Component) String() string { return name(componentNames, c) }

// MarshalText implements encoding.TextMarshaler.
func (c Component) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// keys is each policy's order of comparison; ByOrder follows them all.
var keys = [numPolicies][6]Component{
	Spread:  {ByClass, ByCapability, ByWeight, ByRest, ByCut, ByLocality},
	Binpack: {ByClass, ByRest, ByCut, ByCapability, ByWeight, ByLocality},
}
