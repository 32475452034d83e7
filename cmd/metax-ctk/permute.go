package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// habits are the options of "nvidia-ctk runtime configure" that have another name here.
var habits = map[string]string{
	"runtime": "engine", "set-as-default": "default", "nvidia-set-as-default": "default",
	"nvidia-runtime-name": "name", "nvidia-runtime-path": "runtime-path", "nvidia-runtime-hook-path": "hook",
	"cdi.enabled": "cdi", "cdi.enable": "cdi", "enable-cdi": "cdi",
}

// permute reorders a command line for urfave/cli, which wants every option
// before the arguments of the command that defines it: options may then stand
// anywhere, global ones also behind the command. Words behind "--" stay
// arguments, and so does a negative number that is not an option. "help" before a command
// is --help behind it, and --version or -v without a command is the command version.
func permute(app *cli.App, args []string) ([]string, error) {
	type level struct {
		name  string
		flags []cli.Flag
		words []string
	}
	levels := []level{{name: args[0], flags: app.Flags}}
	commands := app.Commands
	path := app.Name
	var positional []string
	help := false

	words := args[1:]
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "--" {
			positional = append(positional, words...)
			break
		}
		if !isOption(word) {
			c := find(commands, word)
			switch {
			case c != nil:
				levels = append(levels, level{name: word, flags: c.Flags})
				commands, path = c.Subcommands, path+" "+c.Name
			case help:
				return nil, unknownCommand(word, path, commands)
			case word == "help" && len(commands) > 0:
				help = true
			default:
				positional = append(positional, word)
				commands = nil
			}
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if name == "help" || name == "h" {
			last := &levels[len(levels)-1]
			last.words = append(last.words, word)
			continue
		}
		if (name == "version" || name == "v") && path == app.Name && !inline {
			if !help { // "help -v" is the help of the program
				words = append([]string{"version"}, words...)
			}
			continue
		}
		at := len(levels) - 1
		var f cli.Flag
		for ; at >= 0; at-- {
			if f = define(levels[at].flags, name); f != nil {
				break
			}
		}
		if last := levels[len(levels)-1].flags; f == nil && define(last, habits[name]) != nil {
			f, at, word = define(last, habits[name]), len(levels)-1, "--"+habits[name]
			if inline {
				word += "=" + value
			}
		}
		if f == nil || f.Names()[0] == "version" {
			var flags []cli.Flag
			for _, l := range levels {
				flags = append(flags, l.flags...)
			}
			if path == app.Name && (name == "o" || name == "output-format") {
				return nil, usagef("option %s goes behind the command: metax-ctk device list -o json", word)
			}
			return nil, usagef("unknown option %q; see %s --help%s", word, path, meantOption(name, flags))
		}
		levels[at].words = append(levels[at].words, word)
		if !inline && takesValue(f) {
			if len(words) == 0 {
				return nil, usagef("option %s needs a value; see %s --help", word, path)
			}
			value = words[0]
			levels[at].words = append(levels[at].words, value)
			words = words[1:]
		}
		if err := checkValue(f, value); err != nil && (inline || takesValue(f)) {
			return nil, err
		}
	}

	if last := &levels[len(levels)-1]; help {
		last.words = append(last.words, "--help")
	}
	var out []string
	for _, l := range levels {
		out = append(append(out, l.name), l.words...)
	}
	if len(positional) > 0 {
		out = append(append(out, "--"), positional...)
	}
	return out, nil
}

// checkValue returns what is wrong with the value of an option that is not a text: cli names the
// option as Go does, and no unit.
func checkValue(f cli.Flag, value string) error {
	var err error
	want := ""
	switch f.(type) {
	case *cli.DurationFlag:
		_, err = time.ParseDuration(value)
		want = "a time with its unit, such as 30s, 10m or 2h"
		if _, notNumber := strconv.ParseUint(value, 10, 32); notNumber == nil {
			want = "a time with its unit, such as " + value + "s or " + value + "m"
		}
	case *cli.IntFlag:
		_, err = strconv.ParseInt(value, 0, 64)
		want = "a whole number"
	case *cli.BoolFlag:
		_, err = strconv.ParseBool(value)
		want = "true or false"
	}
	if err != nil {
		return usagef("option --%s: %q is not %s", f.Names()[0], value, want)
	}
	return nil
}

func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && !strings.ContainsRune("0123456789", rune(word[1]))
}

// meantOption asks for the option that was probably meant; empty if none is near.
func meantOption(name string, flags []cli.Flag) string {
	if name == "format" && define(flags, "o") != nil {
		return "; did you mean -o?"
	}
	var names []string
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
			names = append(names, f.Names()[0])
		}
	}
	if near := wording.Closest(name, names...); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
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
