package dockerargs

import (
	"strconv"
	"strings"
)

// UnknownFlagError reports a flag that is not in the tables, so that it is unknown
// whether the next word is its value. Merge the client's own help (see ParseHelp) into
// the tables and scan again; if the flag is still unknown, the client does not know it
// either, and the message may be shown.
type UnknownFlagError struct {
	Flag   string // as typed: "--name", or "-x" out of a cluster of letters
	Global bool   // whether it is before the command
}

func (e *UnknownFlagError) Error() string {
	flag := strconv.Quote(e.Flag)
	switch {
	case len(e.Flag) == len("-x"):
		return "unknown shorthand flag: " + flag
	case e.Global && options().Has(e.Flag[len("--"):]):
		return "unknown flag: " + flag + " (it goes after run or create)"
	}
	return "unknown flag: " + flag + ` (if it takes a value, write them as one word with "=")`
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

func badValue(option, value, want string) error {
	return &OptionError{option, "invalid argument " + strconv.Quote(value) + " for " + option + ": want " + want}
}
