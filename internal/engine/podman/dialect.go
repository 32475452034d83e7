// SPDX-License-Identifier: Apache-2.0

package podman

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
)

// builtin are the runtimes that Podman knows without a setting.
var builtin = []string{"crun", "crun-vm", "crun-wasm", "kata", "krun", "ocijail", "runc", "runj", "runsc", "youki"}

func dialectFor(v engine.Version) dropin.Dialect {
	return dropin.Dialect{
		Engine: "podman", Path: DropIn, Table: []string{"engine"}, Default: "runtime",
		HookDir: HookDir, HookDirs: []string{VendorHookDir},
		Runtime: runtimePath,
		NewRuntime: func(_ dropin.Chain, s engine.Setup) (any, error) {
			if slices.Contains(builtin, s.Name) {
				return nil, fmt.Errorf("runtime %q: Podman has a built-in runtime of this name; use another", s.Name)
			}
			return []string{s.Runtime}, nil
		},
		NoRuntime: func(name string) error {
			if slices.Contains(builtin, name) {
				return nil
			}
			return fmt.Errorf("runtime %q: this runtime does not exist", name)
		},
		SpecDirs: func(named dropin.Setting[[]string]) dropin.Setting[[]string] { return specDirs(v, named) },
		CheckSpecDir: func(dir string) error {
			if !readsSpecDirs(v) {
				return fmt.Errorf(
					"podman %s reads CDI specs only from /etc/cdi and /var/run/cdi, not from %q: the directories can be set since 5.5", v, dir)
			}
			return nil
		},
	}
}

// specDirs returns the directories of CDI specs that Podman reads.
func specDirs(v engine.Version, named dropin.Setting[[]string]) dropin.Setting[[]string] {
	if named.Set() && readsSpecDirs(v) {
		return named
	}
	dirs := dropin.StandardDirs()
	// The first version with the setting has only the first directory by default.
	if v.AtLeast(5, 5) && v.Before(5, 6) {
		dirs = dirs[:1]
	}
	return dropin.Setting[[]string]{Value: dirs}
}

// readsSpecDirs reports whether this version has a setting for the directories.
func readsSpecDirs(v engine.Version) bool { return !v.Before(5, 5) }

// runtimePath returns the first path of a runtime.
func runtimePath(c dropin.Chain, name string) (dropin.Setting[string], error) {
	paths, err := c.LastList("engine", "runtimes", name)
	if err != nil || len(paths.Value) == 0 {
		return dropin.Setting[string]{Path: paths.Path}, err
	}
	return dropin.Setting[string]{Value: paths.Value[0], Path: paths.Path}, nil
}
