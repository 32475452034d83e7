package alloc

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/wording"
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
func (r SizeRule) String() string { return wording.Name(sizeRuleNames, r) }

// ParseSizeRule reads a size rule's name.
func ParseSizeRule(s string) (SizeRule, error) {
	return parse("size rule", sizeRules, s)
}

// recommended are the numbers of GPUs for a job that MetaX's documents
// recommend, greatest first.
var recommended = []int{8, 4, 2, 1}

// ParseScope reads a scope's name.
func ParseScope(s string) (key.Scope, error) { return parse("scope", key.Scopes, s) }

// ParseWeights reads the name of a way to weigh.
func ParseWeights(s string) (link.Weights, error) { return parse("weights", link.AllWeights, s) }

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
