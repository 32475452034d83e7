package dockerargs

import (
	"errors"
	"strings"
)

// Command is a command line as the client will read it.
type Command struct {
	// Global are the flags before the command: host, context and so on.
	Global Flags
	// Verb is "run", "create", "start" or "restart", also under "container"; "" is
	// any other command, or one that the client will refuse before it gets there.
	Verb string
	// Flags are the client's flags under Verb, as far as they could be read.
	Flags Flags
	// Image is the first word that is no flag. HasImage is false where there is
	// none, or where the client stops at a fault before it.
	Image    string
	HasImage bool
	// Rest are the words after the image: the command in the container.
	Rest []string
	// Names are the containers of start and restart; none where the client will
	// refuse the line, and Flags and Options with them.
	Names []string
	// TakesGPU reports whether --gpus is given.
	TakesGPU bool
	// Options are those of ours. Where neither --gpus nor --maca nor --maca-force
	// is given, the command is the client's alone: they are empty and Rewrite
	// changes nothing.
	Options Options

	words []string
	own   Flags // where the words of Options stand
	end   int   // where the flags end: at the image, or at the "--" before it
}

// GlobalWords are the words of Global, for another command of the same client.
func (c Command) GlobalWords() []string {
	var out []string
	next := 0
	for _, f := range c.Global {
		end := f.At + f.Words
		out = append(out, c.words[max(f.At, min(next, end)):end]...) // letters of one word are several flags
		next = max(next, end)
	}
	return out
}

// Gives reports whether anything of ours goes into the container.
func (c Command) Gives() bool { return c.TakesGPU || c.own.Has("maca") || c.own.Has("maca-force") }

// Scan reads args, the words after the client's name. Without --gpus or --maca,
// or with a fault that the client reports itself, it succeeds; the errors are
// *UnknownFlagError, *WithoutGPUsError and *OptionError.
func Scan(args []string, client Client) (Command, error) {
	cmd, err := scan(args, client, table(options))
	if err == nil && cmd.lacks() {
		// Then what looks like ours may be a flag of the client's.
		cmd, err = scan(args, client, optionsBeside(client.Run))
	}
	if err == nil && cmd.lacks() {
		return Command{}, &WithoutGPUsError{Option: cmd.option()}
	}
	return cmd, err
}

// lacks reports whether there are options of ours, but not the one that they go
// with.
func (c Command) lacks() bool { return c.option() != "" && !c.starts() }

// option is an option of ours that lacks the one that it goes with.
func (c Command) option() string {
	for _, f := range c.own {
		if !c.Gives() || !c.TakesGPU && strings.HasPrefix(f.Name, "gpus-") {
			return "--" + f.Name
		}
	}
	return ""
}

// scan is Scan with the given options of ours.
func scan(args []string, client Client, ours Table) (Command, error) {
	cmd := Command{words: args}
	l := lexer{words: args, known: []Table{client.Global}}
	var err error
	if cmd.Verb, cmd.Global, err = verb(&l); err != nil || cmd.Verb == "" {
		return cmd.settle(err, true)
	}
	if cmd.starts() {
		return cmd.start(&l, client)
	}
	l.known = []Table{ours, client.Run, client.Global}
	var dashes bool
	cmd.own, cmd.Flags, dashes, err = l.split(ours)
	if cmd.end = l.next; dashes {
		cmd.end--
	}
	cmd.TakesGPU = cmd.own.Has("gpus")
	if cmd.Gives() {
		var bad error
		if cmd.Options, bad = readOptions(cmd.own); bad != nil {
			return Command{}, bad
		}
	}
	if err == nil && l.next < len(args) {
		cmd.Image, cmd.HasImage = args[l.next], true
		cmd.Rest = args[l.next+1:]
	}
	return cmd.settle(err, false)
}

// starts reports whether the command starts containers that are there already.
func (c Command) starts() bool { return c.Verb == "start" || c.Verb == "restart" }

// start reads on after start or restart, where flags may stand between the names.
func (c Command) start(l *lexer, client Client) (Command, error) {
	ours := table(startOptions)
	l.known = []Table{ours, client.Start, client.Global}
	for l.next < len(l.words) {
		own, flags, dashes, err := l.split(ours)
		c.own, c.Flags = append(c.own, own...), append(c.Flags, flags...)
		if err != nil {
			// The client refuses it, unless it knows more than docker.
			c.Names = nil
			return c.settle(err, false)
		}
		if dashes {
			c.Names = append(c.Names, l.words[l.next:]...)
			break
		}
		if l.next < len(l.words) {
			c.Names = append(c.Names, l.words[l.next])
			l.next++
		}
	}
	var err error
	if c.Options, err = readOptions(c.own); err != nil {
		return Command{}, err
	}
	return c, nil
}

// verb reads up to and with one of the commands.
func verb(l *lexer) (verb string, global Flags, err error) {
	for under := ""; ; under = "container" {
		read, dashes, err := l.flags()
		global = append(global, read...)
		// "docker -- run" runs, "docker container -- run" is refused.
		if err != nil || l.next == len(l.words) || dashes && under != "" {
			return "", global, err
		}
		word := l.words[l.next]
		l.next++
		switch {
		case word == "run" || word == "create" || word == "start" || word == "restart":
			return word, global, nil
		case word != "container" || under != "":
			return "", global, nil
		}
	}
}

// settle decides what an error of the lexer is to the caller: faults are the
// client's to report but for those of our options, and so are unknown flags where
// nothing is ours.
func (c Command) settle(err error, global bool) (Command, error) {
	var option *OptionError
	if errors.As(err, &option) {
		return Command{}, option
	}
	var unknown *UnknownFlagError
	if errors.As(err, &unknown) && mentioned(c.words) {
		unknown.Global = global
		return Command{}, unknown
	}
	return c, nil
}

// Rewrite returns the command line without the options of ours and with inject
// where --gpus stood, or else the first of them. Every other word stays as it
// was and where it was. The result shares nothing with args.
func (c Command) Rewrite(inject ...string) []string { return c.RewriteWith(inject, nil) }

// RewriteWith is Rewrite with further flags behind all others, for those that
// have to win over the user's. A line without an image, which the client refuses,
// gets none.
func (c Command) RewriteWith(inject, last []string) []string {
	out := make([]string, 0, len(c.words)+len(inject)+len(last))
	next := 0
	for i, f := range c.own {
		out = append(out, c.words[next:f.At]...)
		if f.Name == "gpus" || i == 0 && !c.TakesGPU {
			out = append(out, inject...)
		}
		next = f.At + f.Words
	}
	if c.HasImage {
		out = append(append(out, c.words[next:c.end]...), last...)
		next = c.end
	}
	return append(out, c.words[next:]...)
}
