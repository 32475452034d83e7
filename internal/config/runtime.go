package config

import (
	"fmt"
	"strings"
)

// Runtime is the section [runtime]: the settings of the OCI runtime shim. They
// come from the file alone, since engines start a runtime now with one
// environment and now with another.
type Runtime struct {
	// Runtimes are the low-level runtimes, names or absolute paths; the first that
	// is there is used.
	Runtimes []string
	// SpecDirs are the directories of CDI specs, in ascending priority; none means
	// the usual ones.
	SpecDirs []string
	// AcceptEnvironment lets METAX_VISIBLE_DEVICES in the environment of a
	// privileged container ask for GPUs; AcceptEnvironmentUnprivileged in that of
	// any container.
	AcceptEnvironment, AcceptEnvironmentUnprivileged bool
}

// runtimeSection is the section's shape in the file.
type runtimeSection struct {
	Runtimes                      []string `toml:"runtimes"`
	SpecDirs                      []string `toml:"spec-dirs"`
	AcceptEnvironment             bool     `toml:"accept-environment"`
	AcceptEnvironmentUnprivileged bool     `toml:"accept-environment-unprivileged"`
}

// LoadRuntime returns the section [runtime] of the configuration file at path, or
// the defaults where text is nil. The whole file has to be right, as for Load.
func LoadRuntime(path string, text []byte) (Runtime, error) {
	f, err := decode(path, text)
	if err != nil {
		return Runtime{}, err
	}
	r := Runtime(f.Runtime)
	switch {
	case r.Runtimes == nil:
		r.Runtimes = []string{"runc", "crun"}
	case len(r.Runtimes) == 0:
		return Runtime{}, fmt.Errorf("read configuration %s: runtime.runtimes names no runtime", path)
	}
	for _, name := range r.Runtimes {
		if name == "" || strings.Contains(name, "/") && name[0] != '/' {
			return Runtime{}, fmt.Errorf("read configuration %s: runtime.runtimes: %q is neither a name nor an absolute path", path, name)
		}
	}
	for _, dir := range r.SpecDirs {
		if !strings.HasPrefix(dir, "/") {
			return Runtime{}, fmt.Errorf("read configuration %s: runtime.spec-dirs: %q is not an absolute path", path, dir)
		}
	}
	return r, nil
}
