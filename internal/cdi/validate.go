package cdi

import (
	"errors"
	"fmt"
	"slices"

	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

// ErrSpec reports a spec that engines reject.
var ErrSpec = errors.New("invalid CDI spec")

// Validate tells whether engines accept a spec. The rules are the library's,
// which it applies itself only to files; and no list may have an empty entry,
// because that crashes the library, and the engine with it.
func Validate(spec *specs.Spec) error {
	if err := validate(spec); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return nil
}

func validate(spec *specs.Spec) error {
	all := scopes(spec)
	for _, s := range all {
		if err := noHoles(s.ContainerEdits); err != nil {
			return s.wrap(err)
		}
	}
	if err := specs.ValidateVersion(spec); err != nil {
		return fmt.Errorf("cdiVersion: %w", err)
	}
	if _, _, err := splitKind(spec.Kind); err != nil {
		return err
	}
	if len(spec.Devices) == 0 {
		return errors.New("no devices")
	}
	seen := map[string]bool{}
	for i, s := range all {
		if err := (&libcdi.ContainerEdits{ContainerEdits: s.ContainerEdits}).Validate(); err != nil {
			return s.wrap(err)
		}
		if i == 0 {
			continue // the spec's own edits have no name and may be empty
		}
		if err := parser.ValidateDeviceName(s.device); err != nil {
			return s.wrap(errors.New("not a device name"))
		}
		if seen[s.device] {
			return s.wrap(errors.New("defined twice"))
		}
		seen[s.device] = true
		if empty(s.ContainerEdits) {
			return s.wrap(errors.New("brings nothing"))
		}
	}
	return nil
}

func (s scope) wrap(err error) error {
	if s.device == "" {
		return fmt.Errorf("containerEdits: %w", err)
	}
	return fmt.Errorf("device %q: %w", s.device, err)
}

func noHoles(e *specs.ContainerEdits) error {
	switch {
	case slices.Contains(e.DeviceNodes, nil):
		return errors.New("deviceNodes has an empty entry")
	case slices.Contains(e.Mounts, nil):
		return errors.New("mounts has an empty entry")
	case slices.Contains(e.Hooks, nil):
		return errors.New("hooks has an empty entry")
	case slices.Contains(e.NetDevices, nil):
		return errors.New("netDevices has an empty entry")
	}
	return nil
}

func empty(e *specs.ContainerEdits) bool {
	return len(e.Env)+len(e.DeviceNodes)+len(e.NetDevices)+len(e.Hooks)+len(e.Mounts)+len(e.AdditionalGIDs) == 0 &&
		e.IntelRdt == nil
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
