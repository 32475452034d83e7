// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// reorderOptions moves the options behind the command and before its arguments, where
// urfave/cli wants them: users of kubectl write them anywhere.
func reorderOptions(app *cli.App, args []string) ([]string, error) {
	var options, positional []string
	path, commands, flags := args[:1], app.Commands, slices.Concat(commonFlags(), []cli.Flag{allNamespaces()})
	for words := args[1:]; len(words) > 0; {
		word := words[0]
		words = words[1:]
		if word == "--" {
			positional = append(positional, words...)
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) })
			if at < 0 && len(path) == 1 { // before an option that only the commands have
				return nil, unknownCommand(word, program, app.Commands)
			}
			if at < 0 {
				positional, commands = append(positional, word), nil
				continue
			}
			path, flags, commands = append(slices.Clone(path), word), append(flags,
				commands[at].Flags...), commands[at].Subcommands
			continue
		}
		options = append(options, word)
		name, _, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if takesValue(flags, name) && !inline {
			if len(words) == 0 {
				return nil, usageErrorf("option %s needs a value", word)
			}
			options, words = append(options, words[0]), words[1:]
		}
	}
	out := slices.Concat(path, options)
	if len(positional) > 0 {
		out = slices.Concat(out, []string{"--"}, positional)
	}
	return out, nil
}

func takesValue(flags []cli.Flag, name string) bool {
	at := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if at < 0 {
		return false
	}
	f, ok := flags[at].(cli.DocGenerationFlag)
	return ok && f.TakesValue()
}
