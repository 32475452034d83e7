package key

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Component is one of the quantities by which sets of GPUs are compared.
type Component uint8

// The components; the package comment says what they are. The zero Component is
// none of them.
const (
	ByClass      Component = iota + 1
	ByCapability           // of the set
	ByWeight               // of the set
	ByRest                 // the capability of the free GPUs that remain
	ByCut                  // less is better, as in no other but ByJobs
	ByLocality             // of the set
	ByScore                // of Weighted: gain·weight − loss·cut
	ByJobs                 // of MTF: how many more jobs it takes to fill the node; less is better
	ByOrder                // the indices, listed ascending: the least list is best
)

var componentNames = []string{"none", "class", "capability", "weight", "rest", "cut", "locality", "score", "jobs", "order"}

// String is the component's name: "class", "capability", "weight", "rest",
// "cut", "locality", "score", "jobs" or "order".
func (c Component) String() string { return wording.Name(componentNames, c) }

// MarshalText implements encoding.TextMarshaler.
func (c Component) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// compare is 1 if the component speaks for a, -1 if for b.
func (c Component) Compare(a, b Candidate) int {
	switch c {
	case ByClass:
		return cmp.Compare(a.Class, b.Class)
	case ByCapability:
		return compareCounts(a.Capability, b.Capability)
	case ByWeight:
		return cmp.Compare(a.Weight, b.Weight)
	case ByRest:
		return compareCounts(a.Rest, b.Rest)
	case ByCut:
		return cmp.Compare(b.Cut, a.Cut)
	case ByLocality:
		return cmp.Compare(a.Locality, b.Locality)
	case ByScore:
		return cmp.Compare(a.Score, b.Score)
	case ByJobs:
		return cmp.Compare(b.Jobs, a.Jobs)
	}
	return 0
}

// compareCounts compares capabilities of sets as large.
func compareCounts(a, b []Count) int {
	return slices.CompareFunc(a, b, func(x, y Count) int { return cmp.Compare(x.Sets, y.Sets) })
}
