// SPDX-License-Identifier: Apache-2.0

package key

import (
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Scope limits how far apart the GPUs of an answer may be. A single GPU is within every
// scope.
type Scope uint8

// The scopes.
const (
	// Any allows every set.
	Any Scope = iota
	// Link allows sets of class MX: a ring over all GPUs, by MetaXLink alone.
	Link
	// Switch allows sets of which each two GPUs share a PCIe switch, whatever other
	// links they have.
	Switch
	// NUMA allows sets within one NUMA node, whatever their links. A GPU whose place is
	// unknown shares a NUMA node with no other.
	NUMA
	// Node allows sets within one host, and all GPUs of one Graph are.
	Node
)

// Scopes are all scopes.
var Scopes = []Scope{Any, Link, Switch, NUMA, Node}

var scopeNames = []string{"any", "link", "switch", "numa", "node"}

// String returns the scope's name: "any", "link", "switch", "numa" or "node".
func (s Scope) String() string { return wording.Name(scopeNames, s) }

// Allows reports whether the scope allows two GPUs that sit as near as that. Link
// allows any place, because it is about a ring.
func (s Scope) Allows(place topology.Locality) bool {
	switch s {
	case Switch:
		return place == topology.SameSwitch
	case NUMA:
		return place >= topology.SameNUMA
	case Any, Link, Node: // any place
	}
	return true
}
