// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// checkVersions fails if containerd would not read the settings of a file because of
// the file's version.
func (in Input) checkVersions() error {
	if in.Layout == Template {
		return nil
	}
	sources, err := in.otherSources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if s.version > newestVersion(in.Version) {
			return fmt.Errorf("check %s: version %d: %w", s.path, s.version, ErrNewer)
		}
		if in.migratesMerged() && s.version < 2 && tableAt(s.tree, "plugins", pluginName(1)) != nil {
			return fmt.Errorf("check %s: %w", s.path, ErrVersion)
		}
	}
	return nil
}

// checkResult fails if containerd would not see the settings of s, because it reads a
// file with other values later.
func (in Input) checkResult(s engine.Setup) error {
	if in.Layout == Merged {
		return nil
	}
	sources, err := in.loadSources()
	if err != nil {
		return err
	}
	t := in.criTable(sources)
	state := stateOf(t)
	before, err := in.otherSources()
	if err != nil {
		return err
	}
	missing := in.missingSettings(in.criTable(before), in.configVersion(before), s)
	delete(tableAt(missing, "containerd"), "runtimes")
	if (s.Runtime == "" || state.Runtimes[s.Name] == s.Runtime) && contains(t, missing) {
		return nil
	}
	at := slices.IndexFunc(sources, func(s source) bool { return s.path == in.dropInPath() })
	for _, s := range sources[max(at, 0)+1:] {
		if tableAt(s.tree, "plugins", in.pluginName(s, sources)) != nil {
			return fmt.Errorf("check %s: %w", s.path, ErrOverridden)
		}
	}
	return fmt.Errorf("check %s: %w", in.configPath(), ErrOverridden)
}

// contains reports whether a table has every value of part.
func contains(t, part map[string]any) bool {
	both := map[string]any{}
	mergeTables(both, t)
	mergeTables(both, part)
	return equalTOML(both, t)
}
