// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// Configure returns the change of the toolkit's file. It only adds: settings of an
// earlier Setup stay until Remove. If a later file overrides a setting, the error is an
// *OverriddenError. A Setup with a Hook adds the hook's directory; the caller writes
// the hook's file.
func (c Config) Configure(s engine.Setup) ([]engine.Change, error) {
	// A value of the wrong kind in any file stops the engine.
	if _, err := c.State(); err != nil {
		return nil, err
	}
	others := c.chain.Without(c.own.Path)
	tree := map[string]any{}
	for _, add := range []func(Chain, engine.Setup, map[string]any) error{c.addRuntime, c.addSpecDirs, c.addHookDir} {
		if err := add(others, s, tree); err != nil {
			return nil, err
		}
	}
	if len(tree) > 0 {
		for _, table := range slices.Backward(c.dialect.Table) {
			tree = map[string]any{table: tree}
		}
	}
	after, err := c.own.Add(tree)
	if err != nil {
		return nil, err
	}
	if err := c.checkResult(after, s); err != nil {
		return nil, err
	}
	return engine.Changed(c.own.Path, c.own.Text, after), nil
}

// addRuntime registers the runtime and makes it the default one.
func (c Config) addRuntime(others Chain, s engine.Setup, tree map[string]any) error {
	have, err := c.dialect.Runtime(others, s.Name)
	switch {
	case err != nil:
		return err
	case s.Runtime == "" && !s.Default:
		return nil
	case s.Name == "":
		return fmt.Errorf("a runtime needs a name")
	case s.Runtime == "" || have.Value == s.Runtime:
		// Nothing to register, or another file has registered it.
	case have.Set():
		return fmt.Errorf("runtime %q: %s already defines it as %q; remove that, or use another name", s.Name, have.Path,
			have.Value)
	default:
		entry, err := c.dialect.NewRuntime(others, s)
		if err != nil {
			return err
		}
		tree[runtimesKey] = map[string]any{s.Name: entry}
	}
	if s.Default {
		tree[c.dialect.Default] = s.Name
	}
	return nil
}

// addSpecDirs adds directories of CDI specs to those that the engine reads.
func (c Config) addSpecDirs(others Chain, s engine.Setup, tree map[string]any) error {
	have, err := c.dialect.specDirs(others)
	if err != nil {
		return err
	}
	want := s.SpecDirs
	if s.CDI && len(want) == 0 && (!have.Set() || len(have.Value) == 0) {
		want = StandardDirs()
	}
	missing := Missing(have.Value, want)
	if len(missing) == 0 {
		return nil
	}
	if err := c.dialect.CheckSpecDir(missing[0]); err != nil {
		return err
	}
	tree[dirsKey] = Merge(have.Value, want)
	if others.Appends(c.dialect.keyPath(dirsKey)...) {
		tree[dirsKey] = missing
	}
	return nil
}

// addHookDir adds the directory of the hook to those that the engine reads.
func (c Config) addHookDir(others Chain, s engine.Setup, tree map[string]any) error {
	have, err := c.dialect.hookDirs(others)
	if err != nil || s.Hook == "" || slices.Contains(have.Value, c.dialect.HookDir) {
		return err
	}
	if others.Appends(c.dialect.keyPath(hooksKey)...) {
		have.Value = nil
	}
	tree[hooksKey] = append(slices.Clone(have.Value), c.dialect.HookDir)
	return nil
}

// checkResult fails if a later file overrides a setting of the toolkit's file.
func (c Config) checkResult(after []byte, s engine.Setup) error {
	chain, err := c.chainWith(after)
	if err != nil {
		return err
	}
	runtime, err := c.dialect.Runtime(chain, s.Name)
	if err != nil {
		return err
	}
	def, err := chain.Text(c.dialect.keyPath(c.dialect.Default)...)
	switch {
	case err != nil:
		return err
	case s.Default && def.Value != s.Name:
		return c.overridden(c.dialect.Default, def.Path)
	case s.Default && !runtime.Set():
		if err := c.dialect.NoRuntime(s.Name); err != nil {
			return err
		}
	}
	dirs, err := c.dialect.specDirs(chain)
	switch {
	case err != nil:
		return err
	case len(Missing(dirs.Value, s.SpecDirs)) > 0:
		return c.overridden(dirsKey, dirs.Path)
	}
	hooks, err := c.dialect.hookDirs(chain)
	if err == nil && s.Hook != "" && !slices.Contains(hooks.Value, c.dialect.HookDir) {
		return c.overridden(hooksKey, hooks.Path)
	}
	return err
}

func (c Config) overridden(key, by string) error {
	return &OverriddenError{Key: key, Own: c.own.Path, Path: by}
}
