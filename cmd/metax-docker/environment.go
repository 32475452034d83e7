package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// errNotRegular reports a pipe or the like, of which nothing would be left for
// docker.
var errNotRegular = errors.New("not a regular file, so it can be read only once: copy it to a file")

// envFile reads a file of variables or labels, which docker is about to read again.
func envFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// lookup is the caller's variable of that name.
func (d deps) lookup(name string) (string, bool) {
	for _, pair := range slices.Backward(d.Env) {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// warnOfEnvironment says that metax-runtime, as the line's runtime, ignores the variable that
// requests GPUs, unless the configuration accepts it. The runtime cannot say so itself:
// engines show what it prints only if a container does not start.
func (w *wrapper) warnOfEnvironment(cmd dockerargs.Command, text []byte) error {
	asks := func(f dockerargs.Flag) bool {
		name, _, _ := strings.Cut(f.Value, "=")
		return f.Name == "env" && name == request.VisibleDevices
	}
	if runtime, _ := cmd.Flags.Last("runtime"); runtime != "metax" || !slices.ContainsFunc(cmd.Flags, asks) {
		return nil
	}
	settings, err := config.LoadRuntime(config.Path, text)
	if err == nil && !settings.AcceptEnvironmentUnprivileged && !(settings.AcceptEnvironment && cmd.Flags.True("privileged")) {
		w.warn("%s gives no GPU: metax-runtime ignores it, because an image can set it. Instead: --gpus (or runtime.accept-environment in config.toml)", request.VisibleDevices)
	}
	return err
}
