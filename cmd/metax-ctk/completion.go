package main

import (
	_ "embed"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// The scripts ask the program itself, so they know all its commands and options. They ask
// the program with “-” for all options and filter by what was typed.
//
//go:embed completion.bash
var bashCompletion string

//go:embed completion.zsh
var zshCompletion string

// removeHiddenFlags removes hidden options from commands, so that completion does not
// offer them.
func removeHiddenFlags(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags = c.VisibleFlags()
		removeHiddenFlags(c.Subcommands)
	}
}

func (t toolkit) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: `Examples:
   source <(metax-ctk completion bash)
   source <(metax-ctk completion zsh)
   metax-ctk completion fish | source`,
		Action: func(c *cli.Context) error {
			var script string
			var err error
			switch shell := c.Args().First(); shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				removeHiddenFlags(c.App.Commands)
				if script, err = c.App.ToFishCompletion(); err != nil {
					return err
				}
			default:
				return usagef("name a shell: bash, zsh or fish (got %q)%s", shell, wording.Meant(shell, "bash", "zsh", "fish"))
			}
			_, err = io.WriteString(t.Out, strings.TrimRight(script, "\n")+"\n")
			return err
		},
	}
}
