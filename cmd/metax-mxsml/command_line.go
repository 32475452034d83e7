// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml/library"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// commandLine is a parsed command line.
type commandLine struct {
	library string
	action  func(*library.Library) (mxsml.Answer, error)
}

func parseCommandLine(args []string) (commandLine, error) {
	if len(args) < 2 {
		return commandLine{}, errors.New("want a library and a command")
	}
	o := commandLine{library: args[0]}
	if !filepath.IsAbs(o.library) {
		return commandLine{}, fmt.Errorf("%q is not an absolute path", o.library)
	}
	word, rest := args[1], args[2:]
	if word == "sgpu" && len(rest) > 0 {
		word, rest = "sgpu "+rest[0], rest[1:]
	}
	declare, ok := commands[word]
	if !ok {
		return commandLine{}, fmt.Errorf("unknown command %q", word)
	}
	flags := flag.NewFlagSet(word, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	a := &arguments{}
	o.action = declare(flags, a)
	if err := flags.Parse(rest); err != nil {
		return commandLine{}, fmt.Errorf("%s: %w", word, err)
	}
	if flags.NArg() > 0 {
		return commandLine{}, fmt.Errorf("%s: unexpected argument %q", word, flags.Arg(0))
	}
	if flags.Lookup("gpu") != nil && a.slice.BDF == (gpu.BDF{}) {
		return commandLine{}, fmt.Errorf("%s: --gpu=BDF is missing", word)
	}
	switch {
	case word == "sgpu create":
		return o, a.slice.Check()
	case word == "sgpu remove" && !gpu.ValidSliceUUID(a.name):
		return commandLine{}, fmt.Errorf("%s: --slice=UUID or --slice=INDEX is missing", word)
	}
	return o, nil
}

// arguments are those of all commands.
type arguments struct {
	details bool
	slice   mxsml.SliceRequest
	name    string
}

// commands declare their flags and return the function that executes the command.
var commands = map[string]func(*flag.FlagSet, *arguments) func(*library.Library) (mxsml.Answer, error){
	"node": func(f *flag.FlagSet, a *arguments) func(*library.Library) (mxsml.Answer, error) {
		f.BoolVar(&a.details, "details", false, "")
		return func(l *library.Library) (mxsml.Answer, error) { return l.Node(a.details) }
	},
	"readings": func(*flag.FlagSet, *arguments) func(*library.Library) (mxsml.Answer, error) {
		return (*library.Library).Readings
	},
	"sgpu create": func(f *flag.FlagSet, a *arguments) func(*library.Library) (mxsml.Answer, error) {
		f.TextVar(&a.slice.BDF, "gpu", gpu.BDF{}, "")
		f.IntVar(&a.slice.Compute, "compute", 0, "")
		f.IntVar(&a.slice.MemoryMiB, "memory", 0, "")
		f.StringVar(&a.slice.QoS, "qos", "", "")
		f.StringVar(&a.slice.Alias, "alias", "", "")
		return func(l *library.Library) (mxsml.Answer, error) {
			s, err := l.Create(a.slice)
			return mxsml.Answer{Slice: &s}, err
		}
	},
	"sgpu remove": func(f *flag.FlagSet, a *arguments) func(*library.Library) (mxsml.Answer, error) {
		f.TextVar(&a.slice.BDF, "gpu", gpu.BDF{}, "")
		f.StringVar(&a.name, "slice", "", "")
		return func(l *library.Library) (mxsml.Answer, error) {
			return mxsml.Answer{}, l.Remove(a.slice.BDF, a.name)
		}
	},
	"sgpu enable":  setMode(true),
	"sgpu disable": setMode(false),
}

func setMode(sliced bool) func(*flag.FlagSet, *arguments) func(*library.Library) (mxsml.Answer, error) {
	return func(f *flag.FlagSet, a *arguments) func(*library.Library) (mxsml.Answer, error) {
		f.TextVar(&a.slice.BDF, "gpu", gpu.BDF{}, "")
		return func(l *library.Library) (mxsml.Answer, error) {
			return mxsml.Answer{}, l.SetMode(a.slice.BDF, sliced)
		}
	}
}
