// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/docker"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// dockerFlags are the options on the command line of the running dockerd; none if it
// does not run.
func (h Host) dockerFlags() []string {
	text, err := h.Root.ReadFile("/run/docker.pid")
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return nil
	}
	line, err := h.Root.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if err != nil || path.Base(words[0]) != "dockerd" {
		return nil // that dockerd has ended
	}
	return words[1:]
}

// flagValue is the value of an option of a command line; "" if it is missing.
func flagValue(flags []string, name string) string {
	for i, word := range flags {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
		if word == name && i+1 < len(flags) {
			return flags[i+1]
		}
	}
	return ""
}

// checkDockerKeys fails if dockerd refuses the file as it is: then it would not start again,
// and the edit would seem to be the reason. It asks dockerd, which can validate from 23.0 on.
// What dockerd says of an empty file as well is not about this one: its unit may have the
// option that is missing, such as --userland-proxy=false.
func (h Host) checkDockerKeys(ctx context.Context, e Engine, in docker.Input) error {
	if h.Run == nil || e.Program == "" || in.Text == nil || e.Version.Before(23, 0) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	seen := h.pathInRoot(in.Path)
	refusal := h.dockerRefuses(ctx, e, seen)
	if refusal == "" || strings.ReplaceAll(refusal, seen, os.DevNull) == h.dockerRefuses(ctx, e, os.DevNull) {
		return nil
	}
	return fmt.Errorf("dockerd refuses %s as it is; correct it first: %s", in.Path, terminal.Line(refusal))
}

// pathInRoot is the path of a file as the programs of the host see it, which Run runs below
// its root.
func (h Host) pathInRoot(place string) string {
	if h.Root.Real() {
		return place
	}
	if rest, ok := strings.CutPrefix(place, h.Root.Dir()+"/"); ok {
		return "/" + rest
	}
	return place
}

// dockerRefuses is what dockerd says against a file; "" if nothing, or if it cannot be asked.
func (h Host) dockerRefuses(ctx context.Context, e Engine, file string) string {
	_, err := h.Run(ctx, e.Program, "--validate", "--config-file", file)
	var ran interface{ Stderr() string }
	if !errors.As(err, &ran) || strings.Contains(ran.Stderr(), "unknown flag") {
		return ""
	}
	return strings.TrimSpace(ran.Stderr())
}

// checkDockerFlags fails if dockerd would not start with the changes, or would not read
// them: dockerd accepts a setting only on its command line or in the file, not in both.
func (h Host) checkDockerFlags(e Engine, named bool, changes []engine.Change) error {
	flags := h.dockerFlags()
	if file := flagValue(flags, "--config-file"); file != "" && file != e.Config && !named {
		return fmt.Errorf("dockerd runs with --config-file %s and does not read %s; configure that file: --config %[1]s",
			file, e.Config)
	}
	for _, c := range changes {
		before, err := docker.Read(docker.Input{Text: c.Before})
		if err != nil {
			return err
		}
		after, err := docker.Read(docker.Input{Text: c.After})
		if err != nil {
			return err
		}
		for _, key := range []struct {
			name, flag string
			added      bool
		}{
			{"default-runtime", "--default-runtime", before.Default == "" && after.Default != ""},
			{"cdi-spec-dirs", "--cdi-spec-dir", before.SpecDirs == nil && after.SpecDirs != nil},
			{"features", "--feature", before.CDI == engine.Unset && after.CDI != engine.Unset},
		} {
			if value := flagValue(flags, key.flag); key.added && value != "" {
				return fmt.Errorf(
					"dockerd runs with %s=%s, and would not start if %s were also in %s: remove the option from its unit first", key.flag, value, key.name, h.Root.Join(e.Config))
			}
		}
	}
	return nil
}
