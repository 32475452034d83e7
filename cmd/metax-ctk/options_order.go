// SPDX-License-Identifier: Apache-2.0

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

// reorderOptions reorders a command line for urfave/cli, which wants every option before the
// arguments of the command that defines it: options may then stand anywhere, global ones also
// behind the command. Words behind "--" stay arguments, and so does a negative number that is
// not an option. "help" before a command is --help behind it, and --version or -v without a
// command is the command version.
func reorderOptions(app *cli.App, args []string) ([]string, error) {
	l := commandLine{
		levels: []level{{name: args[0], flags: app.Flags}}, commands: app.Commands, program: app.Name,
		path: app.Name, rest: args[1:],
	}
	for len(l.rest) > 0 {
		word := l.rest[0]
		l.rest = l.rest[1:]
		var err error
		switch {
		case word == "--":
			l.positional, l.rest = append(l.positional, l.rest...), nil
		case isOption(word):
			err = l.takeOption(word)
		default:
			err = l.takeWord(word)
		}
		if err != nil {
			return nil, err
		}
	}
	return l.reordered(), nil
}

// level is a command of the line, with the options that it defines.
type level struct {
	name  string
	flags []cli.Flag
	words []string // its options as they were typed
}

// commandLine is a command line while it is reordered.
type commandLine struct {
	levels        []level
	commands      []*cli.Command // that may follow
	program, path string         // "metax-ctk", "metax-ctk cdi list"
	positional    []string
	help          bool     // "help" stands before a command
	rest          []string // the words that were not yet looked at
}

func (l *commandLine) innermost() *level { return &l.levels[len(l.levels)-1] }

// takeWord takes a word that is not an option: a command, or an argument.
func (l *commandLine) takeWord(word string) error {
	c := findCommand(l.commands, word)
	switch {
	case c != nil:
		l.levels = append(l.levels, level{name: word, flags: c.Flags})
		l.commands, l.path = c.Subcommands, l.path+" "+c.Name
	case l.help:
		return unknownCommand(word, l.path, l.commands)
	case word == "help" && len(l.commands) > 0:
		l.help = true
	default:
		l.positional, l.commands = append(l.positional, word), nil
	}
	return nil
}

// takeOption takes an option, and the word that is its value.
func (l *commandLine) takeOption(word string) error {
	name, value, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if name == "help" || name == "h" {
		l.innermost().words = append(l.innermost().words, word)
		return nil
	}
	if (name == "version" || name == "v") && l.path == l.program && !inline {
		if !l.help { // "help -v" is the help of the program
			l.rest = append([]string{"version"}, l.rest...)
		}
		return nil
	}
	at, f := l.definition(name)
	if habit := habits[name]; f == nil && findFlag(l.innermost().flags, habit) != nil {
		at, f, word = l.innermost(), findFlag(l.innermost().flags, habit), "--"+habit
		if inline {
			word += "=" + value
		}
	}
	if f == nil || f.Names()[0] == "version" {
		return l.unknownOption(word, name)
	}
	at.words = append(at.words, word)
	if !inline && takesValue(f) {
		if len(l.rest) == 0 {
			return usageErrorf("option %s needs a value; see %s --help", word, l.path)
		}
		value, l.rest = l.rest[0], l.rest[1:]
		at.words = append(at.words, value)
	}
	if inline || takesValue(f) {
		return checkValue(f, value)
	}
	return nil
}

// definition is the innermost command that defines an option, and its definition; nil if none
// does.
func (l *commandLine) definition(name string) (*level, cli.Flag) {
	for at := len(l.levels) - 1; at >= 0; at-- {
		if f := findFlag(l.levels[at].flags, name); f != nil {
			return &l.levels[at], f
		}
	}
	return nil, nil
}

func (l *commandLine) unknownOption(word, name string) error {
	if l.path == l.program && (name == "o" || name == "output-format") {
		return usageErrorf("option %s goes behind the command: metax-ctk device list -o json", word)
	}
	var flags []cli.Flag
	for _, one := range l.levels {
		flags = append(flags, one.flags...)
	}
	return usageErrorf("unknown option %q; see %s --help%s", word, l.path, meantOption(name, flags))
}

// reordered are the words with each option behind its command, and the arguments behind "--".
func (l *commandLine) reordered() (words []string) {
	if l.help {
		l.innermost().words = append(l.innermost().words, "--help")
	}
	for _, one := range l.levels {
		words = append(append(words, one.name), one.words...)
	}
	if len(l.positional) > 0 {
		words = append(append(words, "--"), l.positional...)
	}
	return words
}

// checkValue returns what is wrong with the value of an option that is not a text: cli names
// the option as Go does, and no unit.
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
		return usageErrorf("option --%s: %q is not %s", f.Names()[0], value, want)
	}
	return nil
}

func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && !strings.ContainsRune("0123456789", rune(word[1]))
}

// meantOption asks for the option that was probably meant; empty if none is near.
func meantOption(name string, flags []cli.Flag) string {
	if name == "format" && findFlag(flags, "o") != nil {
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

func findCommand(commands []*cli.Command, name string) *cli.Command {
	if i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
		return commands[i]
	}
	return nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	if i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }); i >= 0 {
		return flags[i]
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}
