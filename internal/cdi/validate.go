package cdi

import (
	"fmt"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi/specfile"
)

// ErrSpec reports a spec that engines reject.
var ErrSpec = specfile.ErrSpec

// Validate tells whether engines accept a spec. The rules are the library's,
// which it applies itself only to files; and no list may have an empty entry,
// because that crashes the library, and the engine with it.
func Validate(spec *specs.Spec) error {
	if err := specfile.Validate(spec); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return nil
}

// sound is what a spec that we write must be: valid, and well formed beyond
// what engines ask for.
func sound(spec *specs.Spec) error {
	if err := Validate(spec); err != nil {
		return err
	}
	if problems := Check(spec, nil, ""); len(problems) > 0 {
		return fmt.Errorf("%w: %s", ErrSpec, problems[0])
	}
	return nil
}
