// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// PolicyWords lists what ParsePolicy reads, for a message or a help text.
const PolicyWords = "spread (or compact), binpack (or preserve), weighted:GAIN,LOSS, mtf, first"

// PolicyNames are the names and aliases that ParsePolicy reads, without parameters.
var PolicyNames = []string{"spread", "compact", "binpack", "preserve", "weighted", "mtf", "first"}

// Policies returns all policies without parameters, and Weighted with HAMi's factors.
func Policies() []key.Policy {
	hami, _ := key.Weighted(10, 1) // both factors are valid
	return []key.Policy{key.Spread, key.Binpack, hami, key.MTF, key.First}
}

// ParsePolicy reads a policy's name or alias.
func ParsePolicy(s string) (key.Policy, error) {
	switch s {
	case "compact":
		return key.Spread, nil
	case "preserve":
		return key.Binpack, nil
	}
	if factors, ok := strings.CutPrefix(s, "weighted:"); ok {
		gain, loss, _ := strings.Cut(factors, ",")
		a, errA := strconv.ParseFloat(gain, 64)
		b, errB := strconv.ParseFloat(loss, 64)
		if errA != nil || errB != nil {
			return key.Policy{}, fmt.Errorf("policy %q: want two factors, such as weighted:10,1", s)
		}
		p, err := key.Weighted(a, b)
		if err != nil {
			return key.Policy{}, fmt.Errorf("policy %q: %w", s, err)
		}
		return p, nil
	}
	for _, p := range Policies() {
		if p.String() == s {
			return p, nil
		}
	}
	return key.Policy{}, fmt.Errorf("policy %q is not known; want %s%s", s, PolicyWords, wording.Meant(s, PolicyNames...))
}

// ParseScope reads a scope's name.
func ParseScope(s string) (key.Scope, error) { return parse("scope", key.Scopes, s) }

// ParseSizeRule reads a size rule's name.
func ParseSizeRule(s string) (SizeRule, error) { return parse("size rule", sizeRules, s) }

// ParseWeights reads the name of a way to weigh links.
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
	return zero,
		fmt.Errorf("%s %q is not known; want %s%s", what, s, strings.Join(names, ", "), wording.Meant(s, names...))
}
