package alloc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/topology"
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
	numScopes
)

var (
	scopeNames = []string{"any", "link", "switch", "numa", "node"}
	// scopeWords says it in a sentence: "no 4 free GPUs …".
	scopeWords = [numScopes]string{"", "in one MetaXLink domain", "under one PCIe switch", "on one NUMA node", "on one host"}
)

// String is the scope's name: "any", "link", "switch", "numa" or "node".
func (s Scope) String() string { return name(scopeNames, s) }

// holds reports whether GPUs that sit as near as that are within the scope, as far
// as it is about places: Link is about a ring.
func (s Scope) holds(place topology.Locality) bool {
	switch s {
	case Switch:
		return place == topology.SameSwitch
	case NUMA:
		return place >= topology.SameNUMA
	}
	return true
}

// ParseScope reads a scope's name.
func ParseScope(s string) (Scope, error) { return parse[Scope]("scope", scopeNames, s) }

// SizeRule says what to make of a number of GPUs that MetaX does not recommend.
type SizeRule uint8

// The size rules.
const (
	// Warn answers, with a warning.
	Warn SizeRule = iota
	// Off answers.
	Off
	// Enforce refuses.
	Enforce
	numSizeRules
)

var sizeRuleNames = []string{"warn", "off", "enforce"}

// String is the rule's name: "warn", "off" or "enforce".
func (r SizeRule) String() string { return name(sizeRuleNames, r) }

// ParseSizeRule reads a size rule's name.
func ParseSizeRule(s string) (SizeRule, error) {
	return parse[SizeRule]("size rule", sizeRuleNames, s)
}

// recommended are the numbers of GPUs for a job that MetaX's documents
// recommend, greatest first.
var recommended = []int{8, 4, 2, 1}

func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown (%d)", v)
}

func parse[T ~uint8](what string, names []string, s string) (T, error) {
	if i := slices.Index(names, s); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("%s %q is not known; want %s", what, s, strings.Join(names, ", "))
}
