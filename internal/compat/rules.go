// SPDX-License-Identifier: Apache-2.0

package compat

import "fmt"

// Rule is the minimum driver version of a series of MXMACA versions.
type Rule struct {
	MACA   string `json:"maca"`   // the versions that begin with these components, "3" or "3.7"
	Driver string `json:"driver"` // the minimum driver version, "3" or "3.4.4"
	Why    string `json:"why"`    // the source of the rule, for messages
}

// Validate fails with ErrVersion if a version of the rule is invalid.
func (r Rule) Validate() error {
	if _, err := Parse(r.MACA); err != nil {
		return fmt.Errorf("rule for MXMACA: %w", err)
	}
	if _, err := Parse(r.Driver); err != nil {
		return fmt.Errorf("rule for MXMACA %s, driver: %w", r.MACA, err)
	}
	return nil
}

// String is the rule as a sentence.
func (r Rule) String() string {
	s := fmt.Sprintf("MXMACA %s needs driver %s or newer", r.MACA, r.Driver)
	if r.Why != "" {
		s += " (" + r.Why + ")"
	}
	return s
}

// Defaults are the built-in rules, which agree with the pairs of versions that were
// seen at work: MXMACA 3.3.0.15 with driver 3.4.4, 3.7.1.5 with 3.8.30, and 2.32.0.6
// with 2.15.9. No table of the vendor is known, so they compare major versions only.
func Defaults() []Rule {
	return []Rule{
		{MACA: "3", Driver: "3", Why: "inferred: 3.3.0.15 was seen on driver 3.4.4, 3.7.1.5 on 3.8.30"},
		{MACA: "2", Driver: "2", Why: "inferred: 2.32.0.6 was seen on driver 2.15.9"},
	}
}
