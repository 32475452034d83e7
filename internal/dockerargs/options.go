// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Options are metax-docker's options besides docker's own flags.
type Options struct {
	GPUs string // --gpus, the requested GPUs: see package request
	// ByDevice is true if --device options stand for --gpus.
	ByDevice bool
	Policy   string // --gpus-policy, how to pick them; "" stands for the default
	Scope    string // --gpus-scope, what they must share; "" stands for the default
	Sizes    string // --gpus-sizes, the rule for unusual numbers; "" stands for the default
	Explain  bool   // --gpus-explain, print why these were chosen
	DryRun   bool   // --dry-run, print the docker command instead of running it
	Inject   string // --inject, InjectAuto, InjectCDI or InjectFlags; "" if not given
	Share    bool   // --gpus-share, accept GPUs in use by others
	// Wait is --gpus-wait: how long to wait for free GPUs; 0 is not at all.
	Wait time.Duration
	MACA MACA
	// LogLevel is --gpus-log-level; "" if not given.
	LogLevel string
	// MACACheck is --maca-check: MACACheckOff, MACACheckWarn or MACACheckStrict; "" if
	// not given.
	MACACheck string
}

// MACA is what --maca and --maca-force request: the host's MXMACA software.
type MACA struct {
	// Given reports whether one of the options is given.
	Given bool
	// Off reports whether one of them is given as false.
	Off bool
	// Force is --maca-force: mount the host's MXMACA even if the image has its own.
	Force bool
	// Version is --maca=VERSION or --maca-force=VERSION; "" stands for the host's
	// default.
	Version string
}

// The values of --inject: how GPUs are injected into a container.
const (
	InjectAuto  = "auto" // the best way that the engine supports
	InjectCDI   = "cdi"
	InjectFlags = "flags"
)

// The values of --maca-check: what happens if an MXMACA does not fit the host's driver.
const (
	MACACheckOff    = "off"
	MACACheckWarn   = "warn"
	MACACheckStrict = "strict" // the container is refused
)

// LogLevels are the values of --gpus-log-level.
var LogLevels = []string{"off", "error", "warn", "info"}

// options are the flags of Options. The versions after --maca and --maca-force are
// optional, so they must be in the flag's own word.
var options = tableOf(
	"dry-run gpus= gpus-explain gpus-log-level= gpus-policy= gpus-scope= gpus-share gpus-sizes= gpus-wait= inject= maca maca-check= maca-force")

// startOptions are the options for start and restart, where the existing container has
// its GPUs already.
var startOptions = tableOf("dry-run gpus-log-level= gpus-share gpus-wait=")

// optionsBeside are metax-docker's options for a client with these flags of its own,
// which take precedence except for --gpus.
func optionsBeside(run Table) Table {
	return slices.DeleteFunc(slices.Clone(options()), func(s Spec) bool { return s.Name != "gpus" && run.Has(s.Name) })
}

// closestOption is the option that was probably meant by a name; empty if none is near.
func closestOption(name string) string {
	var names []string
	for _, s := range options() {
		names = append(names, s.Name)
	}
	return wording.Closest(name, names...)
}

// meansOption reports whether a flag that the client lacks was probably meant for
// metax-docker.
func meansOption(name string) bool {
	return strings.HasPrefix(name, "gpus-") || strings.HasPrefix(name, "maca-") || closestOption(name) != ""
}

// mentionsOption reports whether any word could be an option of metax-docker. Only then
// does an unknown flag matter.
func mentionsOption(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		name, ok := strings.CutPrefix(w, "-")
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
		return ok && options().Has(name)
	})
}

// readOptions parses the values of metax-docker's flags.
func readOptions(flags Flags) (o Options, err error) {
	for i, f := range flags {
		option := "--" + f.Name
		if f.Name == "device" {
			continue
		}
		if flags[:i].Has(f.Name) {
			return Options{}, givenTwice(option)
		}
		switch f.Name {
		case "gpus":
			o.GPUs = f.Value
		case "gpus-policy":
			o.Policy = f.Value
		case "gpus-scope":
			o.Scope = f.Value
		case "gpus-sizes":
			o.Sizes = f.Value
		case "gpus-explain":
			o.Explain, err = readBool(option, f.Value)
		case "gpus-log-level":
			o.LogLevel = f.Value
			if !slices.Contains(LogLevels, f.Value) {
				err = badWord(option, f.Value, LogLevels...)
			}
		case "gpus-share":
			o.Share, err = readBool(option, f.Value)
		case "gpus-wait":
			o.Wait, err = readWait(option, f.Value)
		case "dry-run":
			o.DryRun, err = readBool(option, f.Value)
		case "inject":
			if o.Inject = f.Value; o.Inject != InjectAuto && o.Inject != InjectCDI && o.Inject != InjectFlags {
				err = badWord(option, f.Value, InjectAuto, InjectCDI, InjectFlags)
			}
		case "maca", "maca-force":
			err = o.MACA.read(f)
		case "maca-check":
			if o.MACACheck = f.Value; o.MACACheck != MACACheckOff && o.MACACheck != MACACheckWarn &&
				o.MACACheck != MACACheckStrict {
				err = badWord(option, f.Value, MACACheckOff, MACACheckWarn, MACACheckStrict)
			}
		}
		if err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// read parses --maca or --maca-force, alone, with a version, or with a boolean.
func (m *MACA) read(f Flag) error {
	option := "--" + f.Name
	if on, err := strconv.ParseBool(f.Value); err == nil && len(f.Value) > 1 {
		m.Given, m.Off, m.Force = m.Given || on, m.Off || !on, m.Force || (on && f.Name == "maca-force")
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

// isVersion reports whether s may be the version of an installation, which is part of a
// directory name.
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
