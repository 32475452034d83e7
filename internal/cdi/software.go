package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"path"

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

// Software is an installation of MXMACA on the host.
type Software struct {
	Path      string   // by which programs know it, "/opt/maca"
	Dir       string   // where it is, "/opt/maca-3.3.0.15"; may be Path
	Version   string   // "3.3.0.15", empty if not known
	Libraries []string // directories of shared libraries
	Links     []Link   // names that those lack
}

// Link is a name in LinkDir, and the library that it stands for.
type Link struct{ Name, Target string }

// ErrNoHook reports a spec that needs metax-hook, whose path is not known.
var ErrNoHook = errors.New("the path of metax-hook is not known")

// GenerateSoftware makes the spec by which the host's MXMACA enters a container:
// its directory, read-only, under the same path; MACA_PATH; and one process of
// the hook at the path hook, which makes the link Path and tells the container's
// dynamic linker of the directories. The environment is not a way to do that: a
// variable of a spec replaces the image's.
//
// The device is SoftwareDevice, and the version if it is a device name. It fails
// with ErrNoHook or ErrSpec.
func GenerateSoftware(s Software, hook string, opt Options) (*specs.Spec, error) {
	spec, err := generateSoftware(s, hook, opt)
	if err != nil {
		return nil, fmt.Errorf("generate CDI spec of MXMACA: %w", err)
	}
	return spec, nil
}

func generateSoftware(s Software, hook string, opt Options) (*specs.Spec, error) {
	if hook == "" && len(s.actions()) > 0 {
		return nil, ErrNoHook
	}
	spec := &specs.Spec{
		Kind:    Kind(cmp.Or(opt.Vendor, DefaultVendor), cmp.Or(opt.Class, SoftwareClass)),
		Devices: []specs.Device{{Name: SoftwareDevice, ContainerEdits: s.edits(hook)}},
	}
	if s.Version != SoftwareDevice && parser.ValidateDeviceName(s.Version) == nil {
		spec.Devices = append(spec.Devices, specs.Device{Name: s.Version, ContainerEdits: s.edits(hook)})
	}
	for _, apply := range []transform{tidy, below(opt.EngineRoot), version} {
		apply(spec)
	}
	return spec, sound(spec)
}

func (s Software) edits(hook string) specs.ContainerEdits {
	e := specs.ContainerEdits{
		Env:    []string{"MACA_PATH=" + s.Path},
		Mounts: []*specs.Mount{{HostPath: s.Dir, ContainerPath: s.Dir, Options: readOnly()}},
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

// actions is the hook's command line.
func (s Software) actions() []string {
	var args []string
	if s.Path != s.Dir || len(s.Links) > 0 {
		args = append(args, "create-symlinks")
	}
	if s.Path != s.Dir {
		args = append(args, "--link", s.Dir+"::"+s.Path)
	}
	folders := s.Libraries
	for _, l := range s.Links {
		args = append(args, "--link", l.Target+"::"+path.Join(LinkDir, l.Name))
	}
	if len(s.Links) > 0 {
		folders = append(folders[:len(folders):len(folders)], LinkDir)
	}
	if len(folders) > 0 {
		args = append(args, "update-ldcache")
	}
	for _, dir := range folders {
		args = append(args, "--folder", dir)
	}
	return args
}
