package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completeWord ends a command line that a shell completes.
const completeWord = "--generate-bash-completion"

// permute reorders a command line for urfave/cli, which wants every option
// before the arguments of the command that defines it: options may then stand
// anywhere, global ones also behind the command. Words behind "--" stay
// arguments, and so does a negative number that is not an option.
//
// When a shell completes a command line, arguments are left out: behind one, urfave/cli
// would run the command.
func permute(app *cli.App, args []string) ([]string, error) {
	type level struct {
		name  string
		flags []cli.Flag
		words []string
	}
	levels := []level{{name: args[0], flags: app.Flags}}
	commands := app.Commands
	var positional []string

	words := args[1:]
	completing := len(words) > 0 && words[len(words)-1] == completeWord
	if completing {
		words = words[:len(words)-1]
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "--" {
			if completing {
				return nil, usagef("no option or command follows %q", word)
			}
			positional = append(positional, words...)
			break
		}
		if !isOption(word) {
			if c := find(commands, word); c != nil && len(positional) == 0 {
				levels = append(levels, level{name: word, flags: c.Flags})
				commands = c.Subcommands
			} else {
				positional = append(positional, word)
				commands = nil
			}
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if name == "help" || name == "h" {
			last := &levels[len(levels)-1]
			last.words = append(last.words, word)
			continue
		}
		at := len(levels) - 1
		var f cli.Flag
		for ; at >= 0; at-- {
			if f = define(levels[at].flags, name); f != nil {
				break
			}
		}
		if f == nil {
			return nil, usagef("unknown option %q; see %s --help", word, app.Name)
		}
		levels[at].words = append(levels[at].words, word)
		if !inline && takesValue(f) {
			if len(words) == 0 {
				return nil, usagef("option %s needs a value", word)
			}
			levels[at].words = append(levels[at].words, words[0])
			words = words[1:]
		}
	}

	var out []string
	for _, l := range levels {
		out = append(append(out, l.name), l.words...)
	}
	if completing {
		return append(out, completeWord), nil
	}
	if len(positional) > 0 {
		out = append(append(out, "--"), positional...)
	}
	return out, nil
}

func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && !strings.ContainsRune("0123456789", rune(word[1]))
}

func find(commands []*cli.Command, name string) *cli.Command {
	if i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
		return commands[i]
	}
	return nil
}

func define(flags []cli.Flag, name string) cli.Flag {
	if i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }); i >= 0 {
		return flags[i]
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}
