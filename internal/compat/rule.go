package compat

import "fmt"

// Rule says which driver the MXMACA versions of a line need.
type Rule struct {
	MACA   string `json:"maca"`   // the versions that begin with these components, "3" or "3.7"
	Driver string `json:"driver"` // the least driver version, "3" or "3.4.4"
	Why    string `json:"why"`    // where the rule comes from, for people
}

// Validate fails with ErrVersion if the rule has no versions to compare with.
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

// Defaults are the rules that the pairs of versions seen at work bear out: MXMACA
// 3.3.0.15 on driver 3.4.4, 3.7.1.5 on 3.8.30, and 2.32.0.6 on 2.15.9. The vendor
// publishes no table that we know of, so they go no further than major versions.
func Defaults() []Rule {
	return []Rule{
		{MACA: "3", Driver: "3", Why: "inferred: 3.3.0.15 was seen on driver 3.4.4, 3.7.1.5 on 3.8.30"},
		{MACA: "2", Driver: "2", Why: "inferred: 2.32.0.6 was seen on driver 2.15.9"},
	}
}
