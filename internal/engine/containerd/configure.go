// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Configure returns the changes of the main file and the drop-in. It does not copy
// containerd's defaults into them, so that an upgrade brings its own. There is one
// exception: where the whole table must be copied and Dump has runtimes or values that
// the files do not explain, Configure copies the table from Dump.
//
// Beside errors of the files it returns engine.ErrForeign, ErrVersion, ErrOverridden and
// ErrByHand.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	if s.Runtime != "" && s.Name == "runc" {
		return nil, fmt.Errorf("set up runtime %q: containerd reserves this name; use another", s.Name)
	}
	if s.Runtime != "" && !engine.IsRuntimeName(s.Name) {
		return nil, fmt.Errorf("set up runtime %q: use letters, digits, dots, dashes and underscores in the name", s.Name)
	}
	if err := in.checkVersions(); err != nil {
		return nil, err
	}
	if in.Layout == Template {
		text, err := in.templateText(s)
		if err != nil {
			return nil, err
		}
		return engine.Changed(in.configPath(), in.Main, text), nil
	}
	changes, err := in.configureDropIn(s)
	if err != nil {
		return nil, err
	}
	if err := in.withChanges(changes).checkResult(s); err != nil {
		return nil, err
	}
	return changes, nil
}

func (in Input) configureDropIn(s engine.Setup) ([]engine.Change, error) {
	text, err := in.dropInText(s)
	if err != nil {
		return nil, err
	}
	if in.DropIn != nil && !isOurs(in.DropIn) {
		if text == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("write %s: %w", in.dropInPath(), engine.ErrForeign)
	}
	changes := engine.Changed(in.dropInPath(), in.DropIn, text)
	if text == nil || in.Layout == Merged {
		return changes, nil
	}
	main, err := in.importDropIn()
	if err != nil {
		return nil, err
	}
	return append(changes, engine.Changed(in.configPath(), in.Main, main)...), nil
}

// otherSources are the files that containerd reads, without our drop-in.
func (in Input) otherSources() ([]source, error) {
	sources, err := in.loadSources()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sources, func(s source) bool { return s.path == in.dropInPath() }), nil
}

// withChanges is the input after some changes.
func (in Input) withChanges(changes []engine.Change) Input {
	for _, c := range changes {
		switch c.Path {
		case in.configPath():
			in.Main = c.After
		case in.dropInPath():
			in.DropIn = c.After
		}
	}
	return in
}
