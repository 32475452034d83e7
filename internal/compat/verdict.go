// SPDX-License-Identifier: Apache-2.0

package compat

import "fmt"

// State is the kind of a Verdict.
type State string

// The states. Unknown means that it is not known whether they fit; it is not a weak OK.
const (
	OK       State = "ok"
	Mismatch State = "mismatch"
	Unknown  State = "unknown"
)

// Verdict is the result of Check.
type Verdict struct {
	State State `json:"state"`
	// Reason is one line with both versions and the deciding rule.
	Reason string `json:"reason"`
}

// Check applies the rules to an MXMACA version and a driver version, which are empty if
// unknown. All rules for the MXMACA version must hold; the first that does not is the
// reason. An invalid rule turns OK into Unknown, because it may have been meant for
// this version.
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
		case !m.Begins(line): // another line of MXMACA
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

// shown formats a version for a message; an invalid one is quoted.
func shown(version string) string {
	if version == "" {
		return "of unknown version"
	}
	if _, err := Parse(version); err != nil {
		return fmt.Sprintf("%.80q", version)
	}
	return version
}
