package podman

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
)

// Configure sets Podman up. It adds; what an earlier Setup wanted stays until Remove.
// A setting that another file would override is an error that names that file.
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
		tree = map[string]any{"engine": tree}
	}
	after, err := c.own.Add(tree)
	if err != nil {
		return nil, err
	}
	if err := c.counts(after, s); err != nil {
		return nil, err
	}
	changes := c.own.Change(after)
	if !c.wantsHook(s) {
		return changes, nil
	}
	// The one stage goes where the other comes: CRI-O may be new on this machine.
	use, other := hookfile.Precreate, hookfile.Prestart
	if c.CRIO {
		use, other = other, use
	}
	hook, err := hookfile.Put(c.hook(use), hookfile.Text(use, s.Hook))
	if err != nil {
		return nil, err
	}
	changes = append(changes, hook...)
	hook, err = hookfile.Put(c.hook(other), nil)
	return append(changes, hook...), err
}

// HookIsSafe tells whether Configure puts the hook in place: Podman 4 gives a
// container the annotations of its image too, so that whoever made an image could
// have GPUs, and an unknown version may be one.
func HookIsSafe(v engine.Version) bool { return v.AtLeast(5, 0) }

func (c config) wantsHook(s engine.Setup) bool { return s.Hook != "" && HookIsSafe(c.Version) }

// builtin are runtimes that Podman knows without a setting.
var builtin = []string{"crun", "crun-vm", "crun-wasm", "kata", "krun", "ocijail", "runc", "runj", "runsc", "youki"}

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
	case slices.Contains(builtin, s.Name):
		return fmt.Errorf("runtime %q: Podman knows one of this name; take another", s.Name)
	default:
		tree["runtimes"] = map[string]any{s.Name: []string{s.Runtime}}
	}
	if s.Default {
		tree["runtime"] = s.Name
	}
	return nil
}

// specDirs are the directories in which Podman looks for specs, and whether
// somebody has said so and Podman heeds it.
func (c config) specDirs(chain dropin.Chain) (dirs dropin.Setting[[]string], err error) {
	dirs, err = chain.List(dirsKey...)
	if err != nil || dirs.Set() && c.heedsDirs() {
		return dirs, err
	}
	dirs = dropin.Setting[[]string]{Value: dropin.Usual()}
	// The first version that reads the key forgot the second of the directories.
	if c.Version.AtLeast(5, 5) && c.Version.Before(5, 6) {
		dirs.Value = dirs.Value[:1]
	}
	return dirs, nil
}

// heedsDirs tells whether Podman reads the key of the directories.
func (c config) heedsDirs() bool { return !c.Version.Before(5, 5) }

// dirs has Podman look for specs where it is to, besides where it does.
func (c config) dirs(others dropin.Chain, s engine.Setup, tree map[string]any) error {
	have, err := c.specDirs(others)
	if err != nil {
		return err
	}
	want := s.SpecDirs
	if s.CDI && len(want) == 0 && (!have.Set() || len(have.Value) == 0) {
		want = dropin.Usual()
	}
	missing := dropin.Missing(have.Value, want)
	switch {
	case len(missing) == 0:
		return nil
	case !c.heedsDirs():
		return fmt.Errorf("podman %s looks for CDI specs in the usual directories alone, not in %q: 5.5 is the first that can be told", c.Version, missing[0])
	case others.Appends(dirsKey...):
		tree["cdi_spec_dirs"] = missing
	default:
		tree["cdi_spec_dirs"] = dropin.Merge(have.Value, want)
	}
	return nil
}

// hooks has Podman look for hooks where ours is, besides where it does.
func (c config) hooks(others dropin.Chain, s engine.Setup, tree map[string]any) error {
	have, err := others.List(hooksKey...)
	if err != nil || !c.wantsHook(s) || slices.Contains(have.Value, HookDir) {
		return err
	}
	if !have.Set() {
		have.Value = []string{VendorHookDir}
	}
	if others.Appends(hooksKey...) {
		have.Value = nil
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
		return &dropin.OverriddenError{Key: "runtime", Own: c.own.Path, Path: def.Path}
	case s.Default && file == "" && !slices.Contains(builtin, s.Name):
		return fmt.Errorf("runtime %q: Podman would not find it", s.Name)
	}
	dirs, err := c.specDirs(chain)
	if err == nil && len(dropin.Missing(dirs.Value, s.SpecDirs)) > 0 {
		return &dropin.OverriddenError{Key: "cdi_spec_dirs", Own: c.own.Path, Path: dirs.Path}
	}
	if err != nil || !c.wantsHook(s) {
		return err
	}
	hooks, err := chain.List(hooksKey...)
	if err == nil && !slices.Contains(hooks.Value, HookDir) {
		return &dropin.OverriddenError{Key: "hooks_dir", Own: c.own.Path, Path: hooks.Path}
	}
	return err
}
