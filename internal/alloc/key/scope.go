package key

import (
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Scope bounds how far apart the GPUs of an answer may be. A single GPU is
// within every scope.
type Scope uint8

// The scopes.
const (
	// Any bounds nothing.
	Any Scope = iota
	// Link demands class MX: a ring over all GPUs of the answer, by MetaXLink.
	Link
	// Switch demands that every two GPUs share a PCIe switch, whatever links
	// them besides.
	Switch
	// NUMA demands one NUMA node, whatever links the GPUs. Where a GPU's place is
	// not known, it is taken to be another.
	NUMA
	// Node demands one host, which all GPUs of one Graph share.
	Node
)

// scopes are all of them.
var Scopes = []Scope{Any, Link, Switch, NUMA, Node}

var scopeNames = []string{"any", "link", "switch", "numa", "node"}

// String is the scope's name: "any", "link", "switch", "numa" or "node".
func (s Scope) String() string { return wording.Name(scopeNames, s) }

// holds reports whether GPUs that sit as near as that are within the scope, as far
// as it is about places: Link is about a ring.
func (s Scope) Holds(place topology.Locality) bool {
	switch s {
	case Switch:
		return place == topology.SameSwitch
	case NUMA:
		return place >= topology.SameNUMA
	}
	return true
}
