// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"errors"
	"fmt"

	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

// ErrSpec reports a spec that engines reject.
var ErrSpec = errors.New("invalid CDI spec")

// Validate returns why engines reject a spec, nil if they do not. The rules are the
// library's, which applies them together only to files.
func Validate(spec *specs.Spec) (err error) {
	defer recoverPanic(&err)
	if err := validateSpec(spec); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return nil
}

// recoverPanic turns a panic of the library, on which engines panic as well, into an error.
func recoverPanic(err *error) {
	if recover() != nil {
		*err = fmt.Errorf("%w: engines panic on it, as on an empty entry in a list", ErrSpec)
	}
}

func validateSpec(spec *specs.Spec) error {
	if err := specs.ValidateVersion(spec); err != nil {
		return fmt.Errorf("cdiVersion: %w", err)
	}
	vendor, class := parser.ParseQualifier(spec.Kind)
	if err := cmp.Or(parser.ValidateVendorName(vendor), parser.ValidateClassName(class)); err != nil {
		return fmt.Errorf("kind %q: %w", spec.Kind, err)
	}
	if len(spec.Devices) == 0 {
		return errors.New("no devices")
	}
	if err := validateEdits(&spec.ContainerEdits); err != nil {
		return fmt.Errorf("containerEdits: %w", err)
	}
	seen := make(map[string]bool, len(spec.Devices))
	for i := range spec.Devices {
		d := &spec.Devices[i]
		err := cmp.Or(parser.ValidateDeviceName(d.Name), validateEdits(&d.ContainerEdits))
		switch {
		case err != nil: // returned below
		case seen[d.Name]:
			err = errors.New("defined twice")
		case countEdits(&d.ContainerEdits) == 0:
			err = errors.New("has no edits")
		}
		if err != nil {
			return fmt.Errorf("device %q: %w", d.Name, err)
		}
		seen[d.Name] = true
	}
	return nil
}

func validateEdits(e *specs.ContainerEdits) error {
	return (&libcdi.ContainerEdits{ContainerEdits: e}).Validate()
}

// countEdits returns the number of edits; 0 is a device that engines reject.
func countEdits(e *specs.ContainerEdits) int {
	n := len(e.Env) + len(e.DeviceNodes) + len(e.NetDevices) + len(e.Hooks) + len(e.Mounts) + len(e.AdditionalGIDs)
	if e.IntelRdt != nil {
		n++
	}
	return n
}

// validateOwn checks a spec that we write: it is valid, and has no problem that can be seen
// without the host.
func validateOwn(spec *specs.Spec) error {
	if err := Validate(spec); err != nil {
		return err
	}
	if problems := Check(spec, nil, ""); len(problems) > 0 {
		return fmt.Errorf("%w: %s", ErrSpec, problems[0])
	}
	return nil
}
