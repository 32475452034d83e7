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
)

// Engine is one installation of an engine.
type Engine struct {
	// Name is one of Names.
	Name string
	// Program is the path of its daemon, or of podman; "" if it was not found.
	Program string
	// Version is the zero Version where nobody could be asked.
	Version engine.Version
	// Config is the path of its main configuration file, Files are all that the
	// toolkit may change.
	Config string
	Files  []string
	// Doubt says what is not known of it, and what is therefore left undone.
	Doubt string
	// Aside says why it is skipped unless it is requested by name; "" if it is not.
	Aside string

	byName bool   // see Ours
	mark   string // a file by which it is known to be here, though its program was not found

	// State is what the configuration says now.
	State func() (engine.State, error)
	// Configure and Remove are what has to be changed; nothing is written.
	Configure, Remove func(engine.Setup) ([]engine.Change, error)
	// Activate is the command that makes the engine read those changes; "" if it
	// reads them by itself.
	Activate func([]backup.Change) string
	// Verify looks at the engine as it runs.
	Verify func(context.Context, engine.Setup) []Proof
}

// Ours are the names, sorted, under which our runtime is set up one beside the other
// and taken out one by one: in an engine whose own file has them. Elsewhere all of
// ours is one.
func (e Engine) Ours(s engine.Setup) []string {
	if !e.byName {
		return nil
	}
	state, err := e.State()
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(state.Runtimes)) {
		if path := state.Runtimes[name]; dropin.IsShim(path) || path != "" && path == s.Runtime {
			names = append(names, name)
		}
	}
	return names
}

// edited gives an engine what its editor does with the files as they are whenever it
// is asked, each in its place on this machine.
func edited[In any](h Host, e *Engine, input func() (In, error), read func(In) (engine.State, error), configure, remove func(In, engine.Setup) ([]engine.Change, error)) {
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
			return h.placed(edit(in, s))
		}
	}
	e.Configure, e.Remove = by(configure), by(remove)
}

// Proof is one thing that was looked at on a running engine.
type Proof struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Unknown tells that it could not be looked at, which is no failure.
	Unknown bool   `json:"unknown,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// String is one line about it.
func (p Proof) String() string {
	word := "ok"
	switch {
	case p.Unknown:
		word = "not known"
	case !p.OK:
		word = "FAILED"
	}
	if p.Detail != "" {
		return fmt.Sprintf("%-9s  %s: %s", word, p.What, p.Detail)
	}
	return fmt.Sprintf("%-9s  %s", word, p.What)
}

// ErrUnknown reports a name that no engine has.
var ErrUnknown = errors.New("unknown engine")

// Names are the engines that can be set up: containerd also where a distribution of
// Kubernetes brings its own.
func Names() []string {
	names := []string{"docker"}
	for _, p := range containerd.Places() {
		names = append(names, p.Name)
	}
	return append(names, "crio", "podman")
}

// Options are what a command line says about the one engine that it names.
type Options struct {
	// Config is another main configuration file; "" is the usual one.
	Config string
	// Version stands in for what the engine says of itself.
	Version engine.Version
}

// Named returns the engine of a name, whether it is there or not.
func (h Host) Named(ctx context.Context, name string, o Options) (Engine, error) {
	switch name {
	case "docker":
		return h.docker(ctx, o), nil
	case "crio":
		return h.crio(ctx, o), nil
	case "podman":
		return h.podman(ctx, o), nil
	}
	for _, p := range containerd.Places() {
		if p.Name == name {
			return h.containerd(ctx, p, o), nil
		}
	}
	return Engine{}, fmt.Errorf("%w %q: %s, or auto", ErrUnknown, name, strings.Join(Names(), ", "))
}

// Found returns the engines that are there, also those that are skipped.
func (h Host) Found(ctx context.Context) ([]Engine, error) {
	var found []Engine
	for _, name := range Names() {
		e, err := h.Named(ctx, name, Options{})
		if err != nil {
			return nil, err
		}
		if e.Program != "" || h.Root.Exists(e.mark) {
			found = append(found, e)
		}
	}
	return found, nil
}
