package alloc

import (
	"fmt"
	"strings"
)

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
)

var sizeRules = []SizeRule{Warn, Off, Enforce}

var sizeRuleNames = []string{"warn", "off", "enforce"}

// String is the rule's name: "warn", "off" or "enforce".
func (r SizeRule) String() string { return name(sizeRuleNames, r) }

// ParseSizeRule reads a size rule's name.
func ParseSizeRule(s string) (SizeRule, error) {
	return parse("size rule", sizeRules, s)
}

// recommended are the numbers of GPUs for a job that MetaX's documents
// recommend, greatest first.
var recommended = []int{8, 4, 2, 1}

// ParseScope reads a scope's name.
func ParseScope(s string) (Scope, error) { return parse("scope", scopes, s) }

// ParseWeights reads the name of a way to weigh.
func ParseWeights(s string) (Weights, error) { return parse("weights", allWeights, s) }

// parse reads the name of one of the values.
func parse[T fmt.Stringer](what string, values []T, s string) (T, error) {
	names := make([]string, len(values))
	for i, v := range values {
		if names[i] = v.String(); names[i] == s {
			return v, nil
		}
	}
	var zero T
	return zero, fmt.Errorf("%s %q is not known; want %s", what, s, strings.Join(names, ", "))
}

func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown (%d)", v)
}
