// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// program is how the command is called.
const program = "kubectl metax"

// The exit codes, those of metax-ctk.
const (
	exitFailed = 1
	exitUsage  = 2
	exitNoGPU  = 3
	// exitInterrupted is what a shell gives for a program that SIGINT ended.
	exitInterrupted = 130
)

// errUsage reports a wrong command line, and errNoGPU a cluster or a node without GPUs.
var (
	errUsage = errors.New("")
	errNoGPU = errors.New("")
)

func usageErrorf(format string, a ...any) error {
	return fmt.Errorf("%w"+format, append([]any{errUsage}, a...)...)
}

// runCommandLine executes one command line and returns the exit code.
func runCommandLine(ctx context.Context, args []string, out, errs io.Writer) int {
	app := newApp(out, errs)
	args, err := reorderOptions(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	fmt.Fprintf(errs, "%s: %s\n", program, terminal.Message(err.Error()))
	switch {
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNoGPU):
		return exitNoGPU
	}
	return exitFailed
}

func newApp(out, errs io.Writer) *cli.App {
	app := &cli.App{
		Name: "kubectl-metax", HelpName: program, Usage: "see the MetaX GPUs of a cluster",
		Description: description("kubectl-metax"),
		Writer:      out, ErrWriter: errs, HideHelpCommand: true, HideVersion: true,
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action:         group,
		Commands: []*cli.Command{
			{
				Name: "top", Usage: "how many GPUs are free and in use: of the cluster, of nodes, by pods", Flags: watchFlags(),
				Action: withWatch(topCluster),
				Subcommands: []*cli.Command{
					{Name: "cluster", Usage: "the GPUs of all nodes together", Flags: watchFlags(), Action: withWatch(topCluster)},
					{
						Name: "node", Aliases: []string{"nodes"}, ArgsUsage: "[NODE]", Usage: "the nodes, or the GPUs of one",
						Flags: watchFlags(), Action: withWatch(topNode),
					},
					{
						Name: "pod", Aliases: []string{"pods"}, ArgsUsage: "[POD]", Usage: "the pods that request GPUs",
						Flags: append(watchFlags(), allNamespaces()), Action: withWatch(topPod),
					},
				},
			},
			{
				Name: "topology", ArgsUsage: "NODE", Usage: "how the GPUs of a node are linked", Action: printTopology,
				Flags: []cli.Flag{&cli.StringFlag{Name: "format", Value: "matrix", Usage: "matrix, tree or svg"}},
			},
			{
				Name: "why", ArgsUsage: "POD", Usage: "how each node suits a pod, and what would make a pending pod fit",
				Action: whyPod,
			},
			{
				Name: "bugreport", ArgsUsage: "[FILE]",
				Usage: "write what is known of the GPUs, without names, for others to look at", Action: writeReport,
			},
			{Name: "version", Usage: "print the version", Action: printVersion},
		},
	}
	finish("", app.Commands)
	return app
}

// finish gives every command what all have.
func finish(prefix string, commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelpCommand, c.OnUsageError = true, usageError
		c.Description = description(prefix + c.Name)
		c.Flags = append(c.Flags, commonFlags()...)
		c.Action = counted(c.Action)
		finish(prefix+c.Name+"-", c.Subcommands)
	}
}

func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "output", Aliases: []string{"o"}, Value: "table",
			Usage: "print as `FORMAT`: table, json or yaml",
		},
		&cli.StringFlag{Name: "kubeconfig", Usage: "`FILE` to reach the API server with", TakesFile: true},
		&cli.StringFlag{Name: "context", Usage: "`NAME` of the context of that file"},
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "`NAMESPACE` of pods"},
		&cli.StringFlag{
			Name:      "from",
			Usage:     "read a bug report, or a `FILE` of kubectl get nodes,pods -A -o json, and ask no API server",
			TakesFile: true,
		},
	}
}

func allNamespaces() cli.Flag {
	return &cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Usage: "of all namespaces"}
}

func usageError(_ *cli.Context, err error, _ bool) error { return usageErrorf("%v", err) }

// help has what the help of a command says beside its options, in help/COMMAND.txt.
//
//go:embed help
var help embed.FS

// description returns what the help of a command says: that of "top node" is top-node.
func description(command string) string {
	text, _ := help.ReadFile("help/" + command + ".txt") // TestHelp looks at each
	return strings.TrimSuffix(string(text), "\n")
}

// group is the action of a command that only holds others.
func group(c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return unknownCommand(word, program, c.App.Commands)
	}
	return cli.ShowAppHelp(c)
}

func unknownCommand(word, group string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return usageErrorf("unknown command %q; see %s --help%s", word, group, wording.Meant(word, names...))
}

// counted returns an action that runs only with as many arguments as its command's usage has,
// and with an output format that exists.
func counted(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		usage, n := c.Command.ArgsUsage, c.NArg()
		format := c.String("output")
		switch {
		case usage == "" && n > 0 && len(c.Command.Subcommands) > 0:
			return unknownCommand(c.Args().First(), c.Command.HelpName, c.Command.Subcommands)
		case usage == "" && n > 0, n > 1, usage != "" && usage[0] != '[' && n == 0:
			return usageErrorf("%s takes %s; got %s; see %s --help", c.Command.Name, orNone(usage), wording.Count(n, "argument"),
				c.Command.HelpName)
		case !slices.Contains(formats, format):
			return usageErrorf("unknown output format %q: %s%s", format, strings.Join(formats, ", "),
				wording.Meant(format, formats...))
		}
		return action(c)
	}
}

func orNone(usage string) string {
	if usage == "" {
		return "no argument"
	}
	return usage
}
