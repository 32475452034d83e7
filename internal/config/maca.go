package config

import "github.com/metax-ctk/container-toolkit/internal/compat"

// MACA is the section [maca]: how the version of MXMACA that a container runs on
// is held against the host's driver.
type MACA struct {
	// Check is "off", "warn" or "strict". Unset, it is "warn" for a container that
	// asks for MXMACA, and nothing is looked at for one that does not.
	Check Value
	// Labels are the labels of an image that may state the version of its MXMACA;
	// the first that is there counts.
	Labels []string
	// Requirements replace the table that the program ships; nil means that one.
	Requirements []Requirement
}

// Requirement is one row of the table [[maca.requirements]].
type Requirement = compat.Rule

// Rules are the table that counts.
func (m MACA) Rules() []compat.Rule {
	if m.Requirements == nil {
		return compat.Defaults()
	}
	return m.Requirements
}
