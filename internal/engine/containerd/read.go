// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

const runcType = "io.containerd.runc.v2"

// Read returns what the configuration says for containers that the kubelet starts;
// containerd's own clients ignore it. A template cannot be read; its generated file
// can.
func Read(in Input) (engine.State, error) {
	if in.Layout == Template {
		return engine.State{}, nil
	}
	sources, err := in.loadSources()
	if err != nil {
		return engine.State{}, err
	}
	return stateOf(in.criTable(sources)), nil
}

// stateOf is what the CRI plugin's table says.
func stateOf(t map[string]any) engine.State {
	s := engine.State{Runtimes: map[string]string{}}
	c := tableAt(t, "containerd")
	s.Default, _ = c["default_runtime_name"].(string)
	s.CDI = switchOf(t["enable_cdi"])
	if dirs, ok := stringList(t["cdi_spec_dirs"]); ok {
		s.SpecDirs = dirs
	}
	runtimes := tableAt(c, "runtimes")
	for name := range runtimes {
		s.Runtimes[name], _ = tableAt(runtimes, name, "options")["BinaryName"].(string)
	}
	for _, name := range []string{s.Default, "runc"} {
		if s.Systemd == engine.Unset {
			s.Systemd = switchOf(tableAt(runtimes, name, "options")["SystemdCgroup"])
		}
	}
	if s.Systemd == engine.Unset {
		s.Systemd = switchOf(t["systemd_cgroup"]) // of containerd before 1.3
	}
	return s
}

func switchOf(v any) engine.Switch {
	on, ok := v.(bool)
	switch {
	case !ok:
		return engine.Unset
	case on:
		return engine.On
	default:
		return engine.Off
	}
}

// Disabled reports whether the CRI plugin is switched off, as in the file of Docker's
// containerd.io packages. No kubelet can then use this containerd, and what Configure
// writes has no effect until the plugin is on.
func Disabled(in Input) (bool, error) {
	if in.Layout == Template {
		return false, nil
	}
	sources, err := in.loadSources()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(sources, func(s source) bool {
		list, _ := stringList(s.tree["disabled_plugins"])
		return slices.ContainsFunc(list, func(name string) bool {
			return name == "cri" || name == pluginName(2) || name == pluginName(3)
		})
	}), nil
}
