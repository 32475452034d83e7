// SPDX-License-Identifier: Apache-2.0

package podman

import (
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// The paths of Podman's configuration and of the toolkit's part of it.
const (
	Vendor    = "/usr/share/containers/containers.conf"
	Main      = "/etc/containers/containers.conf"
	DropInDir = "/etc/containers/containers.conf.d"
	DropIn    = DropInDir + "/99-metax.conf"
	// HookDir is the directory of the toolkit's hook. By default Podman reads only
	// VendorHookDir.
	HookDir       = "/etc/containers/oci/hooks.d"
	VendorHookDir = "/usr/share/containers/oci/hooks.d"
)

// Input is Podman's files before an edit.
type Input struct {
	Vendor, Main dropin.File
	// DropIns are all files in containers.conf.d, with the toolkit's file if it exists.
	DropIns []dropin.File
	// Hooks are the files in HookDir, at least those with the toolkit's names.
	Hooks []dropin.File
	// CRIO is whether CRI-O reads HookDir on this machine.
	CRIO    bool
	Version engine.Version
}

func (in Input) open() (dropin.Config, error) {
	var files []dropin.File
	for _, f := range in.DropIns {
		if strings.HasSuffix(f.Path, ".conf") && path.Dir(f.Path) == DropInDir {
			files = append(files, f)
		}
	}
	return dropin.Open(dialectFor(in.Version), []dropin.File{in.Vendor, in.Main}, files)
}

// Read returns what the configuration says.
func Read(in Input) (engine.State, error) {
	c, err := in.open()
	if err != nil {
		return engine.State{}, err
	}
	s, err := c.State()
	if err != nil {
		return engine.State{}, err
	}
	s.CDI = engine.On
	return s, nil
}

// HookIsSafe reports whether Configure adds the hook. Podman 4 also gives a container
// the annotations of its image, so that the author of an image could request GPUs; an
// unknown version may be a Podman 4.
func HookIsSafe(v engine.Version) bool { return v.AtLeast(5, 0) }

// Configure sets Podman up. It only adds: settings of an earlier Setup stay until
// Remove. The error names the file if another file overrides a setting.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	if !HookIsSafe(in.Version) {
		s.Hook = ""
	}
	c, err := in.open()
	if err != nil {
		return nil, err
	}
	changes, err := c.Configure(s)
	if err != nil || s.Hook == "" {
		return changes, err
	}
	// CRI-O may have been installed since: the file of one stage replaces the other's.
	use, other := hookfile.Precreate, hookfile.Prestart
	if in.CRIO {
		use, other = other, use
	}
	hook, err := hookfile.Put(in.hook(use), hookfile.Text(use, s.Hook))
	if err != nil {
		return nil, err
	}
	changes = append(changes, hook...)
	hook, err = hookfile.Put(in.hook(other), nil)
	return append(changes, hook...), err
}

// Remove removes what Configure adds.
func Remove(in Input, s engine.Setup) ([]engine.Change, error) {
	c, err := in.open()
	if err != nil {
		return nil, err
	}
	changes, err := c.Remove(s)
	if err != nil {
		return nil, err
	}
	for _, stage := range []hookfile.Stage{hookfile.Precreate, hookfile.Prestart} {
		hook, err := hookfile.Put(in.hook(stage), nil)
		if err != nil {
			return nil, err
		}
		changes = append(changes, hook...)
	}
	return changes, nil
}

// hook returns the file of a stage.
func (in Input) hook(stage hookfile.Stage) dropin.File {
	file := dropin.File{Path: HookDir + "/" + stage.Name()}
	for _, f := range in.Hooks {
		if f.Path == file.Path {
			file.Text = f.Text
		}
	}
	return file
}
