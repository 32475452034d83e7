// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// UnknownFlagError reports a flag that is not in the tables, so that it is unknown
// whether the next word is its value. Merge the client's own help (see ParseHelp) into
// the tables and scan again; if the flag is still unknown, the client does not know it
// either, and the message may be shown.
type UnknownFlagError struct {
	Flag   string // as typed: "--name", or "-x" out of a cluster of letters
	Global bool   // whether it is before the command
}

// Ours reports whether an option of metax-docker was probably meant.
func (e *UnknownFlagError) Ours() bool { return meansOption(strings.TrimPrefix(e.Flag, "--")) }

func (e *UnknownFlagError) Error() string {
	flag := strconv.Quote(e.Flag)
	if len(e.Flag) == len("-x") {
		return "unknown shorthand flag: " + flag
	}
	name := e.Flag[len("--"):]
	switch {
	case composeOptions().Has(name):
		return "unknown flag: " + flag + " here (it goes after run, create or compose up)"
	case options().Has(name):
		return "unknown flag: " + flag + " here (it goes after run or create)"
	case e.Ours() && closestOption(name) != "":
		return "unknown flag: " + flag + wording.DidYouMean("--"+closestOption(name))
	case e.Ours():
		return "unknown flag: " + flag
	}
	return "unknown flag: " + flag + " (if it takes a value, write " + e.Flag + "=VALUE)"
}

// WithoutGPUsError reports an option of metax-docker that needs --gpus or --maca, on a
// command line without them. The client may have a flag of that name: as with
// UnknownFlagError, scan again with the client's own tables.
type WithoutGPUsError struct {
	Option string // "--dry-run"
}

func (e *WithoutGPUsError) Error() string {
	with := "--gpus or --maca"
	if strings.HasPrefix(e.Option, "--gpus-") {
		with = "--gpus"
	}
	return e.Option + " needs " + with + "; add for example --gpus=1"
}

// OptionError reports the wrong use of an option of metax-docker.
type OptionError struct {
	Option string // "--gpus"
	Reason string
}

func (e *OptionError) Error() string { return e.Reason }

func missingValue(option string) error {
	return &OptionError{option, "flag needs an argument: " + option} // docker's wording
}

func givenTwice(option string) error {
	return &OptionError{option, option + " is given twice; give it once"}
}

// badWord is badValue for an option with a few words as values.
func badWord(option, value string, words ...string) error {
	last := len(words) - 1
	want := strings.Join(words[:last], ", ") + " or " + words[last]
	return badValue(option, value, want+wording.Meant(value, words...))
}

func badValue(option, value, want string) error {
	return &OptionError{option, "invalid argument " + strconv.Quote(value) + " for " + option + ": want " + want}
}
