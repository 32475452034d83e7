package containerd

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/engine"
)

const runcType = "io.containerd.runc.v2"

// Read tells what the configuration says of containers that the kubelet starts;
// containerd's own clients do not go by it. A template says nothing that can be
// read; its generated file does.
func Read(in Input) (engine.State, error) {
	if in.Layout == Template {
		return engine.State{}, nil
	}
	sources, err := in.load()
	if err != nil {
		return engine.State{}, err
	}
	return state(in.table(sources)), nil
}

// state is what the CRI plugin's table says.
func state(t map[string]any) engine.State {
	s := engine.State{Runtimes: map[string]string{}}
	c := tableAt(t, "containerd")
	s.Default, _ = c["default_runtime_name"].(string)
	s.CDI = position(t["enable_cdi"])
	if dirs, ok := stringList(t["cdi_spec_dirs"]); ok {
		s.SpecDirs = dirs
	}
	runtimes := tableAt(c, "runtimes")
	for name := range runtimes {
		s.Runtimes[name], _ = tableAt(runtimes, name, "options")["BinaryName"].(string)
	}
	for _, name := range []string{s.Default, "runc"} {
		if s.Systemd == engine.Unset {
			s.Systemd = position(tableAt(runtimes, name, "options")["SystemdCgroup"])
		}
	}
	if s.Systemd == engine.Unset {
		s.Systemd = position(t["systemd_cgroup"]) // of containerd before 1.3
	}
	return s
}

func position(v any) engine.Switch {
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
// containerd.io packages: then no kubelet can use this containerd, and what
// Configure writes waits until it is on.
func Disabled(in Input) (bool, error) {
	if in.Layout == Template {
		return false, nil
	}
	sources, err := in.load()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(sources, func(s source) bool {
		list, _ := stringList(s.tree["disabled_plugins"])
		return slices.ContainsFunc(list, func(name string) bool {
			return name == "cri" || name == plugin(2) || name == plugin(3)
		})
	}), nil
}
