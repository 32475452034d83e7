package config

// Runtime is the section [runtime]: the settings of the OCI runtime shim. They
// come from the file alone, since engines start a runtime now with one
// environment and now with another.
type Runtime struct {
	// Runtimes are the low-level runtimes, names or absolute paths; the first that
	// is there is used.
	Runtimes []string
	// SpecDirs are the directories of CDI specs, in ascending priority.
	SpecDirs []string
	// AcceptEnvironment lets METAX_VISIBLE_DEVICES in the environment of a
	// privileged container ask for GPUs; AcceptEnvironmentUnprivileged in that of
	// any container.
	AcceptEnvironment, AcceptEnvironmentUnprivileged bool
}

// LoadRuntime returns the section [runtime] of the configuration file at path, or
// the defaults where text is nil. The whole file has to be right, as for Load.
func LoadRuntime(path string, text []byte) (Runtime, error) {
	items, problems := read(text)
	if len(problems) > 0 {
		return Runtime{}, &Error{path, problems}
	}
	on := func(key string) bool { return list(items, key)[0] == "true" }
	return Runtime{
		Runtimes:                      list(items, "runtime.runtimes"),
		SpecDirs:                      list(items, "runtime.spec-dirs"),
		AcceptEnvironment:             on("runtime.accept-environment"),
		AcceptEnvironmentUnprivileged: on("runtime.accept-environment-unprivileged"),
	}, nil
}
