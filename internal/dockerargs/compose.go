package dockerargs

import (
	"errors"
	"slices"
	"strings"
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
	// services, for run and exec only the first word.
	Words   []string
	Options Options

	words []string
	verb  int   // the index of Verb in words
	at    []int // the indices of Words in words
	own   Flags // the flags of metax-docker after Verb
}

// ComposeRole is how a command of compose uses containers with GPUs.
type ComposeRole int

// The roles.
const (
	ComposeNone  ComposeRole = iota // needs no rewritten project
	ComposeSees                     // works on existing containers
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
	// first is true if only the first word is a service and the words after it are
	// neither services nor flags.
	first bool
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
	if c.Global, dashes, err = l.flags(); err != nil || dashes || l.next == len(args) || args[l.next] != "compose" {
		return Compose{}, false, nil
	}
	l.next++
	l.known = []Table{composeProject(), more}
	if c.Project, dashes, err = l.flags(); err != nil || l.next == len(args) {
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
	if verb.role == ComposeSees {
		ours = nil
	} else if verb.role == ComposeStart {
		ours = composeStartOptions()
	}
	l.known = []Table{ours, parseTable(verb.flags), parseTable("dry-run help,h"), more}
	if err := c.read(&l, ours, verb.first); err != nil {
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
	return Command{Global: c.Global, Image: image, HasImage: true, Flags: flags, TakesGPU: true, Options: options, words: c.words}
}

// AsksHelp reports whether compose is about to print its help, or that of a command that
// takes options of metax-docker.
func (c Compose) AsksHelp() bool {
	role := composeVerbs[c.Verb].role
	return c.Project.True("help") || c.Flags.True("help") && role != ComposeNone && role != ComposeSees
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

// read parses the words after the command.
func (c *Compose) read(l *lexer, ours Table, first bool) error {
	word := func() {
		c.at, c.Words = append(c.at, l.next), append(c.Words, l.words[l.next])
		l.next++
	}
	for l.next < len(l.words) {
		own, flags, dashes, err := l.split(ours)
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
	out := c.projectWords(func(f Flag) bool { return f.Name == "dry-run" })
	return slices.Concat(out, flags, []string{"config"}, options)
}

// Place is the project on which a rewritten line works.
type Place struct {
	Name, Directory, File string
	// Copies returns the services that replace a service's name.
	Copies func(service string) []string
	// Scaled reports whether File states the number of the service's containers.
	Scaled func(service string) bool
}

// Rewrite returns the line for another project. metax-docker's options are removed; all
// other words stay unchanged and in order.
func (c Compose) Rewrite(p Place) []string {
	out := c.projectWords(func(f Flag) bool {
		switch f.Name {
		case "file", "project-name", "project-directory", "workdir":
			return true
		}
		return false
	})
	out = append(out, "-p", p.Name, "--project-directory", p.Directory, "-f", p.File, c.Verb)
	flags := slices.Concat(c.own, c.Flags)
	slices.SortStableFunc(flags, func(a, b Flag) int { return a.At - b.At })
	for at := c.verb + 1; at < len(c.words); {
		if i := slices.Index(c.at, at); i >= 0 {
			if c.takesOneService() {
				return append(out, c.words[at:]...)
			}
			out = append(out, p.Copies(c.words[at])...)
			at++
			continue
		}
		i := slices.IndexFunc(flags, func(f Flag) bool { return f.At == at })
		if i < 0 { // "--"
			out = append(out, c.words[at])
			at++
			continue
		}
		f := flags[i]
		switch name, _, _ := strings.Cut(f.Value, "="); {
		case slices.Contains(c.own, f), f.Name == "scale" && p.Scaled(name):
		case f.Name == "attach" || f.Name == "no-attach":
			for _, copied := range p.Copies(f.Value) {
				out = append(out, "--"+f.Name+"="+copied)
			}
		default:
			out = append(out, c.words[at:at+f.Words]...)
		}
		at += f.Words
		for _, f := range flags { // the last letter of a cluster may have its value in the next word
			if f.At < at && f.At+f.Words > at {
				out = append(out, c.words[at:f.At+f.Words]...)
				at = f.At + f.Words
			}
		}
	}
	return out
}

// takesOneService reports whether the command takes one service and works on one
// container.
func (c Compose) takesOneService() bool { return composeVerbs[c.Verb].first }

// projectWords returns the words before the command, without the dropped flags.
func (c Compose) projectWords(drop func(Flag) bool) []string {
	var out []string
	next := 0
	for _, f := range c.Project {
		if drop(f) {
			out = append(out, c.words[next:f.At]...)
			next = f.At + f.Words
		}
	}
	return append(out, c.words[next:c.verb]...)
}
