package main

import (
	_ "embed"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// The scripts ask the program itself, so they know all its commands and options. Of a
// half-typed option they pass on only the "-", and choose among all options.
//
//go:embed completion.bash
var bashCompletion string

//go:embed completion.zsh
var zshCompletion string

// unlist removes hidden options from commands, so that completion does not offer them.
func unlist(commands []*cli.Command) {
	for _, c := range commands {
		c.Flags = c.VisibleFlags()
		unlist(c.Subcommands)
	}
}

func (t toolkit) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: `Example:
   source <(metax-ctk completion bash)`,
		Action: func(c *cli.Context) error {
			var script string
			var err error
			switch shell := c.Args().First(); shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				unlist(c.App.Commands)
				if script, err = c.App.ToFishCompletion(); err != nil {
					return err
				}
			default:
				return usagef("no completion for %q: bash, zsh or fish", shell)
			}
			_, err = io.WriteString(t.Out, strings.TrimRight(script, "\n")+"\n")
			return err
		},
	}
}
