// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// hookName is the program that the hooks of our specs run.
const hookName = "metax-hook"

// ArgumentError reports a request that is wrong on every host.
type ArgumentError struct{ error }

// Maker makes the specs that a node should have.
type Maker struct {
	// Selector chooses the node; Host is its root.
	Selector node.Selector
	Host     *hostfs.Root
	// Node returns the node. It is called only for a spec that needs the node: that of
	// the host's MXMACA does not.
	Node func() (gpu.Node, error)
	// Hook is the path at which the engine finds metax-hook; empty is the one beside
	// this program.
	Hook string
	Warn func(lines ...string)
}

// Spec is the one of the class of the options.
func (m Maker) Spec(opt cdi.Options) (*specs.Spec, error) {
	var err error
	if opt.Hook, err = m.hook(opt); err != nil {
		return nil, err
	}
	if opt.Class == cdi.SoftwareClass {
		return m.software(opt)
	}
	n, err := m.Node()
	if err != nil {
		return nil, err
	}
	generate := cdi.Generate
	if opt.Class == cdi.SliceClass {
		generate = cdi.GenerateSlices
	}
	spec, err := generate(n, opt)
	if d := n.Driver; err == nil && opt.Hook == "" && d != nil && d.Path != "" {
		m.Warn(fmt.Sprintf(
			"containers will not find mx-smi by its bare name: there is no %s beside metax-ctk; install it, or name it: --hook PATH", hookName))
	}
	return spec, err
}

// hook is the path for a spec; empty if the engine finds none.
func (m Maker) hook(opt cdi.Options) (string, error) {
	hook, err := hookPath(m.Hook)
	if m.Hook == "" && !m.Host.Real() && opt.EngineRoot == "/" && !m.Host.Exists(hook) {
		return "", err // the engine sees the host's files, and our metax-hook is not one of them
	}
	return hook, err
}

// software makes the spec of the host's MXMACA, with a device for each version.
func (m Maker) software(opt cdi.Options) (*specs.Spec, error) {
	if !m.Selector.IsHost() {
		return nil,
			&ArgumentError{fmt.Errorf("the files of node %q are not on this host, so it has no MXMACA to give", m.Selector.Node)}
	}
	all, warnings, err := maca.All(m.Host)
	m.Warn(warnings...)
	if err != nil {
		return nil, err
	}
	for _, found := range all {
		m.Warn(found.Warnings...)
	}
	for _, s := range cdi.Nameless(all) {
		m.Warn(
			fmt.Sprintf("MXMACA in %s is left out: its version %q does not distinguish it from the others", s.Dir, s.Version))
	}
	spec, err := cdi.GenerateSoftware(all, opt)
	if errors.Is(err, cdi.ErrNoHook) {
		return nil,
			fmt.Errorf("%w: the engine would not find a %s beside metax-ctk; install it, or name it: --hook PATH", err, hookName)
	}
	return spec, err
}

// hookPath is the path for a spec: the one given, or else that of the program beside this one;
// empty if there is none.
func hookPath(given string) (string, error) {
	if given != "" {
		if !filepath.IsAbs(given) || filepath.Clean(given) != given {
			return "",
				&ArgumentError{fmt.Errorf(`--hook %q is not a clean absolute path (no ".", "..", "//" or "/" at the end)`, given)}
		}
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", hookName, err)
	}
	beside := filepath.Join(filepath.Dir(self), hookName)
	if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return beside, nil
}
