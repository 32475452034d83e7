package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Severity is how bad a finding is.
type Severity string

// The severities. An Error keeps containers from GPUs, a Warning will or may, an
// Info is good to know and leaves a node healthy.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// Finding is something wrong with a node.
type Finding struct {
	// Check is the ID of the check that found it.
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
	// Fix is what mends it: commands, one a line, or an edit of a file.
	Fix string `json:"fix"`
	// Safe tells that Mend does what Fix says: it can be done without asking what
	// else runs on the node.
	Safe bool `json:"safe"`

	steps []Step
}

// Steps are what a safe Finding's Fix does; none for another.
func (f Finding) Steps() []Step { return f.steps }

// findings collects what checks find.
type findings []Finding

func (f *findings) add(s Severity, what, why, fix string) {
	*f = append(*f, Finding{Severity: s, What: what, Why: why, Fix: fix})
}

// mend adds a finding that steps mend, in their order.
func (f *findings) mend(s Severity, what, why string, steps ...Step) {
	*f = append(*f, Finding{Severity: s, What: what, Why: why, Fix: commands(steps), Safe: true, steps: steps})
}

// Check is one thing that is looked for.
type Check struct {
	// ID is stable, for --check, --skip and programs.
	ID string `json:"id"`
	// Title says what is right when nothing is found.
	Title string `json:"title"`
	look  func(f *Facts, found *findings)
}

// each is a check that looks at one thing after the other.
func each[T any](id, title string, all func(*Facts) []T, look func(f *Facts, one T, found *findings)) Check {
	return Check{id, title, func(f *Facts, found *findings) {
		for _, one := range all(f) {
			look(f, one, found)
		}
	}}
}

// firstOf is one that ends with its first finding.
func firstOf[T any](id, title string, all func(*Facts) []T, look func(f *Facts, one T, found *findings)) Check {
	return Check{id, title, func(f *Facts, found *findings) {
		before, things := len(*found), all(f)
		for i := 0; i < len(things) && len(*found) == before; i++ {
			look(f, things[i], found)
		}
	}}
}

// Checks are all checks, in the order in which a node comes up.
func Checks() []Check {
	return slices.Concat(
		lookingChecks, driverChecks, nodeChecks, healthChecks, vendorChecks, softwareChecks,
		specChecks, resolveChecks, recordChecks,
		dockerChecks, usernsChecks, containerdChecks, cgroupChecks, podmanChecks, crioChecks, runtimeChecks, remoteChecks,
		systemChecks, userChecks, securityChecks, programChecks, leaseChecks, imageChecks,
	)
}

// Judge runs checks over the facts. Findings stand by severity, and within one in
// the order of the checks.
func Judge(checks []Check, f *Facts) []Finding {
	found := findings{}
	for _, c := range checks {
		before := len(found)
		c.look(f, &found)
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

// Choose returns the checks with the IDs, all if there are none, but for those to
// be skipped. Each word is an ID or several with commas.
func Choose(ids, skip []string) ([]Check, error) {
	chosen, unknown := split(ids)
	skipped, err := split(skip)
	if err := cmp.Or(unknown, err); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(Checks(), func(c Check) bool {
		return len(chosen) > 0 && !slices.Contains(chosen, c.ID) || slices.Contains(skipped, c.ID)
	}), nil
}

func split(words []string) ([]string, error) {
	var ids []string
	for _, word := range words {
		for id := range strings.SplitSeq(word, ",") {
			if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.ID == id }) {
				return nil, fmt.Errorf("%w: %q (metax-ctk doctor --list)", ErrUnknown, id)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}
