package crio

import (
	"fmt"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// Configure sets CRI-O up. It adds; what an earlier Setup wanted stays until Remove.
// The hook is for a Setup without a runtime alone. A setting that another file would
// override is an error that names that file.
func Configure(in Input, s engine.Setup) ([]engine.Change, error) {
	c, err := parse(in)
	if err != nil {
		return nil, err
	}
	// What means nothing to the engine stops it, whoever wrote it.
	if _, err := Read(in); err != nil {
		return nil, err
	}
	others := c.chain.Without(c.own.Path)
	tree := map[string]any{}
	for _, add := range []func(dropin.Chain, engine.Setup, map[string]any) error{c.runtime, c.dirs, c.hooks} {
		if err := add(others, s, tree); err != nil {
			return nil, err
		}
	}
	if len(tree) > 0 {
		tree = map[string]any{"crio": map[string]any{"runtime": tree}}
	}
	after, err := c.own.Add(tree)
	if err != nil {
		return nil, err
	}
	if err := c.counts(after, s); err != nil {
		return nil, err
	}
	var hook []engine.Change
	if wantsHook(s) {
		hook, err = hookfile.Put(c.hook(), hookfile.Text(hookfile.Prestart, s.Hook))
	}
	return append(c.own.Change(after), hook...), err
}

func wantsHook(s engine.Setup) bool { return s.Hook != "" && s.Runtime == "" }

// runtime registers the runtime, and makes it the default one.
func (c config) runtime(others dropin.Chain, s engine.Setup, tree map[string]any) error {
	path, file, err := runtimePath(others, s.Name)
	switch {
	case err != nil:
		return err
	case s.Runtime == "" && !s.Default:
		return nil
	case s.Name == "":
		return fmt.Errorf("a runtime needs a name")
	case s.Runtime == "" || path == s.Runtime:
		// There is nothing to register, or somebody has done it.
	case file != "":
		return fmt.Errorf("runtime %q: in %s it is %q; take that out, or another name", s.Name, file, path)
	case s.Name == "runc" || s.Name == "crun":
		return fmt.Errorf("runtime %q: CRI-O has one of its own; take another name", s.Name)
	default:
		entry, err := c.twin(others)
		if err != nil {
			return err
		}
		entry["runtime_path"] = s.Runtime
		tree["runtimes"] = map[string]any{s.Name: entry}
	}
	if s.Default {
		tree["default_runtime"] = s.Name
	}
	return nil
}

// apart are the settings of a runtime that are not for another one.
var apart = []string{
	"runtime_path", "runtime_config_path", "runtime_root", "platform_runtime_paths",
	"inherit_default_runtime", "runtime_pull_image",
}

// twin is a runtime as the default one is, but for its program: it needs the same
// monitor, and who relies on an allowed annotation shall not miss it.
func (c config) twin(others dropin.Chain) (map[string]any, error) {
	def, err := others.Text(defaultKey...)
	if err != nil {
		return nil, err
	}
	names := []string{"crun", "runc"}
	switch {
	case def.Value != "":
		names = []string{def.Value}
	case c.Version.Before(1, 31):
		names = []string{"runc"}
	}
	twin := map[string]any{"runtime_type": "oci"}
	for _, name := range names {
		entry, err := others.Table(key("runtimes", name)...)
		if err != nil {
			return nil, err
		}
		kind, _ := entry.Value["runtime_type"].(string)
		if !entry.Set() || kind == "vm" {
			continue // a virtual machine's settings are for no other runtime
		}
		maps.Copy(twin, entry.Value)
		if kind == "" {
			twin["runtime_type"] = "oci"
		}
		maps.DeleteFunc(twin, func(key string, _ any) bool { return slices.Contains(apart, key) })
		break
	}
	return twin, nil
}

// dirs has CRI-O look for specs where it is to, besides where it does.
func (c config) dirs(others dropin.Chain, s engine.Setup, tree map[string]any) error {
	have, err := others.List(dirsKey...)
	if err != nil {
		return err
	}
	want := s.SpecDirs
	if !have.Set() {
		have.Value = dropin.Usual()
	} else if s.CDI && len(have.Value) == 0 && len(want) == 0 {
		want = dropin.Usual()
	}
	missing := dropin.Missing(have.Value, want)
	switch {
	case len(missing) == 0:
		return nil
	case c.Version.Before(1, 23):
		return fmt.Errorf("CRI-O %s does not know CDI, and no directory of specs such as %q", c.Version, missing[0])
	}
	tree["cdi_spec_dirs"] = dropin.Merge(have.Value, want)
	return nil
}

// hooks has CRI-O look for hooks where ours is.
func (c config) hooks(others dropin.Chain, s engine.Setup, tree map[string]any) error {
	have, err := others.List(hooksKey...)
	if err != nil || !wantsHook(s) || !have.Set() || slices.Contains(have.Value, HookDir) {
		return err
	}
	tree["hooks_dir"] = append(have.Value, HookDir)
	return nil
}

// counts fails if a file that is read after ours says something else.
func (c config) counts(after []byte, s engine.Setup) error {
	chain, err := c.with(after)
	if err != nil {
		return err
	}
	_, file, err := runtimePath(chain, s.Name)
	if err != nil {
		return err
	}
	def, err := chain.Text(defaultKey...)
	switch {
	case err != nil:
		return err
	case s.Default && def.Value != s.Name:
		return &dropin.OverriddenError{Key: "default_runtime", Own: c.own.Path, Path: def.Path}
	case s.Default && file == "":
		return fmt.Errorf("default_runtime %q: there is no such runtime, and CRI-O would not start", s.Name)
	}
	dirs, err := chain.List(dirsKey...)
	if err == nil && dirs.Set() && len(dropin.Missing(dirs.Value, s.SpecDirs)) > 0 {
		return &dropin.OverriddenError{Key: "cdi_spec_dirs", Own: c.own.Path, Path: dirs.Path}
	}
	if err != nil || !wantsHook(s) {
		return err
	}
	hooks, err := chain.List(hooksKey...)
	if err == nil && hooks.Set() && !slices.Contains(hooks.Value, HookDir) {
		return &dropin.OverriddenError{Key: "hooks_dir", Own: c.own.Path, Path: hooks.Path}
	}
	return err
}
