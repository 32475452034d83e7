package dockerargs

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what metax-docker understands besides docker's own flags.
type Options struct {
	GPUs    string // --gpus, which GPUs: see package request
	Policy  string // --gpus-policy, how to pick them; "" is the default
	Explain bool   // --gpus-explain, say why these
	DryRun  bool   // --dry-run, print the docker command instead of running it
	Inject  string // --inject, InjectAuto, InjectCDI or InjectFlags; "" is none given
	Share   bool   // --gpus-share, also GPUs that others hold
	// Wait is --gpus-wait: how long to wait for GPUs to come free, 0 for not at
	// all.
	Wait time.Duration
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
	{Name: "gpus-share"},
	{Name: "gpus-wait", Value: true},
	{Name: "inject", Value: true},
}

// startOptions are those of them that go with start and restart, where the
// container says which GPUs.
var startOptions = Table{
	{Name: "dry-run"},
	{Name: "gpus-share"},
	{Name: "gpus-wait", Value: true},
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
		case "gpus-share":
			o.Share, err = readBool(option, f.Value)
		case "gpus-wait":
			o.Wait, err = readWait(option, f.Value)
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

func readWait(option, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, badValue(option, value, "a time such as 30s, 10m or 2h")
	}
	return d, nil
}
