package compat

import "fmt"

// State is the kind of a Verdict.
type State string

// The states. Unknown is not a weak OK: it says that nobody knows here.
const (
	OK       State = "ok"
	Mismatch State = "mismatch"
	Unknown  State = "unknown"
)

// Verdict is what the rules say of a pair of versions.
type Verdict struct {
	State State `json:"state"`
	// Reason is one line that names both versions, and the rule that decides.
	Reason string `json:"reason"`
}

// Check judges an MXMACA version on a driver version, both as text and empty
// where they are not known. Of the rules for the version all must hold; the first
// that does not is the reason. A rule that is not valid makes Unknown of what
// would have been OK, for it may have been meant for this version.
func Check(rules []Rule, maca, driver string) Verdict {
	pair := fmt.Sprintf("MXMACA %s with driver %s", shown(maca), shown(driver))
	unknown := func(why string) Verdict { return Verdict{Unknown, pair + ": " + why} }
	m, err := Parse(maca)
	if err != nil {
		return unknown("the MXMACA version is not known")
	}
	d, err := Parse(driver)
	if err != nil {
		return unknown("the driver version is not known")
	}
	var holds *Rule
	var invalid error
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			if invalid == nil {
				invalid = err
			}
			continue
		}
		line, _ := Parse(r.MACA)
		least, _ := Parse(r.Driver)
		switch {
		case !m.Begins(line):
		case d.Compare(least) < 0:
			return Verdict{Mismatch, pair + ": " + r.String()}
		case holds == nil:
			holds = &r
		}
	}
	switch {
	case invalid != nil:
		return unknown(invalid.Error())
	case holds == nil:
		return unknown("no rule for this MXMACA version")
	}
	return Verdict{OK, pair + ": " + holds.String()}
}

// shown is a version in a sentence; what is none is quoted.
func shown(version string) string {
	if version == "" {
		return "of unknown version"
	}
	if _, err := Parse(version); err != nil {
		return fmt.Sprintf("%.80q", version)
	}
	return version
}
