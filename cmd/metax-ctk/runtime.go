package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

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
				Description: `Edits the engine's own configuration: everything else in it stays byte for byte,
the original is kept in /var/lib/metax-container-toolkit/backups until the toolkit
is removed from it, and a file that the engine cannot read is never changed.
No engine is restarted without --restart; the command for it is printed.

--dry-run prints what would change, as a unified diff, also with --remove.
--remove undoes the changes: a file without other edits since then becomes what it
was, byte for byte. --verify changes nothing: it asks the running engine, and
starts containers that print the GPUs that they see. "auto" is every engine of
this host.

Examples:
   metax-ctk runtime configure --engine docker --dry-run
   metax-ctk runtime configure --engine auto --restart
   metax-ctk runtime configure --engine docker --verify
   metax-ctk runtime configure --engine docker --remove

Exit codes: 0 done, or nothing to do; 1 failed; 2 usage; 3 --verify without a
MetaX GPU; 4 --verify found a problem.`,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "engine", Value: "auto", Usage: "`ENGINE` to set up: " + strings.Join(setup.Names(), ", ") + ", or auto"},
					&cli.StringFlag{Name: "config", Usage: "the engine's main configuration `FILE`, below the root (default: the usual one)"},
					&cli.StringFlag{Name: "engine-version", Usage: "treat the engine as `VERSION` (default: the one that it reports)"},
					&cli.StringFlag{Name: "name", Value: "metax", Usage: "`NAME` of the runtime in the engine"},
					&cli.StringFlag{Name: "runtime-path", Usage: "`PATH` at which the engine finds metax-runtime (default: beside metax-ctk)"},
					hookFlag(),
					&cli.BoolFlag{Name: "default", Usage: "make it the runtime of containers that name none"},
					&cli.BoolFlag{Name: "cdi", Value: true, Usage: "switch the engine's CDI on where it is off"},
					&cli.StringSliceFlag{Name: "spec-dir", Usage: "have the engine look for CDI specs in `DIR`; repeatable (default: where it already looks)"},
					&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print the differences"},
					&cli.BoolFlag{Name: "remove", Usage: "undo the changes"},
					&cli.BoolFlag{Name: "rollback", Usage: "no longer exists: use --remove", Hidden: true},
					&cli.BoolFlag{Name: "verify", Usage: "change nothing, check that the running engine is set up"},
					&cli.BoolFlag{Name: "restart", Usage: "make the engine read its configuration at once"},
					&cli.StringFlag{Name: "backup-dir", Hidden: true},
				},
				Action: t.runtimeConfigure,
			},
			{
				Name:   "witness",
				Usage:  "print the device nodes of GPUs that this process sees",
				Hidden: true, // for --verify, in a container
				Description: `With --check it prints nothing unless it sees other nodes than the NODEs; then it
prints which, and the exit code is 4.

Example:
   metax-ctk runtime witness -o json`,
				ArgsUsage: "[NODE...]",
				Flags:     []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "compare them with the NODEs"}},
				Action:    t.runtimeWitness,
			},
		},
	}
}

func (t toolkit) runtimeWitness(c *cli.Context) error {
	if c.NArg() > 0 && !c.Bool("check") {
		return usagef("witness takes no argument without --check")
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
	return t.print(c, seen, lines(seen))
}
