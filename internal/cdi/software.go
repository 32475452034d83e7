// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"errors"
	"fmt"

	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
)

// The class of the software's kind, "metax-tech.com/maca", and its device.
const (
	SoftwareClass  = "maca"
	SoftwareDevice = "host"
)

// fallback begins the names of devices that leave the image's own MXMACA as it is.
const fallback = "fallback-"

// FallbackDevice is the device of the default installation, whose version this is, that leaves
// the image's own MXMACA as it is. The name has the version if it can: then a container that
// starts again has the same.
func FallbackDevice(version string) string {
	if parser.ValidateDeviceName(version) != nil {
		return fallback + SoftwareDevice
	}
	return fallback + version
}

// ErrNoHook reports a spec that needs metax-hook, whose path is not known.
var ErrNoHook = errors.New("the path of metax-hook is not known")

// GenerateSoftware makes the spec by which the host's MXMACA enters a container (see
// edits.MACA); the hook makes links and shows the dynamic linker the directories. A program of
// the same name that the image has in another directory wins or loses by the order of the
// image's PATH.
//
// The default installation is the device SoftwareDevice, and each one is a device by its
// version; Nameless returns those that are not. A container can have one of them: of two,
// the hook refuses the second. Each device of MXMACA is there once more as a fallback.
//
// It fails with ErrNoHook or ErrSpec.
func GenerateSoftware(list []edits.Software, opt Options) (spec *specs.Spec, err error) {
	defer wrapError(&err, "generate CDI spec of MXMACA")
	var devices []device
	add := func(prefix string, makeEdits func(edits.Software, string) (edits.Edits, error)) error {
		for i, names := range softwareNames(list) {
			if prefix != "" && !list[i].Default && list[i].Path == list[i].Dir {
				continue // the N100's, which no image has of its own
			}
			for _, name := range names {
				e, err := makeEdits(list[i], prefix+name)
				if err != nil {
					return fmt.Errorf("%w: %w", ErrSpec, err)
				}
				if opt.Hook == "" && len(hookArgs(e)) > 0 {
					return ErrNoHook
				}
				devices = append(devices, device{prefix + name, e})
			}
		}
		return nil
	}
	if err := cmp.Or(add("", edits.MACA), add(fallback, edits.MACAFallback)); err != nil {
		return nil, err
	}
	return opt.buildSpec(SoftwareClass, edits.Edits{}, devices)
}

// Nameless returns the installations without a device: those but the default whose
// version is unknown, cannot name a device, or names another installation already.
func Nameless(list []edits.Software) []edits.Software {
	var nameless []edits.Software
	for i, names := range softwareNames(list) {
		if len(names) == 0 {
			nameless = append(nameless, list[i])
		}
	}
	return nameless
}

// softwareNames returns the names of each installation's devices.
func softwareNames(list []edits.Software) [][]string {
	names := make([][]string, len(list))
	used := map[string]bool{SoftwareDevice: true}
	for _, isDefault := range []bool{true, false} { // nobody takes the default's version
		for i, s := range list {
			if s.Default != isDefault {
				continue
			}
			if s.Default {
				names[i] = append(names[i], SoftwareDevice)
			}
			if !used[s.Version] && parser.ValidateDeviceName(s.Version) == nil {
				used[s.Version] = true
				names[i] = append(names[i], s.Version)
			}
		}
	}
	return names
}
