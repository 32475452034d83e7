package dockerargs

import (
	"slices"
	"strconv"
	"strings"
)

// Options are what metax-docker understands besides docker's own flags.
type Options struct {
	GPUs    string // --gpus, which GPUs: see package request
	Policy  string // --gpus-policy, how to pick them; "" is the default
	Explain bool   // --gpus-explain, say why these
	DryRun  bool   // --dry-run, print the docker command instead of running it
	Inject  string // --inject, InjectAuto, InjectCDI or InjectFlags; "" is none given
}

// The ways to put a GPU into a container that --inject knows.
const (
	InjectAuto  = "auto" // the best that the engine has
	InjectCDI   = "cdi"
	InjectFlags = "flags"
)

// options are the flags behind Options.
var options = Table{
	{Name: "dry-run"},
	{Name: "gpus", Value: true},
	{Name: "gpus-explain"},
	{Name: "gpus-policy", Value: true},
	{Name: "inject", Value: true},
}

// optionsBeside are the options that a client with these flags leaves to us:
// --gpus is always ours.
func optionsBeside(run Table) Table {
	return slices.DeleteFunc(slices.Clone(options), func(s Spec) bool { return s.Name != "gpus" && run.Has(s.Name) })
}

// mentioned tells whether any word could be an option of ours. Only then does a
// flag that nobody knows matter.
func mentioned(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		name, ok := strings.CutPrefix(w, "--")
		if !ok {
			return false
		}
		name, _, _ = strings.Cut(name, "=")
		return options.Has(name)
	})
}

// readOptions gives flags, all of them ours, their meaning.
func readOptions(flags Flags) (o Options, err error) {
	for i, f := range flags {
		option := "--" + f.Name
		if flags[:i].Has(f.Name) {
			return Options{}, givenTwice(option)
		}
		switch f.Name {
		case "gpus":
			o.GPUs = f.Value
		case "gpus-policy":
			o.Policy = f.Value
		case "gpus-explain":
			o.Explain, err = readBool(option, f.Value)
		case "dry-run":
			o.DryRun, err = readBool(option, f.Value)
		case "inject":
			if o.Inject = f.Value; o.Inject != InjectAuto && o.Inject != InjectCDI && o.Inject != InjectFlags {
				err = badValue(option, f.Value, InjectAuto+", "+InjectCDI+" or "+InjectFlags)
			}
		}
		if err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

func readBool(option, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, badValue(option, value, "true or false")
	}
	return on, nil
}
