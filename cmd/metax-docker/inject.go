// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/inject"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// options are docker's flags for what a container gets: those in the place of our own,
// and those that have to stand behind the user's.
type options struct{ here, last []string }

// chooseWay decides how edits reach a container, before GPUs of the plan are taken or waited
// for.
func (s *session) chooseWay(plan *assign.Plan) error {
	gpus, parts := plan.Candidates()
	e, daemon := edits.Container(s.node, gpus, parts).Below(s.root), s.daemon()
	s.way = edits.Edits.ByValue
	if len(e.Names) == 0 {
		return nil
	}
	setting := s.settings.DockerInject.Text
	byName, doubt, err := daemon.ByName(e.Names, "", setting)
	if doubt != nil {
		s.warn("%v; giving the GPUs by plain devices (metax-ctk cdi check)", doubt)
	}
	if err == nil && byName && s.at.IsHost() {
		outdated := daemon.Compare(e)
		switch {
		case outdated == nil: // the daemon knows the spec
		case setting == dockerargs.InjectCDI:
			return fmt.Errorf("%w. To do without it: --inject=flags", outdated)
		default:
			s.warn("%v; giving the GPUs by plain devices", outdated)
			byName = false
		}
	}
	s.log.Info("way of injection", "setting", setting, "by-cdi-name", byName, "names", e.Names)
	if byName {
		s.way = edits.Edits.ByName
	}
	return err
}

// edits are what gives a container its GPUs or slices.
func (s *session) edits(got assign.Given) edits.Edits {
	return edits.Container(s.node, wholeGPUs(got), got.Slices).Below(s.root)
}

// wholeGPUs are the GPUs that a container gets as a whole.
func wholeGPUs(got assign.Given) []gpu.GPU {
	if got.Slices != nil {
		return nil
	}
	return got.GPUs
}

// warnOfFlags warns of GPUs beyond those given that the flags for devices open, and of flags
// that hide some of those given. Of begins the line.
func (s *session) warnOfFlags(of string, devices, flags dockerargs.Flags, got assign.Given) {
	if more := inject.Beyond(devices, s.node, got.GPUs, s.root, followLinks); more != "" {
		s.warn("%s%s", of, more)
	}
	if hides := inject.Hides(flags, wholeGPUs(got), got.Slices, envFile, s.lookup); hides != "" {
		s.warn("%s%s", of, hides)
	}
}

// followLinks returns where the links of a path lead to; the path, if it does not exist.
func followLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// containerLabels are the options for the labels. An engine that keeps labels to itself gets
// those of the lease and the slices also as annotations, which the bundle keeps.
func containerLabels(engine string, all map[string]string) []string {
	var labels, annotations []string
	for _, key := range assign.OwnLabels {
		value, ok := all[key]
		if !ok {
			continue
		}
		labels = append(labels, "--label="+key+"="+value)
		if engine == "podman" && (key == usage.LeaseLabel || key == usage.SlicesLabel) {
			annotations = append(annotations, "--annotation="+key+"="+value)
		}
	}
	return append(labels, annotations...)
}

// errNotRegular reports a pipe or the like, of which nothing would be left for docker.
var errNotRegular = errors.New("not a regular file, so it can be read only once: copy it to a file")

// envFile reads a file of variables or labels, which docker is about to read again.
func envFile(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", cmp.Or(err, errNotRegular)
	}
	text, err := os.ReadFile(path) //nolint:gosec // G304: the user names it to docker, and reads it with their own rights
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
	if err == nil && !settings.AcceptEnvironmentUnprivileged &&
		!(settings.AcceptEnvironment && cmd.Flags.True("privileged")) {
		w.warn(
			"%s gives no GPU: metax-runtime ignores it, because an image can set it. Instead: --gpus (or runtime.accept-environment in config.toml)", request.VisibleDevices)
	}
	return err
}
