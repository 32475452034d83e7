// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

func (t toolkit) runtimeCommand() *cli.Command {
	return &cli.Command{
		Name:  "runtime",
		Usage: "set container engines up for MetaX GPUs",
		Subcommands: []*cli.Command{
			{
				Name:  "configure",
				Usage: "register metax-runtime and switch CDI on in an engine, or undo it",
				Flags: []cli.Flag{
					&cli.StringFlag{
						Name: "engine", Value: setup.Auto, DefaultText: "a dry run of auto",
						Usage: "`ENGINE` to set up: " + strings.Join(setup.Names(), ", ") + ", or auto",
					},
					&cli.StringFlag{
						Name:  "config",
						Usage: "the engine's main configuration `FILE`, below the root (default: the usual one)",
					},
					&cli.StringFlag{Name: "engine-version", Usage: "treat the engine as `VERSION` (default: the one that it reports)"},
					&cli.StringFlag{Name: "name", Value: setup.DefaultName, Usage: "`NAME` of the runtime in the engine"},
					&cli.StringFlag{
						Name:  "runtime-path",
						Usage: "`PATH` at which the engine finds metax-runtime (default: beside metax-ctk)",
					},
					hookFlag(),
					&cli.BoolFlag{Name: "default", Usage: "make it the runtime of containers that name none"},
					&cli.BoolFlag{Name: "cdi", Value: true, Usage: "switch the engine's CDI on where it is off"},
					&cli.StringSliceFlag{
						Name:  "spec-dir",
						Usage: "have the engine look for CDI specs in `DIR`; repeatable (default: where it already looks)",
					},
					&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print the differences"},
					&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "without --engine: change all engines"},
					&cli.BoolFlag{Name: "remove", Usage: "undo the changes"},
					&cli.BoolFlag{Name: "verify", Usage: "change nothing, check that the running engine is set up"},
					&cli.BoolFlag{Name: "restart", Usage: "make the engine read its configuration at once"},
					&cli.StringFlag{Name: "backup-dir", Hidden: true},
				},
				Action: t.runtimeConfigure,
			},
			{
				Name:      "witness",
				Usage:     "print the device nodes of GPUs that this process sees",
				Hidden:    true, // for --verify, in a container
				ArgsUsage: "[NODE...]",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "check", Usage: "compare with the device nodes given as arguments"},
					&cli.BoolFlag{Name: "in-use", Hidden: true}, // for the packages, before they are removed
				},
				Action: t.runtimeWitness,
			},
		},
	}
}

// runtimeInUse prints what would break without metax-runtime.
func (t toolkit) runtimeInUse(c *cli.Context) error {
	host, err := t.setupHost(c)
	if err != nil {
		return err
	}
	lines, err := host.InUse(c.Context, assign.Proc())
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(t.Out, terminal.Line(line))
	}
	if lines != nil {
		return errProblems
	}
	return nil
}

func (t toolkit) runtimeWitness(c *cli.Context) error {
	if c.Bool("in-use") {
		return t.runtimeInUse(c)
	}
	if c.NArg() > 0 && !c.Bool("check") {
		return usageErrorf("witness takes no argument without --check")
	}
	seen, err := setup.DeviceNodes()
	if err != nil {
		return err
	}
	if c.Bool("check") {
		if differs := setup.Difference(c.Args().Slice(), seen); differs != "" {
			fmt.Fprintln(t.Out, terminal.Line(differs))
			return errProblems
		}
		return nil
	}
	return t.printResult(c, seen, joinLines(seen))
}

func (t toolkit) runtimeConfigure(c *cli.Context) error {
	if err := checkConfigure(c); err != nil {
		return err
	}
	host, err := t.setupHost(c)
	if err != nil {
		return err
	}
	store, err := setupStore(c, &host)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run") || (!c.IsSet("engine") && !c.Bool("yes") && !c.Bool("verify"))
	all, err := host.Do(c.Context, setup.Order{
		Engine:  c.String("engine"),
		Options: setup.Options{Config: c.String("config"), Version: engine.ParseVersion(c.String("engine-version"))},
		Setup: engine.Setup{
			Name: c.String("name"), Default: c.Bool("default"), CDI: c.Bool("cdi"), SpecDirs: c.StringSlice("spec-dir"),
			Runtime: c.String("runtime-path"), Hook: c.String("hook"),
		},
		Remove: c.Bool("remove"), OnlyName: c.IsSet("name"), Verify: c.Bool("verify"),
		DryRun: dry, Restart: c.Bool("restart"), Store: store,
		Node: func() (gpu.Node, error) { return t.loadNode(c) },
	})
	switch {
	case errors.Is(err, setup.ErrUnknown):
		return usageError(err)
	case all == nil:
		return err
	}
	err = cmp.Or(t.printResult(c, all, outcomeText(all, dry)), err)
	if dry && !c.Bool("dry-run") {
		fmt.Fprintln(t.Err, "metax-ctk: nothing was changed; to do it, add --yes, or --engine NAME for one engine")
	}
	if err == nil && slices.ContainsFunc(all, setup.Outcome.Failed) {
		return errProblems
	}
	return err
}

// setupHost is the host whose engines are set up.
func (t toolkit) setupHost(c *cli.Context) (setup.Host, error) {
	at := t.nodeSelector(c)
	if !at.IsHost() {
		return setup.Host{}, usageErrorf("node %q has no engines that could be set up; leave out --node", at.Node)
	}
	root, err := hostfs.New(at.Root)
	if err != nil {
		return setup.Host{}, err
	}
	host := setup.Host{Root: root, Getenv: os.Getenv}
	if root.Real() {
		host.Run = t.Run
		if host.Self, err = os.Executable(); err != nil {
			return host, fmt.Errorf("find metax-ctk: %w", err)
		}
	}
	return host, nil
}

// setupStore is the store of the files as they were before the first change, of which it tells
// the host.
func setupStore(c *cli.Context, host *setup.Host) (backup.Store, error) {
	dir := c.String("backup-dir")
	if dir == "" {
		var err error
		if dir, err = host.At(backup.Dir); err != nil {
			return backup.Store{}, err
		}
	}
	store := backup.New(dir)
	host.Original = store.Original
	return store, nil
}

// checkConfigure returns what is wrong with the options of runtime configure.
func checkConfigure(c *cli.Context) error {
	switch {
	case c.Bool("yes") && c.Bool("dry-run"):
		return usageErrorf("--yes and --dry-run exclude one another")
	case c.Bool("remove") && c.Bool("verify"):
		return usageErrorf("--remove and --verify exclude one another")
	case c.Bool("verify") && (c.Bool("dry-run") || c.Bool("restart")):
		return usageErrorf("--verify changes nothing: leave out --dry-run and --restart")
	case c.String("engine") == setup.Auto && (c.IsSet("config") || c.IsSet("engine-version")):
		return usageErrorf("--config and --engine-version need one engine: name it with --engine")
	case c.IsSet("engine-version") && !engine.ParseVersion(c.String("engine-version")).Known():
		return usageErrorf("--engine-version %q is not a version such as 28.5.2", c.String("engine-version"))
	}
	if name := c.String("name"); !engine.IsRuntimeName(name) {
		return usageErrorf("--name %q: a name is made of letters, digits, dots, dashes and underscores", name)
	}
	for _, option := range []string{"config", "runtime-path", "hook", "spec-dir"} {
		paths := c.StringSlice(option)
		if option != "spec-dir" {
			paths = []string{c.String(option)}
		}
		for _, p := range paths {
			if c.IsSet(option) && (!path.IsAbs(p) || path.Clean(p) != p || strings.ContainsFunc(p, unicode.IsControl)) {
				return usageErrorf(`--%s %q is not a clean absolute path (no ".", "..", "//" or "/" at the end)`, option, p)
			}
		}
	}
	return nil
}

// outcomeText is what was done, a paragraph for each engine.
func outcomeText(all []setup.Outcome, dry bool) string {
	w := new(strings.Builder)
	for _, e := range all {
		head := strings.TrimSpace(e.Engine + " " + e.Version)
		switch {
		case e.Aside != "":
			fmt.Fprintf(w, "%s: skipped: %s (force: --engine %s)\n", head, e.Aside, e.Engine)
		case e.Error != "", len(e.Proofs) > 0: // said below
		case len(e.Changes) == 0:
			fmt.Fprintf(w, "%s: nothing to do (%s)\n", head, e.Config)
		}
		for _, c := range e.Changes {
			if dry {
				fmt.Fprint(w, c.Diff)
			} else {
				fmt.Fprintf(w, "%s: %s %s\n", head, c.Action, c.Path)
			}
		}
		for _, note := range e.Notes {
			fmt.Fprintf(w, "%s: note: %s\n", head, note)
		}
		for _, p := range e.Proofs {
			fmt.Fprintf(w, "%s: %s\n", head, terminal.Line(p.String()))
		}
		switch {
		case e.Activated:
			fmt.Fprintf(w, "%s: done: %s\n", head, e.Activate)
		case e.Activate != "" && !dry:
			fmt.Fprintf(w, "%s: to apply the change: %s\n", head, e.Activate)
			if len(e.Stops) > 0 {
				fmt.Fprintf(w, "%s: that %s\n", head, terminal.Line(whatStops(e.Stops)))
			}
		}
	}
	return w.String()
}
