// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Engine is one installation of an engine.
type Engine struct {
	// Name is one of Names.
	Name string
	// Program is the path of its daemon, or of podman; "" if it was not found.
	Program string
	// Version is the zero Version if it is unknown.
	Version engine.Version
	// Config is the path of its main configuration file, Files are all that the toolkit
	// may change.
	Config string
	Files  []string
	// Unknown is what is not known of the engine, and what is therefore not done.
	Unknown string
	// SkipReason is why the engine is skipped unless it is requested by name; "" if it
	// is not skipped.
	SkipReason string

	runtimesByName bool   // see OurRuntimes
	configPath     string // a file that shows that it is installed if its program was not found

	// State returns what the configuration says now.
	State func() (engine.State, error)
	// Configure and Remove return the needed changes; they write nothing.
	Configure, Remove func(engine.Setup) ([]engine.Change, error)
	// Activate returns the command that makes the engine read those changes; "" if it
	// reads them by itself.
	Activate func([]backup.Change) string
	// Verify checks the running engine.
	Verify func(context.Context, engine.Setup) []Proof
}

// OurRuntimes are the names, sorted, of metax-runtime in an engine that can have it
// under several names, each set up and removed separately: Docker, whose own file is
// edited. It is nil for other engines, where all settings of the toolkit are one unit.
func (e Engine) OurRuntimes(s engine.Setup) []string {
	if !e.runtimesByName {
		return nil
	}
	state, err := e.State()
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(state.Runtimes)) {
		if path := state.Runtimes[name]; dropin.IsShim(path) || (path != "" && path == s.Runtime) {
			names = append(names, name)
		}
	}
	return names
}

// useEditor sets the functions of an engine to those of its editor. Each call reads the
// files anew, and changes get their paths on this machine.
func useEditor[In any](h Host, e *Engine, input func() (In, error), read func(In) (engine.State, error), configure,
	remove func(In, engine.Setup) ([]engine.Change, error),
) {
	e.State = func() (engine.State, error) {
		in, err := input()
		if err != nil {
			return engine.State{}, err
		}
		return read(in)
	}
	by := func(edit func(In, engine.Setup) ([]engine.Change, error)) func(engine.Setup) ([]engine.Change, error) {
		return func(s engine.Setup) ([]engine.Change, error) {
			in, err := input()
			if err != nil {
				return nil, err
			}
			return h.onThisMachine(edit(in, s))
		}
	}
	e.Configure, e.Remove = by(configure), by(remove)
}

// Proof is the result of one check of a running engine.
type Proof struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Unknown is whether the check could not be made, which is not a failure.
	Unknown bool   `json:"unknown,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Fix is the command that fixes a failure.
	Fix string `json:"fix,omitempty"`
}

// String is the result in one line.
func (p Proof) String() string {
	word := "ok"
	switch {
	case p.Unknown:
		word = "not known"
	case !p.OK:
		word = "FAILED"
	}
	line := fmt.Sprintf("%-9s  %s", word, p.What)
	if p.Detail != "" {
		line += ": " + p.Detail
	}
	if p.Fix != "" {
		line += "; to fix it: " + p.Fix
	}
	return line
}

// withFixes gives every failure without a command of its own the one that sets the engine
// up, which most of them need.
func withFixes(e Engine, s engine.Setup, proofs []Proof) []Proof {
	setUp := "metax-ctk runtime configure --engine " + e.Name
	if s.Name != DefaultName {
		setUp += " --name " + s.Name
	}
	if s.Default {
		setUp += " --default"
	}
	for i, p := range proofs {
		if !p.OK && !p.Unknown && p.Fix == "" {
			proofs[i].Fix = setUp + " --restart"
		}
	}
	return proofs
}

// DefaultName is the name of our runtime in an engine, unless another one is given.
const DefaultName = "metax"

// ErrUnknown reports a name that no engine has.
var ErrUnknown = errors.New("unknown engine")

// Names are the engines that can be set up, including the containerd of each
// distribution of Kubernetes.
func Names() []string {
	names := []string{"docker"}
	for _, p := range containerd.Places() {
		names = append(names, p.Name)
	}
	return append(names, "crio", "podman")
}

// Options are the options of a command line for the one engine that it names.
type Options struct {
	// Config is another main configuration file; "" is the default.
	Config string
	// Version replaces the version that the engine reports.
	Version engine.Version
}

// Named returns the engine of a name, installed or not.
func (h Host) Named(ctx context.Context, name string, o Options) (Engine, error) {
	switch name {
	case "docker":
		return h.dockerEngine(ctx, o), nil
	case "crio":
		return h.crioEngine(ctx, o), nil
	case "podman":
		return h.podmanEngine(ctx, o), nil
	}
	for _, p := range containerd.Places() {
		if p.Name == name {
			return h.containerdEngine(ctx, p, o), nil
		}
	}
	return Engine{}, unknownEngine(name)
}

func unknownEngine(name string) error {
	return fmt.Errorf("%w %q: %s, or auto%s", ErrUnknown, name, strings.Join(Names(), ", "),
		wording.Meant(name, append(Names(), Auto)...))
}

// Found returns the installed engines, also those that are skipped.
func (h Host) Found(ctx context.Context) ([]Engine, error) {
	var found []Engine
	for _, name := range Names() {
		e, err := h.Named(ctx, name, Options{})
		if err != nil {
			return nil, err
		}
		if e.Program != "" || h.Root.Exists(e.configPath) {
			found = append(found, e)
		}
	}
	return found, nil
}
