package dockerargs

import (
	"strconv"
	"strings"
)

// UnknownFlagError reports a flag that is not in the tables, so that the word
// after it may be its value or something else. Merge the client's own help (see
// ParseHelp) into the tables and scan again; if that does not help, the client
// does not know the flag either, and the message may be shown.
type UnknownFlagError struct {
	Flag   string // as typed: "--name", or "-x" out of a cluster of letters
	Global bool   // it stands before the command
}

func (e *UnknownFlagError) Error() string {
	flag := strconv.Quote(e.Flag)
	switch {
	case len(e.Flag) == len("-x"):
		return "unknown shorthand flag: " + flag
	case e.Global && table(options).Has(e.Flag[len("--"):]):
		return "unknown flag: " + flag + " (it goes after run or create)"
	}
	return "unknown flag: " + flag + ` (if it takes a value, write them as one word with "=")`
}

// WithoutGPUsError reports an option of the wrapper's that says how --gpus or
// --maca is met, on a command line without. The client may have a flag of that name:
// as with UnknownFlagError, scan again with its own tables.
type WithoutGPUsError struct {
	Option string // "--dry-run"
}

func (e *WithoutGPUsError) Error() string {
	with := "--gpus or --maca"
	if strings.HasPrefix(e.Option, "--gpus-") {
		with = "--gpus"
	}
	return e.Option + " goes with " + with + " only; add for example --gpus=1"
}

// OptionError reports a wrong use of one of the wrapper's options.
type OptionError struct {
	Option string // "--gpus"
	Reason string
}

func (e *OptionError) Error() string { return e.Reason }

func missingValue(option string) error {
	return &OptionError{option, "flag needs an argument: " + option} // as docker says it
}

func givenTwice(option string) error {
	return &OptionError{option, option + " is given twice; give it once"}
}

func badValue(option, value, want string) error {
	return &OptionError{option, "invalid argument " + strconv.Quote(value) + " for " + option + ": want " + want}
}
