package dockerargs

import (
	"errors"
	"slices"
	"strings"
)

// Compose is a command line of docker compose.
type Compose struct {
	// Global are the flags before "compose", Project those between it and its own
	// command.
	Global, Project Flags
	// Verb is compose's command, which has a ComposeRole.
	Verb string
	// Flags are the client's flags after Verb.
	Flags Flags
	// Words are the words after Verb that are neither flags nor their values: the
	// services, or for run and exec only the first.
	Words   []string
	Options Options

	words []string
	verb  int // where Verb stands
	at    []int
	own   Flags
}

// ComposeRole is what a command of compose has to do with GPUs.
type ComposeRole int

// The roles.
const (
	ComposeNone  ComposeRole = iota // needs no project of ours
	ComposeSees                     // works on what is there
	ComposeMakes                    // makes containers
	ComposeRuns                     // makes one more container of one service
	ComposeStart                    // starts containers that are there
)

// ComposeRoleOf returns the role of a command of compose.
func ComposeRoleOf(verb string) ComposeRole { return composeVerbs[verb].role }

// composeVerb is how a command of compose is written.
type composeVerb struct {
	role  ComposeRole
	flags string // for table
	// first is true where the words after the first one are no services, nor flags.
	first bool
}

// ScanCompose reads args, the words after the client's name. More are flags that
// the tables lack. It says false for a line that is none of compose's, or of a
// command without a role, or that the client will refuse or answer with help. The
// errors are *OptionError and *UnknownFlagError, with which Verb says whose flag
// it is.
func ScanCompose(args []string, client Client, more Table) (Compose, bool, error) {
	c := Compose{words: args}
	l := lexer{words: args, known: []Table{client.Global}}
	var err error
	var dashes bool
	// After "--" no flag of ours could be put before the command.
	if c.Global, dashes, err = l.flags(); err != nil || dashes || l.next == len(args) || args[l.next] != "compose" {
		return Compose{}, false, nil
	}
	l.next++
	l.known = []Table{table(composeProject), more}
	if c.Project, dashes, err = l.flags(); err != nil || l.next == len(args) {
		return c, false, unknownOnly(err)
	}
	if dashes {
		return Compose{}, false, nil
	}
	c.verb, c.Verb = l.next, args[l.next]
	l.next++
	verb := composeVerbs[c.Verb]
	if verb.role == ComposeNone || c.Project.True("help") || c.Project.True("version") {
		return Compose{}, false, nil
	}
	ours := table(composeOptions)
	if verb.role == ComposeSees {
		ours = nil
	} else if verb.role == ComposeStart {
		ours = table("gpus-share gpus-wait=")
	}
	l.known = []Table{ours, table(verb.flags), table("dry-run help,h"), more}
	if err := c.read(&l, ours, verb.first); err != nil {
		return c, false, unknownOnly(err)
	}
	if c.Flags.True("help") {
		return Compose{}, false, nil
	}
	if c.Options, err = readOptions(c.own); err != nil {
		return Compose{}, false, err
	}
	return c, true, nil
}

// unknownOnly drops what the client reports itself.
func unknownOnly(err error) error {
	var unknown *UnknownFlagError
	var option *OptionError
	if errors.As(err, &unknown) || errors.As(err, &option) {
		return err
	}
	return nil
}

// read reads what stands after the command.
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

// DryRun reports whether compose is only to say what it would do.
func (c Compose) DryRun() bool { return c.Project.True("dry-run") || c.Flags.True("dry-run") }

// Values returns the values of a flag of the command, in their order.
func (c Compose) Values(name string) []string {
	var out []string
	for _, f := range c.Flags {
		if f.Name == name {
			out = append(out, f.Value)
		}
	}
	return out
}

// Config returns the command line that has compose print the project, with these
// flags of compose's besides those of the line.
func (c Compose) Config(flags, options []string) []string {
	out := c.project(func(f Flag) bool { return f.Name == "dry-run" })
	return slices.Concat(out, flags, []string{"config"}, options)
}

// Place says which project a line is about.
type Place struct {
	Name, Directory, File string
	// Copies are the services that the word for one stands for.
	Copies func(service string) []string
	// Scaled reports whether how many containers the service has is said in File.
	Scaled func(service string) bool
}

// Rewrite returns the line for another place. Options of ours are left out, and
// all other words stay as they are and where they are.
func (c Compose) Rewrite(p Place) []string {
	out := c.project(func(f Flag) bool {
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
			if c.first() {
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
		for _, f := range flags { // the last letter of a cluster may have a word more
			if f.At < at && f.At+f.Words > at {
				out = append(out, c.words[at:f.At+f.Words]...)
				at = f.At + f.Words
			}
		}
	}
	return out
}

// first reports whether a service is one word for one container.
func (c Compose) first() bool { return composeVerbs[c.Verb].first }

// project returns the words before the command, without some flags of compose's.
func (c Compose) project(drop func(Flag) bool) []string {
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
