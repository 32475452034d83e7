// SPDX-License-Identifier: Apache-2.0

package key

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Component is one of the quantities by which sets of GPUs are compared. The package
// comment defines them. The zero Component is not one of them.
type Component uint8

// The components.
const (
	ByClass      Component = iota + 1
	ByCapability           // of the set
	ByWeight               // of the set
	ByRest                 // the capability of the rest
	ByCut                  // less is better, as for ByJobs and for no other
	ByLocality             // of the set
	ByScore                // of Weighted: gain·weight − loss·cut
	ByJobs                 // of MTF: the jobs that fill the rest, minus those before the pick; less is better
	ByOrder                // the GPU numbers, listed ascending: the lower list is better
)

var componentNames = []string{
	"none", "class", "capability", "weight", "rest", "cut", "locality", "score", "jobs",
	"order",
}

// String returns the component's name: "class", "capability", "weight", "rest", "cut",
// "locality", "score", "jobs" or "order".
func (c Component) String() string { return wording.Name(componentNames, c) }

// MarshalText implements encoding.TextMarshaler.
func (c Component) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Compare returns 1 if a is better than b by this component, -1 if b is better than a,
// and 0 if they are equal. By ByOrder all are equal.
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
	case ByOrder: // all are equal
	}
	return 0
}

// compareCounts compares the capabilities of two sets of the same size.
func compareCounts(a, b []Count) int {
	return slices.CompareFunc(a, b, func(x, y Count) int { return cmp.Compare(x.Sets, y.Sets) })
}
