// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"fmt"
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
)

const defaultKey = "default_runtime"

func runtimeKey(names ...string) []string { return append([]string{"crio", "runtime"}, names...) }

func dialectFor(v engine.Version) dropin.Dialect {
	return dropin.Dialect{
		Engine: "crio", Path: DropIn, Table: runtimeKey(), Default: defaultKey,
		HookDir: HookDir, HookDirs: []string{HookDir},
		Runtime: runtimePath,
		NewRuntime: func(others dropin.Chain, s engine.Setup) (any, error) {
			if s.Name == "runc" || s.Name == "crun" {
				return nil, fmt.Errorf("runtime %q: CRI-O has a built-in runtime of this name; use another", s.Name)
			}
			return copyOfDefault(others, v, s.Runtime)
		},
		NoRuntime: func(name string) error {
			return fmt.Errorf("default_runtime %q: this runtime does not exist, so CRI-O would not start", name)
		},
		SpecDirs: func(named dropin.Setting[[]string]) dropin.Setting[[]string] {
			if !named.Set() {
				named.Value = dropin.StandardDirs()
			}
			return named
		},
		CheckSpecDir: func(dir string) error {
			if v.Before(1, 23) {
				return fmt.Errorf("CRI-O %s has no CDI, so it reads no specs from %q", v, dir)
			}
			return nil
		},
	}
}

// runtimePath returns the path in the table of a runtime. CRI-O looks up a runtime
// without a path by its name.
func runtimePath(c dropin.Chain, name string) (dropin.Setting[string], error) {
	entry, err := c.Table(runtimeKey("runtimes", name)...)
	if err != nil || !entry.Set() {
		return dropin.Setting[string]{}, err
	}
	path, isText := entry.Value["runtime_path"].(string)
	if _, there := entry.Value["runtime_path"]; there && !isText {
		return dropin.Setting[string]{}, fmt.Errorf("read %s: %w", entry.Path,
			&engine.SyntaxError{Err: fmt.Errorf("runtime_path of the runtime %q is not a string", name)})
	}
	return dropin.Setting[string]{Value: path, Path: entry.Path}, nil
}

// notCopied are the settings of a runtime that belong to its program.
var notCopied = []string{
	"runtime_path", "runtime_config_path", "runtime_root", "platform_runtime_paths",
	"inherit_default_runtime", "runtime_pull_image",
}

// copyOfDefault returns the settings of the default runtime with another program: the
// new runtime needs the same monitor and the same allowed annotations.
func copyOfDefault(others dropin.Chain, v engine.Version, program string) (map[string]any, error) {
	def, err := others.Text(runtimeKey(defaultKey)...)
	if err != nil {
		return nil, err
	}
	names := []string{"crun", "runc"}
	switch {
	case def.Value != "":
		names = []string{def.Value}
	case v.Before(1, 31):
		names = []string{"runc"}
	}
	settings := map[string]any{"runtime_type": "oci"}
	for _, name := range names {
		entry, err := others.Table(runtimeKey("runtimes", name)...)
		if err != nil {
			return nil, err
		}
		kind, _ := entry.Value["runtime_type"].(string)
		if !entry.Set() || kind == "vm" {
			continue // settings of a virtual machine do not fit another runtime
		}
		maps.Copy(settings, entry.Value)
		if kind == "" {
			settings["runtime_type"] = "oci"
		}
		maps.DeleteFunc(settings, func(key string, _ any) bool { return slices.Contains(notCopied, key) })
		break
	}
	settings["runtime_path"] = program
	return settings, nil
}
