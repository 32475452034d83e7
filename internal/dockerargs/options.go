package dockerargs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
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
	MACA MACA
	// MACACheck is --maca-check, MACACheckOff, MACACheckWarn or MACACheckStrict;
	// "" is none given.
	MACACheck string
}

// MACA is what --maca and --maca-force ask for: the host's MXMACA software.
type MACA struct {
	// Given is true with either option.
	Given bool
	// Force is --maca-force: also where the image has its own.
	Force bool
	// Version is --maca=VERSION or --maca-force=VERSION; "" is the host's default.
	Version string
}

// The ways to put a GPU into a container that --inject knows.
const (
	InjectAuto  = "auto" // the best that the engine has
	InjectCDI   = "cdi"
	InjectFlags = "flags"
)

// What --maca-check does about an MXMACA that does not fit the host's driver.
const (
	MACACheckOff    = "off"
	MACACheckWarn   = "warn"
	MACACheckStrict = "strict" // refuses it
)

// options are the flags behind Options. The versions behind --maca and
// --maca-force are optional, so they stand in the flag's own word.
const options = "dry-run gpus= gpus-explain gpus-policy= gpus-share gpus-wait= inject= maca maca-check= maca-force"

// startOptions are those of them that go with start and restart, where the
// container says which GPUs.
const startOptions = "dry-run gpus-share gpus-wait="

// optionsBeside are the options that a client with these flags leaves to us:
// --gpus is always ours.
func optionsBeside(run Table) Table {
	return slices.DeleteFunc(table(options), func(s Spec) bool { return s.Name != "gpus" && run.Has(s.Name) })
}

// mentioned reports whether any word could be an option of ours. Only then does a
// flag that nobody knows matter.
func mentioned(words []string) bool {
	options := table(options)
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
		case "maca", "maca-force":
			err = o.MACA.read(f)
		case "maca-check":
			if o.MACACheck = f.Value; o.MACACheck != MACACheckOff && o.MACACheck != MACACheckWarn && o.MACACheck != MACACheckStrict {
				err = badValue(option, f.Value, MACACheckOff+", "+MACACheckWarn+" or "+MACACheckStrict)
			}
		}
		if err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// read takes in --maca or --maca-force, alone, with a version, or as a switch:
// --maca=false is as good as none.
func (m *MACA) read(f Flag) error {
	option := "--" + f.Name
	if on, err := strconv.ParseBool(f.Value); err == nil && len(f.Value) > 1 {
		m.Given, m.Force = m.Given || on, m.Force || on && f.Name == "maca-force"
		return nil
	}
	if !isVersion(f.Value) {
		return badValue(option, f.Value, "a version such as "+option+"=3.3.0.15")
	}
	if m.Version != "" && m.Version != f.Value {
		return &OptionError{option, "--maca=" + m.Version + " and --maca-force=" + f.Value + " name two versions; name one"}
	}
	m.Given, m.Force, m.Version = true, m.Force || f.Name == "maca-force", f.Value
	return nil
}

// isVersion reports whether s may be the version of an installation, which is part
// of a directory's name.
func isVersion(s string) bool {
	return compat.IsWord(s) && s[0] != '.' && s[0] != '-' && !strings.ContainsAny(s, `/:\,="'`)
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
