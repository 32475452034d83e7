// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Auto is the engine that means every one on this host.
const Auto = "auto"

// Order is what to do with which engines. Without Remove and Verify it is setting up.
type Order struct {
	// Engine is one of Names, or Auto; Options are about that one.
	Engine  string
	Options Options
	// Setup is what to set up. Where its Runtime or Hook is empty, it is the program
	// beside metax-ctk.
	Setup engine.Setup
	// Remove takes out the runtime of Setup.Name if OnlyName, otherwise that of every name.
	Remove, OnlyName bool
	Verify           bool
	// DryRun changes nothing; Restart makes the engine read its changes.
	DryRun, Restart bool
	Store           backup.Store
	// Node returns this host's node, for Verify.
	Node func() (gpu.Node, error)
}

// Outcome is what was done with one engine.
type Outcome struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	Config  string `json:"config"`
	// Aside is why an engine was skipped.
	Aside   string    `json:"aside,omitempty"`
	Changes []Changed `json:"changes"`
	// Notes are what the changes do not do.
	Notes []string `json:"notes,omitempty"`
	// Activate is the command that makes the engine read the changes.
	Activate  string `json:"activate,omitempty"`
	Activated bool   `json:"activated,omitempty"`
	// Stops are the containers that this command stops.
	Stops  []string `json:"stops,omitempty"`
	Proofs []Proof  `json:"proofs,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// Failed reports whether the running engine is not set up as it should be.
func (o Outcome) Failed() bool {
	return slices.ContainsFunc(o.Proofs, func(p Proof) bool { return !p.OK && !p.Unknown })
}

// Do carries out an order, engine by engine. It returns outcomes also beside the errors of
// single engines.
func (h Host) Do(ctx context.Context, o Order) ([]Outcome, error) {
	if o.Engine != Auto && !slices.Contains(Names(), o.Engine) {
		return nil, unknownEngine(o.Engine)
	}
	o, err := h.withPrograms(o)
	if err != nil {
		return nil, err
	}
	engines, err := h.engines(ctx, o)
	if err != nil {
		return nil, err
	}
	var all []Outcome
	var failed []error
	for _, e := range engines {
		done := Outcome{Engine: e.Name, Config: h.Root.Join(e.Config), Changes: []Changed{}}
		switch {
		case e.SkipReason == "" || o.Remove: // what was set up by name is removed with the rest
		case o.Engine == Auto:
			done.Aside = e.SkipReason
		default:
			done.Notes = append(done.Notes, e.SkipReason)
		}
		if e.Version.Known() {
			done.Version = e.Version.String()
		}
		if e.Unknown != "" && o.Setup.CDI && !o.Remove && !o.Verify {
			done.Notes = append(done.Notes, e.Unknown)
		}
		if done.Aside == "" {
			if err := h.do(ctx, e, o, &done); err != nil {
				done.Error = err.Error()
				if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
					err = fmt.Errorf("%w; run it as root", err)
				}
				failed = append(failed, fmt.Errorf("%s: %w", e.Name, err))
			}
		}
		all = append(all, done)
	}
	return all, errors.Join(failed...)
}

func (h Host) do(ctx context.Context, e Engine, o Order, done *Outcome) error {
	switch {
	case o.Remove:
		names := e.OurRuntimes(o.Setup)
		if len(names) == 0 || o.OnlyName {
			names = []string{o.Setup.Name}
		}
		for _, name := range names {
			o.Setup.Name = name
			if err := h.carryOut(ctx, e, o, func() ([]backup.Change, error) { return removalChanges(e, o) }, done); err != nil {
				return err
			}
		}
		return nil
	case o.Verify:
		return h.verifyEngine(ctx, e, o, done)
	}
	return h.carryOut(ctx, e, o, func() ([]backup.Change, error) { return configChanges(e, o) }, done)
}

func (h Host) verifyEngine(ctx context.Context, e Engine, o Order, done *Outcome) error {
	if !h.Root.Real() {
		return errors.New("no engine runs below another root; leave out --verify or --root")
	}
	node, err := o.Node()
	if err != nil {
		return err
	}
	h.Nodes = deviceNodes(node)
	again, err := h.Named(ctx, e.Name, Options{Config: e.Config, Version: e.Version})
	if err != nil {
		return err
	}
	done.Proofs = withFixes(again, o.Setup, again.Verify(ctx, o.Setup))
	return nil
}

// deviceNodes are those that a container with all GPUs has, sorted.
func deviceNodes(node gpu.Node) []string {
	var all []string
	for _, g := range node.GPUs {
		all = append(all, g.Nodes...)
	}
	if node.Shared != nil {
		all = append(all, node.Shared.Nodes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// withPrograms is the order with the paths of our programs.
func (h Host) withPrograms(o Order) (_ Order, err error) {
	if o.Setup.Runtime, err = h.ownProgram(o, o.Setup.Runtime, "metax-runtime", "runtime-path"); err != nil {
		return o, err
	}
	o.Setup.Hook, err = h.ownProgram(o, o.Setup.Hook, "metax-hook", "hook")
	return o, err
}

// ownProgram is where the engine finds one of our programs: the path that is given,
// beside this program, or below another root where packages put it. An engine that
// starts containers by a program that is not there starts none.
func (h Host) ownProgram(o Order, given, name, option string) (string, error) {
	p := given
	if p == "" {
		p = "/usr/bin/" + name
		if h.Root.Real() {
			p = filepath.Join(filepath.Dir(h.Self), name)
		}
	}
	if o.Remove {
		return p, nil
	}
	if info, err := h.Root.Stat(p); err != nil || !info.Mode.IsRegular() || info.Mode&0o111 == 0 {
		return "",
			fmt.Errorf("no program %s that an engine could run; install it, or name it: --%s PATH", h.Root.Join(p), option)
	}
	return p, nil
}

// engines are those that the order is about.
func (h Host) engines(ctx context.Context, o Order) ([]Engine, error) {
	if o.Engine != Auto {
		if file := o.Options.Config; file != "" && h.Root.Real() && os.Geteuid() == 0 {
			if err := hostfs.Reach(file); err != nil {
				return nil, fmt.Errorf(
					"--config %s: %w; another user could redirect root to a different file. Use a path that only root can change, or run as that user", file, err)
			}
		}
		e, err := h.Named(ctx, o.Engine, o.Options)
		return []Engine{e}, err
	}
	found, err := h.Found(ctx)
	if err == nil && len(found) == 0 {
		err = errors.New(
			"no container engine was found on this host: install one, or name it: metax-ctk runtime configure --engine docker")
	}
	return found, err
}
