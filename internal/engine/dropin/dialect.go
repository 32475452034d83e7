// SPDX-License-Identifier: Apache-2.0

package dropin

import "github.com/metax-ctk/container-toolkit/internal/engine"

// Keys that all engines have, below the table of the dialect.
const (
	runtimesKey = "runtimes"
	dirsKey     = "cdi_spec_dirs"
	hooksKey    = "hooks_dir"
	managerKey  = "cgroup_manager"
)

// Dialect names one engine's settings and where it differs from other engines.
type Dialect struct {
	// Engine is the engine's name for metax-ctk runtime configure --engine.
	Engine string
	// Path is the path of the toolkit's file.
	Path string
	// Table is the path of the table that holds all settings.
	Table []string
	// Default is the key of the default runtime.
	Default string
	// HookDir is the directory of the toolkit's hook. HookDirs are the directories that
	// the engine reads if no file names any.
	HookDir  string
	HookDirs []string
	// Runtime returns the path of a runtime, "" if the file gives none. It is Set if a
	// file has the runtime.
	Runtime func(c Chain, name string) (Setting[string], error)
	// NewRuntime returns the value that registers the runtime of a Setup. A name that
	// the engine reserves is an error.
	NewRuntime func(others Chain, s engine.Setup) (any, error)
	// NoRuntime returns the error of a default runtime that no file has; nil if the
	// engine knows the name without a file.
	NoRuntime func(name string) error
	// SpecDirs returns the directories of CDI specs that the engine reads, given those
	// that its files name. They are Set only if this version of the engine reads the
	// setting.
	SpecDirs func(named Setting[[]string]) Setting[[]string]
	// CheckSpecDir returns an error if no setting can add a directory of CDI specs.
	CheckSpecDir func(dir string) error
}

// keyPath returns the path of keys to a setting.
func (d Dialect) keyPath(names ...string) []string {
	return append(d.Table[:len(d.Table):len(d.Table)], names...)
}

func (d Dialect) specDirs(c Chain) (Setting[[]string], error) {
	named, err := c.List(d.keyPath(dirsKey)...)
	if err != nil {
		return named, err
	}
	return d.SpecDirs(named), nil
}

func (d Dialect) hookDirs(c Chain) (Setting[[]string], error) {
	named, err := c.List(d.keyPath(hooksKey)...)
	if err == nil && !named.Set() {
		named.Value = d.HookDirs
	}
	return named, err
}
