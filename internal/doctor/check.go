// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Severity is how bad a finding is.
type Severity string

// The severities. An Error keeps containers from using GPUs, a Warning will or may, an
// Info does not, and leaves the node healthy.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Finding is one problem of a node.
type Finding struct {
	// Check is the ID of the check that found it.
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
	// Fix is how to fix it, as lines for a shell; everything but commands is a comment.
	Fix string `json:"fix"`
	// Safe is whether --fix can do it: without regard to what else runs on the node.
	Safe bool `json:"safe"`

	steps []Step
}

// Steps are the steps of a safe Finding's Fix; none if it is not safe.
func (f Finding) Steps() []Step { return f.steps }

// findings collects the findings of checks.
type findings []Finding

func (f *findings) add(s Severity, what, why, fix string) {
	*f = append(*f, Finding{Severity: s, What: what, Why: why, Fix: fix})
}

// addSafe adds a finding that these steps fix, in their order.
func (f *findings) addSafe(s Severity, what, why string, steps ...Step) {
	*f = append(*f, Finding{Severity: s, What: what, Why: why, Fix: shellCommands(steps), Safe: true, steps: steps})
}

// Check is one thing that doctor checks.
type Check struct {
	// ID never changes, for --check, --skip and programs.
	ID string `json:"id"`
	// Title says what is true if nothing is found.
	Title string `json:"title"`
	// applies reports whether there is something to examine; nil for always. Without findings,
	// a check that does not apply is skipped.
	applies func(*Facts) bool
	run     func(f *Facts, found *findings)
}

// checkEach is a check that judges several things one by one.
func checkEach[T any](id, title string, applies func(*Facts) bool, all func(*Facts) []T,
	look func(f *Facts, one T, found *findings),
) Check {
	return Check{ID: id, Title: title, applies: applies, run: func(f *Facts, found *findings) {
		for _, one := range all(f) {
			look(f, one, found)
		}
	}}
}

// firstOf is a check like each that ends with its first finding.
func firstOf[T any](id, title string, applies func(*Facts) bool, all func(*Facts) []T,
	look func(f *Facts, one T, found *findings),
) Check {
	return Check{ID: id, Title: title, applies: applies, run: func(f *Facts, found *findings) {
		before, things := len(*found), all(f)
		for i := 0; i < len(things) && len(*found) == before; i++ {
			look(f, things[i], found)
		}
	}}
}

// Checks are all checks, in the order in which a node starts up.
func Checks() []Check {
	return slices.Concat(
		collectorChecks, driverChecks, nodeChecks, healthChecks, vendorChecks, softwareChecks,
		specChecks, resolveChecks, recordChecks,
		dockerChecks, usernsChecks, containerdChecks, cgroupChecks, podmanChecks, crioChecks, runtimeChecks, remoteChecks,
		systemChecks, userChecks, securityChecks, programChecks, leaseChecks, imageChecks,
	)
}

// Judge runs checks over the facts. It sorts the findings by severity, and those of one
// severity in the order of the checks.
func Judge(checks []Check, f *Facts) []Finding {
	found := findings{}
	for _, c := range checks {
		before := len(found)
		c.run(f, &found)
		for i := range found[before:] {
			finding := &found[before+i]
			finding.Check = c.ID
			for _, text := range []*string{&finding.What, &finding.Why, &finding.Fix} {
				*text = terminal.Lines(*text)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return found
}

// ErrUnknown reports an ID that no check has.
var ErrUnknown = errors.New("no such check")

// Choose returns the checks with the IDs, or all if there are none, without those to
// skip. Each word is an ID or several, separated by commas.
func Choose(ids, skip []string) ([]Check, error) {
	chosen, unknown := parseIDs(ids)
	skipped, err := parseIDs(skip)
	if err := cmp.Or(unknown, err); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(Checks(), func(c Check) bool {
		return (len(chosen) > 0 && !slices.Contains(chosen, c.ID)) || slices.Contains(skipped, c.ID)
	}), nil
}

func parseIDs(words []string) ([]string, error) {
	var ids []string
	for _, word := range words {
		for id := range strings.SplitSeq(word, ",") {
			if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.ID == id }) {
				var all []string
				for _, c := range Checks() {
					all = append(all, c.ID)
				}
				return nil, fmt.Errorf("%w: %q (metax-ctk doctor --list)%s", ErrUnknown, id, wording.Meant(id, all...))
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}
