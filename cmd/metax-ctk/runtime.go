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
				Usage: "register metax-runtime with an engine and switch its CDI on; or take that out again",
				Description: `Edits the engine's own configuration: what it does not concern stays byte for
byte, the original is kept in /var/lib/metax-container-toolkit/backups until the
toolkit is taken out, and a file that the engine could not read is never touched.
No engine is restarted unless --restart is given; the command that it takes is
printed.

--dry-run prints what would change, as a unified diff, also with --remove.
--remove takes out what was put in: a file that nobody else has edited since is
again what it was, byte for byte. --verify changes nothing: it asks the engine as
it runs, and starts containers that tell which GPUs they see. "auto" is every
engine that is here.

Examples:
   metax-ctk runtime configure --engine docker --dry-run
   metax-ctk runtime configure --engine auto --restart
   metax-ctk runtime configure --engine docker --verify
   metax-ctk runtime configure --engine docker --remove

Exit codes: 0 done, or nothing to do; 1 failed; 2 usage; 3 --verify, and no MetaX
GPU is here; 4 --verify found something that is not as it should be.`,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "engine", Value: "auto", Usage: "`ENGINE` to set up: " + strings.Join(setup.Names(), ", ") + ", or auto"},
					&cli.StringFlag{Name: "config", Usage: "the engine's main configuration `FILE`, below the root (default: the usual one)"},
					&cli.StringFlag{Name: "engine-version", Usage: "take the engine for `VERSION` (default: what it says)"},
					&cli.StringFlag{Name: "name", Value: "metax", Usage: "`NAME` of the runtime in the engine"},
					&cli.StringFlag{Name: "runtime-path", Usage: "`PATH` at which the engine finds metax-runtime (default: beside metax-ctk)"},
					hookFlag(),
					&cli.BoolFlag{Name: "default", Usage: "make it the runtime of containers that name none"},
					&cli.BoolFlag{Name: "cdi", Value: true, Usage: "switch the engine's CDI on where it is off"},
					&cli.StringSliceFlag{Name: "spec-dir", Usage: "have the engine look for CDI specs in `DIR`; repeatable (default: where it looks anyway)"},
					&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print the differences"},
					&cli.BoolFlag{Name: "remove", Usage: "take out what was put in"},
					&cli.BoolFlag{Name: "rollback", Usage: "gone: use --remove", Hidden: true},
					&cli.BoolFlag{Name: "verify", Usage: "change nothing, look whether the running engine is set up"},
					&cli.BoolFlag{Name: "restart", Usage: "make the engine read its configuration at once"},
					&cli.StringFlag{Name: "backup-dir", Hidden: true},
				},
				Action: t.runtimeConfigure,
			},
			{
				Name:   "witness",
				Usage:  "print the device nodes of GPUs that this process sees",
				Hidden: true, // for --verify, in a container
				Description: `With --check it prints nothing unless it sees others than the NODEs, and then
says which; the exit code is 4.

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
