// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) cdiCommand() *cli.Command {
	return &cli.Command{
		Name:  "cdi",
		Usage: "the CDI specs, by which engines inject GPUs",
		Subcommands: []*cli.Command{
			{
				Name:  "generate",
				Usage: "write the CDI specs of the node",
				Flags: append(specFlags("all of them, with --output gpu"),
					&cli.StringFlag{
						Name:  "output",
						Usage: "write to `FILE`, making its directory, or - for standard output (default: /var/run/cdi/VENDOR-CLASS.json below the root)",
					},
					&cli.StringFlag{Name: "format", Usage: "json or yaml (default: by the file's extension, else json)"},
					&cli.BoolFlag{Name: "force", Usage: "write although some GPUs have no device nodes"},
					&cli.DurationFlag{
						Name:  "settle",
						Usage: "wait up to `TIME` (30s) for a node that is still coming up, or changing",
					}),
				Action: t.cdiGenerate,
			},
			{
				Name:  "list",
				Usage: "list the CDI devices that engines find",
				Flags: []cli.Flag{
					specDirFlag(), vendorFlag(), classFlag("gpu"),
					&cli.BoolFlag{Name: "all-kinds", Usage: "also the devices of other kinds"},
				},
				Action: t.cdiList,
			},
			{
				Name:      "check",
				Usage:     "check the spec: its form, the files that it names, and drift from the node",
				ArgsUsage: "[FILE]",
				Flags:     append(specFlags("all of them"), specDirFlag()), Action: t.cdiCheck,
			},
			{
				Name:      "diff",
				Usage:     "what cdi generate would change",
				ArgsUsage: "[FILE]",
				Flags:     specFlags("gpu"), Action: t.cdiDiff,
			},
		},
	}
}

func vendorFlag() cli.Flag {
	return &cli.StringFlag{Name: "vendor", Value: cdi.DefaultVendor, Usage: "the `VENDOR` of the CDI kind"}
}

func classFlag(byDefault string) cli.Flag {
	return &cli.StringFlag{
		Name: "class", Value: cdi.DefaultClass, DefaultText: byDefault,
		Usage: "the `CLASS` of the CDI kind: gpu, sgpu (slices), maca (the host's MXMACA)",
		Action: func(c *cli.Context, class string) error {
			classes := []string{cdi.DefaultClass, cdi.SliceClass, cdi.SoftwareClass}
			if c.String("vendor") == cdi.DefaultVendor && !slices.Contains(classes, class) {
				return usageErrorf("--class %q: want %s%s", class, strings.Join(classes, ", "), wording.Meant(class, classes...))
			}
			return nil
		},
	}
}

// specFlags shape a spec; generate, check and diff have them in common.
func specFlags(class string) []cli.Flag {
	return []cli.Flag{
		vendorFlag(), classFlag(class),
		&cli.StringSliceFlag{
			Name:  "device-name-strategy",
			Usage: "name devices by `NAMES`: index, uuid, bdf, all; repeatable or with commas (default: all of them)",
		},
		&cli.StringFlag{
			Name:  "engine-root",
			Usage: "`DIR` below which the engine finds the node's files (default: the root)",
		},
		hookFlag(),
		&cli.BoolFlag{
			Name:  "no-groups",
			Usage: "give processes no groups; those need CDI 0.7 (Podman 4 reads less)",
		},
	}
}

func specDirFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name:  "spec-dir",
		Usage: "look in `DIR`, as the engine does, below the root; repeatable, the last one wins (default: /etc/cdi, /var/run/cdi)",
	}
}

// specMaker returns what makes the node's specs, and the options that shape them.
func (t toolkit) specMaker(c *cli.Context) (refresh.Maker, cdi.Options, error) {
	names, err := cdi.ParseNames(c.StringSlice("device-name-strategy")...)
	if err != nil {
		return refresh.Maker{}, cdi.Options{}, usageError(err)
	}
	at := t.nodeSelector(c)
	host, err := hostfs.New(at.Root)
	if err != nil {
		return refresh.Maker{}, cdi.Options{}, err
	}
	loadNode := sync.OnceValues(func() (gpu.Node, error) {
		n, err := t.loadFromSelector(c, at) // without surroundings, which change while a host comes up
		if err == nil && !at.IsHost() && !n.HasDevices() {
			err = usageErrorf(
				"node %q has no device nodes, which a CDI spec needs; a snapshot or Node JSON has them (docs/node.md)", at.Node)
		}
		return n, err
	})
	return refresh.Maker{Selector: at, Host: host, Node: loadNode, Hook: c.String("hook"), Warn: t.warn}, cdi.Options{
		Vendor: c.String("vendor"), Class: c.String("class"), Names: names,
		NoGroups: c.Bool("no-groups"), EngineRoot: cmp.Or(c.String("engine-root"), host.Dir()),
	}, nil
}

func hookFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "hook", EnvVars: []string{"METAX_CTK_HOOK"},
		Usage: "`PATH` at which the engine finds metax-hook (default: beside metax-ctk)",
	}
}

// specHost returns the host whose specs a command reads: this one, that below --root, or
// the one that a snapshot holds, until done is called. Another node has no files.
func (t toolkit) specHost(c *cli.Context) (at node.Selector, done func() error, err error) {
	if at, done, err = t.nodeSelector(c).Unpack(); err != nil {
		return at, nil, err
	}
	named, hint := c.Args().Present(), "metax-ctk cdi "+c.Command.Name+" FILE"
	if c.Command.Name == "list" {
		named, hint = c.IsSet("spec-dir"), "metax-ctk cdi list --spec-dir DIR"
	}
	if err = needsHost("cdi "+c.Command.Name, at); err != nil && !named {
		return at, nil, usageErrorf("%w; for a spec on this machine: %s", err, hint)
	}
	return at, done, nil
}

func (t toolkit) cdiList(c *cli.Context) (err error) {
	at, done, err := t.specHost(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	host, err := hostfs.New(at.Root)
	if err != nil {
		return err
	}
	kind := cdi.Kind(c.String("vendor"), c.String("class"))
	of := "of kind " + kind + " "
	if c.Bool("all-kinds") {
		kind, of = "", ""
	}
	listing := cdi.List(host, specDirs(c), kind)
	for _, p := range listing.Problems() {
		t.warn(p.String())
	}
	var names []string
	for _, d := range listing.Devices {
		names = append(names, d.Name)
	}
	if len(names) == 0 && len(listing.Problems()) == 0 {
		t.warn("no CDI device " + of + "in " + strings.Join(specDirs(c), ", ") +
			"; to write the specs: metax-ctk cdi generate")
	}
	return t.printResult(c, listing, joinLines(names))
}

func specDirs(c *cli.Context) []string {
	if dirs := c.StringSlice("spec-dir"); len(dirs) > 0 {
		return dirs
	}
	return cdi.Dirs()
}

func (t toolkit) cdiGenerate(c *cli.Context) error {
	maker, opt, err := t.specMaker(c)
	if err != nil {
		return err
	}
	opt.Partial = c.Bool("force")
	format, err := specFormat(c)
	if err != nil {
		return err
	}
	at, settle := maker.Selector, c.Duration("settle")
	switch {
	case !at.IsHost() && !c.IsSet("output"):
		return usageErrorf(
			"the devices of node %q are not on this host; say where its spec goes: --output FILE, or --output -", at.Node)
	case !at.IsHost() && c.IsSet("settle"):
		return needsHost("cdi generate --settle", at)
	case settle < 0:
		return usageErrorf("--settle %v: want a time such as 30s", settle)
	}
	done, err := refresh.Job{
		Maker: maker, Options: opt, Format: format, Output: c.String("output"), Settle: settle,
		All: !c.IsSet("class") && !c.IsSet("output"),
	}.Run(c.Context)
	switch {
	case err != nil:
		return err
	case done.Text != nil:
		t.endWarnings()
		_, err = t.Out.Write(done.Text)
		return err
	}
	return t.printResult(c, done, joinLines(append([]refresh.Written{done.Written}, done.Others...)))
}

// specFormat is the notation that --format states, or else the output's name.
func specFormat(c *cli.Context) (cdi.Format, error) {
	if word := c.String("format"); word != "" {
		format, err := cdi.ParseFormat(word)
		if err != nil {
			return "", usageError(err)
		}
		return format, nil
	}
	if format, ok := cdi.FormatOf(c.String("output")); ok {
		return format, nil
	}
	return cdi.JSON, nil
}

func (t toolkit) cdiCheck(c *cli.Context) (err error) {
	compare, done, err := t.comparison(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	found, err := compare.Check()
	if err != nil {
		return err
	}
	if found.OK {
		return t.printResult(c, found, strings.Join(found.Files, ", ")+": up to date\n")
	}
	return cmp.Or[error](t.printResult(c, found, joinLines(found.Problems)+joinLines(found.Drift)), errProblems)
}

func (t toolkit) cdiDiff(c *cli.Context) (err error) {
	compare, done, err := t.comparison(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	drift, err := compare.Diff()
	if err != nil {
		return err
	}
	if len(drift) == 0 {
		return t.printResult(c, drift, "")
	}
	return cmp.Or[error](t.printResult(c, drift, joinLines(drift)), errProblems)
}

func (t toolkit) comparison(c *cli.Context) (refresh.Comparison, func() error, error) {
	at, done, err := t.specHost(c)
	if err != nil {
		return refresh.Comparison{}, nil, err
	}
	maker, opt, err := t.specMaker(c)
	trimmed := at.IsHost() && !maker.Selector.IsHost() // a snapshot
	if err == nil && trimmed {
		maker.Selector, opt.EngineRoot = at, cmp.Or(c.String("engine-root"), "/")
		maker.Host, err = hostfs.New(at.Root)
		maker.Warn = func(...string) {} // a snapshot has no programs, so also no metax-hook
	}
	if err != nil {
		return refresh.Comparison{}, nil, errors.Join(err, done())
	}
	return refresh.Comparison{
		Maker: maker, Options: opt, ByClass: c.IsSet("class"), ByNames: c.IsSet("device-name-strategy"),
		Dirs: specDirs(c), Files: c.Args().Slice(), Trimmed: trimmed,
	}, done, nil
}
