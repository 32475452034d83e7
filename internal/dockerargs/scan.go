// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Command is a command line as the client parses it.
type Command struct {
	// Global are the flags before the command: host, context and so on.
	Global Flags
	// Verb is "run", "create", "start" or "restart", also after "container"; "" for any
	// other command, or if the client will refuse the line before it gets there.
	Verb string
	// Flags are the client's flags after Verb, as far as they could be parsed.
	Flags Flags
	// Image is the first word that is not a flag. HasImage is false if there is none,
	// or if the client stops at an error before it.
	Image    string
	HasImage bool
	// Rest are the words after the image: the command in the container.
	Rest []string
	// Names are the containers of start and restart; empty, like Flags and Options, if
	// the client will refuse the line.
	Names []string
	// TakesGPU reports whether --gpus is given, or --device with the CDI name of a GPU or
	// slice.
	TakesGPU bool
	// Options are metax-docker's options. If --gpus, --maca and --maca-force are all
	// missing, the command concerns only the client: Options is empty and Rewrite
	// changes nothing.
	Options Options

	words []string
	own   Flags // the flags of Options
	end   int   // the index after the flags: of the image, or of the "--" before it
}

// GlobalWords are the words of Global, for another command of the same client.
func (c Command) GlobalWords() []string {
	var out []string
	next := 0
	for _, f := range c.Global {
		end := f.At + f.Words
		out = append(out, c.words[max(f.At, min(next, end)):end]...) // letters in one word are several flags
		next = max(next, end)
	}
	return out
}

// Gives reports whether GPUs or MXMACA are requested for the container.
func (c Command) Gives() bool { return c.TakesGPU || c.own.Has("maca") || c.own.Has("maca-force") }

// Scan parses args, the words after the client's name. It succeeds without --gpus or
// --maca, and for errors that the client itself reports; its errors are
// *UnknownFlagError, *WithoutGPUsError and *OptionError, and the Command then has only Verb.
func Scan(args []string, client Client) (Command, error) {
	cmd, err := scanWithOptions(args, client, options())
	if err == nil && cmd.lacksGPUs() {
		// Then a flag of that name may be the client's.
		cmd, err = scanWithOptions(args, client, optionsBeside(client.Run))
	}
	if err == nil && cmd.lacksGPUs() {
		return Command{Verb: cmd.Verb}, &WithoutGPUsError{Option: cmd.optionWithoutGPUs()}
	}
	return cmd, err
}

// lacksGPUs reports whether there are options of metax-docker without the --gpus or
// --maca that they need.
func (c Command) lacksGPUs() bool { return c.optionWithoutGPUs() != "" && !c.isStart() }

// optionWithoutGPUs is an option of metax-docker without the --gpus or --maca that it
// needs; empty if there is none.
func (c Command) optionWithoutGPUs() string {
	for _, f := range c.own {
		if !c.Gives() || (!c.TakesGPU && strings.HasPrefix(f.Name, "gpus-")) {
			return "--" + f.Name
		}
	}
	return ""
}

// scanWithOptions is Scan with the given options of metax-docker.
func scanWithOptions(args []string, client Client, ours Table) (Command, error) {
	cmd := Command{words: args}
	l := lexer{words: args, known: []Table{client.Global}}
	var err error
	if cmd.Verb, cmd.Global, err = scanVerb(&l); err != nil || cmd.Verb == "" {
		return cmd.withError(err, true)
	}
	if cmd.isStart() {
		return cmd.scanStart(&l, client)
	}
	l.known = []Table{ours, client.Run, client.Global}
	var dashes bool
	cmd.own, cmd.Flags, dashes, err = l.separateFlags(ours)
	cmd.end = l.next
	if dashes {
		cmd.end--
	}
	named, bad := cmd.takeDevices()
	cmd.TakesGPU = named != "" || cmd.own.Has("gpus")
	if bad == nil && cmd.Gives() {
		cmd.Options, bad = readOptions(cmd.own)
	}
	if bad != nil {
		return Command{Verb: cmd.Verb}, bad
	}
	if named != "" {
		cmd.Options.GPUs, cmd.Options.ByDevice = named, true
	}
	if err == nil && l.next < len(args) {
		cmd.Image, cmd.HasImage = args[l.next], true
		cmd.Rest = args[l.next+1:]
	}
	return cmd.withError(err, false)
}

// takeDevices moves --device options that name GPUs or slices by CDI from the client's flags
// to those of metax-docker: they request GPUs as --gpus does. It returns the value of --gpus
// that they stand for; empty if there are none.
func (c *Command) takeDevices() (gpus string, err error) {
	var ids []string
	var flags Flags
	for _, f := range c.Flags {
		kind, id, _ := strings.Cut(f.Value, "=")
		if f.Name != "device" || (kind != request.CDIKind && kind != request.SliceKind) {
			flags = append(flags, f)
			continue
		}
		if c.own.Has("gpus") {
			return "", &OptionError{"--device", "--gpus and --device " + f.Value +
				" both request GPUs; name them in one, such as --gpus='[0,1]'"}
		}
		c.own, ids = append(c.own, f), append(ids, f.Value)
		if kind == request.CDIKind && id == "all" {
			gpus = "all"
		}
	}
	if ids == nil {
		return "", nil
	}
	slices.SortStableFunc(c.own, func(a, b Flag) int { return a.At - b.At })
	c.Flags = flags
	if gpus != "all" || len(ids) > 1 {
		gpus = "[" + strings.Join(ids, ",") + "]"
	}
	return gpus, nil
}

// SplitGlobal returns the flags before the client's command, and the words from the command
// on; nil, nil for a line that the client refuses before it gets there.
func SplitGlobal(args []string, client Client) (global Flags, rest []string) {
	l := lexer{words: args, known: []Table{client.Global}}
	global, _, err := l.readFlags()
	if err != nil {
		return nil, nil
	}
	return global, args[l.next:]
}

// Mistyped finds a typo in the client's command, as "rnu" for run: the command as typed, and
// the one of run, create, start and restart that was probably meant. Both are empty without
// a typo, or if no option of metax-docker follows the command.
func Mistyped(args []string, client Client) (typed, meant string) {
	_, rest := SplitGlobal(args, client)
	if len(rest) > 0 && rest[0] == "container" {
		rest = rest[1:]
	}
	if len(rest) == 0 || slices.Contains(verbs, rest[0]) || !mentionsOption(rest[1:]) {
		return "", ""
	}
	if meant = wording.Closest(rest[0], verbs...); meant != "" {
		typed = rest[0]
	}
	return typed, meant
}

// isStart reports whether the command starts existing containers.
func (c Command) isStart() bool { return c.Verb == "start" || c.Verb == "restart" }

// scanStart parses the words after start or restart, where flags may be between the
// names.
func (c Command) scanStart(l *lexer, client Client) (Command, error) {
	ours := startOptions()
	l.known = []Table{ours, client.Start, client.Global}
	for l.next < len(l.words) {
		own, flags, dashes, err := l.separateFlags(ours)
		c.own, c.Flags = append(c.own, own...), append(c.Flags, flags...)
		if err != nil {
			// The client refuses the line, unless it has flags that docker lacks.
			c.Names = nil
			return c.withError(err, false)
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
		return Command{Verb: c.Verb}, err
	}
	return c, nil
}

// verbs are the commands that metax-docker has options for.
var verbs = []string{"run", "create", "start", "restart"}

// scanVerb reads words up to and including one of the commands.
func scanVerb(l *lexer) (verb string, global Flags, err error) {
	for under := ""; ; under = "container" {
		read, dashes, err := l.readFlags()
		global = append(global, read...)
		// "docker -- run" runs, "docker container -- run" is refused.
		if err != nil || l.next == len(l.words) || (dashes && under != "") {
			return "", global, err
		}
		word := l.words[l.next]
		l.next++
		switch {
		case slices.Contains(verbs, word):
			return word, global, nil
		case word != "container" || under != "":
			return "", global, nil
		}
	}
}

// withError returns the command, or those errors of the lexer that the client does not
// report itself: errors of metax-docker's options and, if any of those may be on the
// line or be meant, unknown flags.
func (c Command) withError(err error, global bool) (Command, error) {
	var option *OptionError
	if errors.As(err, &option) {
		return Command{Verb: c.Verb}, option
	}
	var unknown *UnknownFlagError
	if errors.As(err, &unknown) && (unknown.Ours() || mentionsOption(c.words)) {
		unknown.Global = global
		return Command{Verb: c.Verb}, unknown
	}
	return c, nil
}

// Rewrite returns the command line without metax-docker's options and with inject in the place
// of --gpus, or else of the first --device or of the first of them. Every other word stays
// unchanged and in order. The result shares no memory with args.
func (c Command) Rewrite(inject ...string) []string { return c.RewriteWith(inject, nil) }

// RewriteWith is Rewrite with further flags after all others, which override the
// user's. A line without an image, which the client refuses, gets none.
func (c Command) RewriteWith(inject, last []string) []string {
	out := make([]string, 0, len(c.words)+len(inject)+len(last))
	next, first := 0, max(0, slices.IndexFunc(c.own, func(f Flag) bool { return f.Name == "device" }))
	for i, f := range c.own {
		out = append(out, c.words[next:f.At]...)
		if f.Name == "gpus" || (i == first && !c.own.Has("gpus")) {
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
