package cdi

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"tags.cncf.io/container-device-interface/pkg/parser"
)

// The class of the software's kind, "metax-tech.com/maca", and its device.
const (
	SoftwareClass  = "maca"
	SoftwareDevice = "host"
)

// LinkDir is where names of libraries are made in a container that the host's
// directories lack; those are read-only there.
const LinkDir = "/usr/lib/metax-container-toolkit"

// ProgramDir is where the names of programs are made in a container: on the PATH
// that engines and images have.
const ProgramDir = "/usr/bin"

// MaxPrograms is how many programs of an installation get a name, the first ones
// in alphabetical order. It bounds the hook's command line.
const MaxPrograms = 256

// Software is an installation of MXMACA on the host. Files of MXMACA are named as
// a container sees them, below Path.
type Software struct {
	Path      string   // by which programs know it, "/opt/maca"
	Dir       string   // where it is, "/opt/maca-3.3.0.15"; may be Path
	Version   string   // "3.3.0.15", empty if not known
	Default   bool     // whether Path leads to it on the host
	Driver    string   // the driver's user part, "/opt/mxdriver"; empty if there is none
	Libraries []string // directories of shared libraries
	Links     []Link   // names that those lack
	Programs  []string // names in Path/bin
}

// Link is a name in LinkDir, and the library that it stands for.
type Link struct{ Name, Target string }

// ErrNoHook reports a spec that needs metax-hook, whose path is not known.
var ErrNoHook = errors.New("the path of metax-hook is not known")

// GenerateSoftware makes the spec by which the host's MXMACA enters a container:
// its directory and the driver's user part, read-only, under the same paths;
// MACA_PATH; and one process of the hook at the path hook, which makes the link
// Path, tells the container's dynamic linker of the directories, and makes names
// for mx-smi and the programs in ProgramDir, where the image has none. The
// environment is not a way to do that: a variable of a spec replaces the image's.
// A program of the same name that the image has in another directory wins or loses
// by the order of the image's PATH.
//
// The default installation is the device SoftwareDevice, and each one is a device
// by its version; Nameless tells which have none. A container can have one of
// them: of two, the hook refuses the second.
//
// It fails with ErrNoHook or ErrSpec.
func GenerateSoftware(list []Software, hook string, opt Options) (*specs.Spec, error) {
	spec, err := generateSoftware(list, hook, opt)
	if err != nil {
		return nil, fmt.Errorf("generate CDI spec of MXMACA: %w", err)
	}
	return spec, nil
}

func generateSoftware(list []Software, hook string, opt Options) (*specs.Spec, error) {
	var devices []specs.Device
	for i, names := range deviceNames(list) {
		if len(names) == 0 {
			continue
		}
		s := list[i]
		if err := s.plain(); err != nil {
			return nil, err
		}
		if hook == "" && len(s.actions()) > 0 {
			return nil, ErrNoHook
		}
		for _, name := range names {
			devices = append(devices, specs.Device{Name: name, ContainerEdits: s.edits(hook)})
		}
	}
	return finish(SoftwareClass, devices, specs.ContainerEdits{}, opt)
}

// Nameless returns the installations that no device stands for: those but the
// default whose version is not known, is no name for a device, or is the
// default's or that of one before them.
func Nameless(list []Software) []Software {
	var none []Software
	for i, names := range deviceNames(list) {
		if len(names) == 0 {
			none = append(none, list[i])
		}
	}
	return none
}

// deviceNames returns the names of each installation's devices.
func deviceNames(list []Software) [][]string {
	names := make([][]string, len(list))
	taken := map[string]bool{SoftwareDevice: true}
	for _, turn := range []bool{true, false} { // the default's version is its own
		for i, s := range list {
			if s.Default != turn {
				continue
			}
			if s.Default {
				names[i] = append(names[i], SoftwareDevice)
			}
			if !taken[s.Version] && parser.ValidateDeviceName(s.Version) == nil {
				taken[s.Version] = true
				names[i] = append(names[i], s.Version)
			}
		}
	}
	return names
}

// plain fails if a name is none of a file, which would be a place somewhere else.
func (s Software) plain() error {
	names := slices.Clone(s.Programs)
	for _, l := range s.Links {
		names = append(names, l.Name)
	}
	for _, name := range names {
		if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') || strings.Contains(name, "::") {
			return fmt.Errorf("%w: %q is not the name of a file", ErrSpec, name)
		}
	}
	return nil
}

func (s Software) edits(hook string) specs.ContainerEdits {
	e := specs.ContainerEdits{Env: []string{"MACA_PATH=" + s.Path}}
	for _, dir := range []string{s.Dir, s.Driver} {
		if dir != "" {
			e.Mounts = append(e.Mounts, &specs.Mount{HostPath: dir, ContainerPath: dir, Options: readOnly()})
		}
	}
	if args := s.actions(); len(args) > 0 {
		e.Hooks = []*specs.Hook{{
			HookName: "createContainer", Path: hook, Args: append([]string{path.Base(hook)}, args...),
			// A hook without a variable of its own gets those of the image.
			Env: []string{"LC_ALL=C"},
		}}
	}
	return e
}
