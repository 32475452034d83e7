package specfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// MaxSpec is the size in bytes beyond which a spec is not read; that of the
// largest Node takes less than half.
const MaxSpec = hostfs.MaxFile

// Where engines look for specs unless they are told otherwise; a file in
// DynamicDir wins over one in StaticDir. DynamicDir does not survive a reboot.
const (
	StaticDir  = "/etc/cdi"
	DynamicDir = "/var/run/cdi"
)

// Dirs returns the directories where engines look for specs, in ascending
// priority.
func Dirs() []string { return []string{StaticDir, DynamicDir} }

// ErrSpec reports a spec that engines reject.
var ErrSpec = errors.New("invalid CDI spec")

// Validate tells what engines reject a spec for. The rules are those of the CDI
// library; and no list may have an empty entry, because that crashes the library,
// and the engine with it.
func Validate(spec *specs.Spec) error {
	if err := noHoles(&spec.ContainerEdits); err != nil {
		return wrap("", err)
	}
	for i := range spec.Devices {
		if err := noHoles(&spec.Devices[i].ContainerEdits); err != nil {
			return wrap(spec.Devices[i].Name, err)
		}
	}
	if err := specs.ValidateVersion(spec); err != nil {
		return fmt.Errorf("cdiVersion: %w", err)
	}
	if err := validateKind(spec.Kind); err != nil {
		return err
	}
	if len(spec.Devices) == 0 {
		return errors.New("no devices")
	}
	if err := validateEdits(&spec.ContainerEdits); err != nil {
		return wrap("", err)
	}
	seen := make(map[string]bool, len(spec.Devices))
	for i := range spec.Devices {
		d := &spec.Devices[i]
		if err := validateDevice(d, seen[d.Name]); err != nil {
			return wrap(d.Name, err)
		}
		seen[d.Name] = true
	}
	return nil
}

func validateDevice(d *specs.Device, twice bool) error {
	if err := validateEdits(&d.ContainerEdits); err != nil {
		return err
	}
	switch {
	case parser.ValidateDeviceName(d.Name) != nil:
		return errors.New("not a device name")
	case twice:
		return errors.New("defined twice")
	case empty(&d.ContainerEdits):
		return errors.New("brings nothing")
	}
	return nil
}

func wrap(device string, err error) error {
	if device == "" {
		return fmt.Errorf("containerEdits: %w", err)
	}
	return fmt.Errorf("device %q: %w", device, err)
}

func validateKind(kind string) error {
	vendor, class, ok := strings.Cut(kind, "/")
	if !ok {
		return fmt.Errorf("kind %q: want vendor/class", kind)
	}
	if err := parser.ValidateVendorName(vendor); err != nil {
		return fmt.Errorf("vendor %q: letters, digits and inner \"_-.\" only, a letter first", vendor)
	}
	if err := parser.ValidateClassName(class); err != nil {
		return fmt.Errorf("class %q: letters, digits and inner \"_-.\" only, a letter first", class)
	}
	return nil
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
