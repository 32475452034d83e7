// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/completion"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// deps is everything that the program uses of its surroundings.
type deps struct {
	In       io.Reader
	Out, Err io.Writer
	Library  mxsml.Run // nil if there is no metax-mxsml
	Run      mxsmi.Run
}

// toolkit carries deps and settings to the commands.
type toolkit struct {
	deps
	settings config.Config
	log      *journal
	warnings *warnings
}

// journal is the log, once the command line is read.
type journal struct {
	*logfile.Log
	args    []string // the command line, as it was typed
	printed bool     // on standard error
}

// runCommandLine executes one command line and returns the exit code.
func runCommandLine(ctx context.Context, args []string, d deps) int {
	log := &journal{args: args[1:]}
	err := execute(ctx, args, d, log)
	code := exitCode(err)
	if err != nil && err.Error() != "" {
		log.Error("failed", "error", err.Error(), "exit", code)
		fmt.Fprintf(d.Err, "metax-ctk: %s\n", terminal.Message(err.Error()))
	} else {
		log.Info("done", "exit", code)
	}
	return code
}

func execute(ctx context.Context, args []string, d deps, log *journal) error {
	settings, bad := loadSettings()
	t := toolkit{deps: d, settings: settings, log: log, warnings: new(warnings)}
	defer t.endWarnings()
	app := t.app()
	if bad != nil {
		for _, c := range app.Commands {
			c.Before = t.badSettings(c.Name, bad)
		}
	}
	if len(args) > 2 && slices.Contains(completion.Verbs, args[1]) {
		return completion.Print(d.Out, t.completeWord(app, args[2:]), args[1] == completion.Verbs[0])
	}
	var err error
	if args, err = reorderOptions(app, args); err != nil {
		return err
	}
	return app.RunContext(ctx, args)
}

// loadSettings reads the configuration file. urfave/cli reads the environment, so that help
// can name the variables.
func loadSettings() (config.Config, error) {
	none := func(string) string { return "" }
	text, err := hostfs.ReadOwn(config.Path)
	if err != nil {
		defaults, _ := config.Load(config.Path, nil, none)
		return defaults, err
	}
	return config.Load(config.Path, text, none)
}

// optionOrSetting is the value of a string option, or else the configured one. An empty
// variable of the environment counts as unset.
func optionOrSetting(c *cli.Context, option string, configured config.Value) string {
	if text := c.String(option); c.IsSet(option) && text != "" {
		return text
	}
	return configured.Text
}

func (t toolkit) app() *cli.App {
	app := &cli.App{
		Name:                      "metax-ctk",
		Usage:                     "see, pick and describe the MetaX GPUs of a node",
		Description:               commandHelp("metax-ctk"),
		Version:                   toolkitVersion(),
		Writer:                    t.Out,
		ErrWriter:                 t.Err,
		Reader:                    t.In,
		DisableSliceFlagSeparator: true,
		HideVersion:               true, // reorderOptions makes it the command version
		HideHelpCommand:           true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: "node", Value: node.Host, EnvVars: []string{"METAX_CTK_NODE"},
				Usage: "the node: `WHERE` is \"host\", a simulated node (metax-ctk sim list) or a file: Node JSON, mx-smi topo -m output, a snapshot or a bug report (- reads it from standard input)",
			},
			&cli.StringFlag{
				Name: "root", Value: "/", EnvVars: []string{"METAX_CTK_ROOT"},
				Usage: "`DIR` that stands for the host's root directory",
			},
			&cli.StringFlag{
				Name: "gpus-ignore", EnvVars: []string{"METAX_CTK_GPUS_IGNORE"},
				Usage: "comma-separated `NAMES` of programs, containers and images that open GPUs only to monitor them (default: " +
					strings.Join(usage.Monitors(), ",") + ")",
			},
			&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print the version"},
			&cli.StringFlag{
				Name: "log-level", EnvVars: []string{"METAX_CTK_LOG_LEVEL"},
				Usage: "log what is done at this `LEVEL`: off, error, warn or info (default: off)",
			},
			&cli.StringFlag{
				Name: "log-format", EnvVars: []string{"METAX_CTK_LOG_FORMAT"},
				Usage: "the `FORM` of the log: text or json (default: text)",
			},
			&cli.StringFlag{
				Name: "log-file", EnvVars: []string{"METAX_CTK_LOG_FILE"}, TakesFile: true,
				Usage: "append the log to the `FILE` at this absolute path (default: standard error)",
			},
		},
		Commands: []*cli.Command{
			t.deviceCommand(), t.healthCommand(), t.topologyCommand(), t.pickCommand(), t.waitCommand(), t.psCommand(),
			t.topCommand(), t.leaseCommand(), t.sgpuCommand(), t.cdiCommand(),
			t.macaCommand(), t.setupCommand(), t.runtimeCommand(), t.doctorCommand(), t.snapshotCommand(), t.bugreportCommand(),
			t.configCommand(),
			t.simCommand(), t.completionCommand(), t.versionCommand(),
		},
	}
	app.Before = t.openLog
	app.Action = t.showOverview
	app.OnUsageError = onUsageError
	finish("", app.Commands)
	return app
}

// finish gives every command its description, and what urfave/cli would otherwise decide for
// us. The names of commands begin with a prefix: that of "cdi list" is "cdi-".
func finish(prefix string, commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = onUsageError
		c.HideHelpCommand = true
		if c.Action == nil {
			c.Action = showSubcommands
		} else {
			c.Description = commandHelp(prefix + c.Name)
			c.Action = counted(c.Action)
			if c.Name != "completion" { // that is for a shell alone
				c.Flags = append(c.Flags, outputFlag(c))
			}
		}
		finish(prefix+c.Name+"-", c.Subcommands)
	}
}

// showSubcommands is the action of a command that only holds others.
func showSubcommands(c *cli.Context) error {
	if c.Args().Present() {
		return unknownCommand(c.Args().First(), cmp.Or(c.Command.HelpName, c.App.Name), c.Command.Subcommands)
	}
	return cli.ShowSubcommandHelp(c)
}

// unknownCommand is the error for a word that is not one of the commands of a group.
func unknownCommand(word, group string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		names = append(names, c.Names()...)
	}
	return usageErrorf("unknown command %q; see %s --help%s", word, group, wording.Meant(word, names...))
}

// nodeSelector returns the node that the global flags name.
func (t toolkit) nodeSelector(c *cli.Context) node.Selector {
	return node.Selector{
		Node: optionOrSetting(c, "node", t.settings.Node), Root: optionOrSetting(c, "root", t.settings.Root),
		Library: t.Library, Run: t.Run, In: t.In,
	}
}

// loadNode loads the node with its surroundings; its warnings come before the next output.
func (t toolkit) loadNode(c *cli.Context) (gpu.Node, error) {
	at := t.nodeSelector(c)
	at.Surroundings = true
	return t.loadFromSelector(c, at)
}

// loadFromSelector loads a node; its warnings come before the next output.
func (t toolkit) loadFromSelector(c *cli.Context, at node.Selector) (gpu.Node, error) {
	n, err := at.Load(c.Context)
	if err != nil {
		return gpu.Node{}, err
	}
	t.warnNode(n.Warnings...)
	return n, nil
}

// counted returns an action that runs only with as many arguments as its command's usage
// has.
func counted(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		arguments := c.Command.ArgsUsage
		least, most := bounds(arguments)
		if n := c.NArg(); n < least || n > most {
			return usageErrorf("%s takes %s; got %s; see %s --help", c.Command.Name, cmp.Or(arguments, "no argument"),
				wording.Count(n, "argument"), c.Command.HelpName)
		}
		return action(c)
	}
}

// bounds are the least and the most arguments in a usage: "GPU", "[FILE]", "ID...", "[ID...]".
// Behind a bar is another form, without arguments.
func bounds(arguments string) (least, most int) {
	for _, word := range strings.Fields(arguments) {
		if word == "|" {
			return 0, most
		}
		most++
		if word[0] != '[' {
			least++
		}
		if strings.HasSuffix(strings.TrimSuffix(word, "]"), "...") {
			most = math.MaxInt
		}
	}
	return least, most
}
