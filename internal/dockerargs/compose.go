// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"slices"
)

// Compose is a command line of docker compose.
type Compose struct {
	// Global are the flags before "compose", Project the flags between it and its
	// command.
	Global, Project Flags
	// Verb is compose's command, which has a ComposeRole.
	Verb string
	// Flags are the client's flags after Verb.
	Flags Flags
	// Words are the words after Verb that are neither flags nor their values: the
	// services, for run only the first word.
	Words   []string
	Options Options

	words []string
	verb  int   // the index of Verb in words
	own   Flags // the flags of metax-docker after Verb
}

// ComposeRole is how a command of compose uses containers with GPUs.
type ComposeRole int

// The roles.
const (
	ComposeNone  ComposeRole = iota // needs no rewritten project
	ComposeMakes                    // creates containers
	ComposeRuns                     // creates one more container of one service
	ComposeStart                    // starts existing containers
)

// ComposeRoleOf returns the role of a command of compose.
func ComposeRoleOf(verb string) ComposeRole { return composeVerbs[verb].role }

// composeVerb is the grammar of a command of compose.
type composeVerb struct {
	role  ComposeRole
	flags string // for table
}

// ScanCompose parses args, the words after the client's name. more are flags that the
// tables lack. It returns false for a line without compose, for a command without a
// role, and for a line that the client will refuse or answer with help (AsksHelp). The errors
// are
// *OptionError and *UnknownFlagError; with the latter, an empty Verb means that the
// flag is before compose's command.
func ScanCompose(args []string, client Client, more Table) (Compose, bool, error) {
	c := Compose{words: args}
	l := lexer{words: args, known: []Table{client.Global}}
	var err error
	var dashes bool
	// After "--" no flag can be inserted before the command.
	if c.Global, dashes, err = l.readFlags(); err != nil || dashes || l.next == len(args) || args[l.next] != "compose" {
		return Compose{}, false, nil
	}
	l.next++
	l.known = []Table{composeProject(), more}
	if c.Project, dashes, err = l.readFlags(); err != nil || l.next == len(args) {
		return c, false, ownErrors(err)
	}
	if dashes {
		return Compose{}, false, nil
	}
	c.verb, c.Verb = l.next, args[l.next]
	l.next++
	verb := composeVerbs[c.Verb]
	if verb.role == ComposeNone || c.Project.True("help") || c.Project.True("version") {
		return c, false, nil
	}
	ours := composeOptions()
	if verb.role == ComposeStart {
		ours = composeStartOptions()
	}
	l.known = []Table{ours, parseTable(verb.flags), parseTable("dry-run help,h"), more}
	if err := c.read(&l, ours, verb.role == ComposeRuns); err != nil {
		return c, false, ownErrors(err)
	}
	if c.Flags.True("help") {
		return c, false, nil
	}
	if c.Options, err = readOptions(c.own); err != nil {
		return Compose{}, false, err
	}
	return c, true, nil
}

// Run returns the command line that stands for making a container of a service: with GPUs, of
// that image, and with these flags of the client's run.
func (c Compose) Run(image string, flags Flags, maca MACA) Command {
	options := c.Options
	options.DryRun, options.MACA = c.DryRun(), maca
	return Command{
		Global: c.Global, Image: image, HasImage: true, Flags: flags, TakesGPU: true, Options: options,
		words: c.words,
	}
}

// AsksHelp reports whether compose is about to print its help, or that of a command that
// takes options of metax-docker.
func (c Compose) AsksHelp() bool {
	return c.Project.True("help") || (c.Flags.True("help") && ComposeRoleOf(c.Verb) != ComposeNone)
}

// ownErrors drops errors that the client reports itself.
func ownErrors(err error) error {
	var unknown *UnknownFlagError
	var option *OptionError
	if errors.As(err, &unknown) || errors.As(err, &option) {
		return err
	}
	return nil
}

// read parses the words after the command. With first it stops after the first service: the
// words after it are neither services nor flags.
func (c *Compose) read(l *lexer, ours Table, first bool) error {
	word := func() {
		c.Words = append(c.Words, l.words[l.next])
		l.next++
	}
	for l.next < len(l.words) {
		own, flags, dashes, err := l.separateFlags(ours)
		c.own, c.Flags = append(c.own, own...), append(c.Flags, flags...)
		if err != nil {
			return err
		}
		if l.next == len(l.words) {
			return nil
		}
		word()
		if first {
			return nil
		}
		for dashes && l.next < len(l.words) {
			word()
		}
	}
	return nil
}

// DryRun reports whether compose has --dry-run.
func (c Compose) DryRun() bool { return c.Project.True("dry-run") || c.Flags.True("dry-run") }

// Config returns the command line that makes compose print the project, with these
// additional flags of compose.
func (c Compose) Config(flags, options []string) []string {
	return slices.Concat(c.projectWords("dry-run"), flags, []string{"config"}, options)
}

// Place is the project on which a rewritten line works.
type Place struct {
	Name, Directory, File string
}

// Rewrite returns the line for another project. metax-docker's options are removed; all
// other words stay unchanged and in order.
func (c Compose) Rewrite(p Place) []string {
	out := c.projectWords("file", "project-name", "project-directory", "workdir")
	out = append(out, "-p", p.Name, "--project-directory", p.Directory, "-f", p.File)
	return append(out, c.wordsWithout(c.verb, len(c.words), c.own)...)
}

// projectWords returns the words before the command, without the named flags.
func (c Compose) projectWords(names ...string) []string {
	dropped := slices.DeleteFunc(slices.Clone(c.Project), func(f Flag) bool { return !slices.Contains(names, f.Name) })
	return c.wordsWithout(0, c.verb, dropped)
}

// wordsWithout returns the words from one index to another without some flags, which are
// there in this order.
func (c Compose) wordsWithout(from, to int, flags Flags) (out []string) {
	for _, f := range flags {
		out = append(out, c.words[from:f.At]...)
		from = f.At + f.Words
	}
	return append(out, c.words[from:to]...)
}
