// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/engine"
)

// inspect is the command for a failure whose cause may be anywhere on the node.
const inspect = "metax-ctk doctor"

// failedProof is the Proof of a check that failed for a reason that may be anywhere on the
// node.
func failedProof(what string, err error) Proof {
	return Proof{What: what, Detail: err.Error(), Fix: inspect}
}

// programPath is the path of metax-ctk in a container that verification starts. The
// container has nothing else, so it needs no image and runs no other program.
const programPath = "/metax-ctk"

// trialName begins the names of everything that verification makes: directories,
// images, containers, namespaces.
const trialName = "metax-ctk-verify-"

// trialTimeout is how long one container of verification may take, or a step to prepare
// it.
const trialTimeout = time.Minute

// runTrialProgram runs a program with the time limit of a trial.
func (h Host) runTrialProgram(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	return h.Run(ctx, program, args...)
}

// cleanUp removes what is left of a trial, also after the caller has given up.
func (h Host) cleanUp(ctx context.Context, program string, lines ...[]string) {
	for _, args := range lines {
		h.programOutput(context.WithoutCancel(ctx), program, args...)
	}
}

// DeviceNodes returns the paths of the character devices of GPUs that this process
// sees, sorted. "metax-ctk runtime witness" prints them in a container.
func DeviceNodes() ([]string, error) {
	seen := []string{}
	for _, pattern := range []string{"/dev/dri/*", "/dev/mx*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", pattern, err)
		}
		for _, p := range paths {
			if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
				seen = append(seen, p)
			}
		}
	}
	slices.Sort(seen)
	return seen, nil
}

// Difference describes the device nodes that a container lacks or has in addition; ""
// if there are none.
func Difference(want, seen []string) string {
	if missing := missing(want, seen); len(missing) > 0 {
		return "it lacks " + strings.Join(missing, ", ")
	}
	if more := missing(seen, want); len(more) > 0 {
		return "it also has " + strings.Join(more, ", ")
	}
	return ""
}

// exitDiffers is the exit code of metax-ctk for a check that found something.
const exitDiffers = 4

// tryContainer runs a container in which metax-ctk checks that it sees all nodes of all
// GPUs and no more. Its exit code is the result, because an engine may lose what a
// container prints at its end. If it fails, the clean commands remove the container.
func (h Host) tryContainer(ctx context.Context, what, program string, args []string, clean ...[]string) Proof {
	args = append(append(args, programPath, "runtime", "witness", "--check"), h.Nodes...)
	out, err := h.runTrialProgram(ctx, program, args...)
	if err == nil {
		return Proof{What: what, OK: true, Detail: fmt.Sprintf("%d device nodes", len(h.Nodes))}
	}
	h.cleanUp(ctx, program, clean...)
	var exit interface{ ExitCode() int }
	if said := bytes.TrimSpace(out); errors.As(err, &exit) && exit.ExitCode() == exitDiffers && len(said) > 0 {
		return Proof{What: what, Detail: fmt.Sprintf("%.200s", said), Fix: inspect}
	}
	var told interface{ Stderr() string }
	if errors.As(err, &told) {
		if line := lastLine(told.Stderr()); line != "" {
			err = fmt.Errorf("%s: %.300s", filepath.Base(program), line)
		}
	}
	return failedProof(what, err)
}

// lastLine is the last line of what an engine's client said, which has the reason, without the
// advice that docker adds.
func lastLine(text string) string {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, "--help'") {
			return line
		}
	}
	return ""
}

// missing are the elements of a that b lacks.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// makeRootfs makes a root directory for a container that contains only metax-ctk.
// remove removes it.
func (h Host) makeRootfs() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", trialName); err != nil {
		return "", nil, fmt.Errorf("make a root for a container: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	program, err := os.ReadFile(h.Self)
	if err == nil {
		_, err = atomicfile.Write(filepath.Join(dir, programPath), program, atomicfile.Options{Perm: 0o755, NoSync: true})
	}
	// A container with another user than root must be able to read it.
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // G302: another user of the container must enter it
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("make a root for a container: %w", err)
	}
	return dir, remove, nil
}

// proveRegistered checks that an engine has our runtime under its name, and as the
// default one if requested.
func proveRegistered(s engine.Setup, path, byDefault string) []Proof {
	p := Proof{
		What: fmt.Sprintf("the runtime %q is registered", s.Name), OK: path != "" && path == s.Runtime,
		Detail: path,
	}
	if !p.OK && path != "" {
		p.Detail = fmt.Sprintf("as %s, not as %s", path, s.Runtime)
	}
	if !s.Default {
		return []Proof{p}
	}
	return []Proof{p, {What: "it is the default runtime", OK: byDefault == s.Name, Detail: byDefault}}
}
