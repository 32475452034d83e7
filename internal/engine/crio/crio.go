// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// The paths of CRI-O's configuration and of the toolkit's part of it. CRI-O reads every
// file in DropInDir, also backups.
const (
	Main      = "/etc/crio/crio.conf"
	DropInDir = "/etc/crio/crio.conf.d"
	DropIn    = DropInDir + "/99-metax.conf"
	// HookDir is the directory of hooks that CRI-O reads by default. Hook is the
	// toolkit's file there.
	HookDir = "/usr/share/containers/oci/hooks.d"
	Hook    = HookDir + "/metax-prestart-podman-crio.json"
)

// Input is CRI-O's files before an edit.
type Input struct {
	// Main is crio.conf.
	Main dropin.File
	// DropIns are all files below crio.conf.d, with the toolkit's file if it exists.
	DropIns []dropin.File
	// Hook is the content of the file Hook; nil if it does not exist.
	Hook    []byte
	Version engine.Version
}

func (in Input) open() (dropin.Config, error) {
	return dropin.Open(dialectFor(in.Version), []dropin.File{in.Main}, in.DropIns)
}

// Read returns what the configuration says.
func Read(in Input) (engine.State, error) {
	c, err := in.open()
	if err != nil {
		return engine.State{}, err
	}
	return c.State()
}

// Configure sets CRI-O up. It only adds: settings of an earlier Setup stay until
// Remove. The error names the file if another file overrides a setting. The hook is
// added only for a Setup without a runtime.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	if s.Runtime != "" {
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
	hook, err := hookfile.Put(in.hook(), hookfile.Text(hookfile.Prestart, s.Hook))
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
	hook, err := hookfile.Put(in.hook(), nil)
	return append(changes, hook...), err
}

func (in Input) hook() dropin.File { return dropin.File{Path: Hook, Text: in.Hook} }
