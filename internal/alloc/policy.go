package alloc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// PolicyWords lists what ParsePolicy takes, for a message or a help text.
const PolicyWords = "spread (or compact), binpack (or preserve), weighted:GAIN,LOSS, mtf, first"

// Policies are all policies without parameters, and Weighted by HAMi's factors.
func Policies() []key.Policy {
	hami, _ := key.Weighted(10, 1) // both factors are within the bounds
	return []key.Policy{key.Spread, key.Binpack, hami, key.MTF, key.First}
}

// Retired returns a warning about a policy that older versions had, for which
// ParsePolicy returns Spread; it is empty for any other text.
func Retired(s string) string {
	if s == "partition" || s == "distribute" {
		return fmt.Sprintf("the policy %s no longer exists: GPUs are picked by spread; metax-ctk pick --help lists those that do", s)
	}
	return ""
}

// ParsePolicy reads a policy's name or alias.
func ParsePolicy(s string) (key.Policy, error) {
	switch s {
	case "compact", "partition", "distribute":
		return key.Spread, nil
	case "preserve":
		return key.Binpack, nil
	}
	if factors, ok := strings.CutPrefix(s, "weighted:"); ok {
		gain, loss, ok := strings.Cut(factors, ",")
		a, errA := strconv.ParseFloat(gain, 64)
		b, errB := strconv.ParseFloat(loss, 64)
		if !ok || errA != nil || errB != nil {
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
	return key.Policy{}, fmt.Errorf("policy %q is not known; want %s", s, PolicyWords)
}
