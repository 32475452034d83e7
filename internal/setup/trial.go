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

// inside is where a container that verification starts has metax-ctk. It has nothing
// else: no image is needed, none is pulled, and nothing of anybody's is run.
const inside = "/metax-ctk"

// trialName begins the names of all that verification makes: directories, images,
// containers, namespaces.
const trialName = "metax-ctk-verify-"

// trialPatience bounds how long one container of verification may take, or what it
// takes to have one.
const trialPatience = time.Minute

// run runs a program that may take some time, and has an end.
func (h Host) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, trialPatience)
	defer cancel()
	return h.Run(ctx, program, args...)
}

// clean takes away what is left of a trial, also when nobody waits for it any more.
func (h Host) clean(ctx context.Context, program string, lines ...[]string) {
	for _, args := range lines {
		h.said(context.WithoutCancel(ctx), program, args...)
	}
}

// Witness returns the paths of the character devices of GPUs that this process sees,
// sorted: what "metax-ctk runtime witness" prints in a container.
func Witness() ([]string, error) {
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

// Difference says what a container that sees some device nodes lacks of those that it
// should see, or has beside them; "" if it is nothing.
func Difference(want, seen []string) string {
	if missing := without(want, seen); len(missing) > 0 {
		return "it lacks " + strings.Join(missing, ", ")
	}
	if more := without(seen, want); len(more) > 0 {
		return "it also has " + strings.Join(more, ", ")
	}
	return ""
}

// differs is the exit code of metax-ctk for a check that found something.
const differs = 4

// witness runs a container that has metax-ctk report whether it sees all nodes of all
// GPUs and no more. It tells so by its exit code, since an engine may lose what a
// container prints at its end. The clean lines take one away that did not end.
func (h Host) witness(ctx context.Context, what, program string, args []string, clean ...[]string) Proof {
	args = append(append(args, inside, "runtime", "witness", "--check"), h.Nodes...)
	out, err := h.run(ctx, program, args...)
	if err == nil {
		return Proof{What: what, OK: true, Detail: fmt.Sprintf("%d device nodes", len(h.Nodes))}
	}
	h.clean(ctx, program, clean...)
	var exit interface{ ExitCode() int }
	if said := bytes.TrimSpace(out); errors.As(err, &exit) && exit.ExitCode() == differs && len(said) > 0 {
		return Proof{What: what, Detail: fmt.Sprintf("%.200s", said)}
	}
	return Proof{What: what, Detail: err.Error()}
}

// without are the elements of a that b lacks.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// bare makes a root directory for a container that consists of metax-ctk alone, and
// returns what removes it.
func (h Host) bare() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", trialName); err != nil {
		return "", nil, fmt.Errorf("make a root for a container: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	program, err := os.ReadFile(h.Self)
	if err == nil {
		_, err = atomicfile.Write(filepath.Join(dir, inside), program, atomicfile.Options{Perm: 0o755, NoSync: true})
	}
	// A container of another user than root has to get there.
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("make a root for a container: %w", err)
	}
	return dir, remove, nil
}

// registered reports whether an engine has our runtime under its name, and as the default
// one where it is to be.
func registered(s engine.Setup, path, byDefault string) []Proof {
	p := Proof{What: fmt.Sprintf("the runtime %q is registered", s.Name), OK: path != "" && path == s.Runtime, Detail: path}
	if !p.OK && path != "" {
		p.Detail = fmt.Sprintf("as %s, not as %s", path, s.Runtime)
	}
	if !s.Default {
		return []Proof{p}
	}
	return []Proof{p, {What: "it is the default runtime", OK: byDefault == s.Name, Detail: byDefault}}
}
