package request

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons a well-formed value is refused for, inside a ValueError.
var (
	// ErrMixed reports a request for whole GPUs and for slices.
	ErrMixed = errors.New("whole GPUs and slices (sGPU) together")
	// ErrDriver reports a request that is meant for another vendor's driver.
	ErrDriver = errors.New("not a MetaX driver")
)

// UnknownError reports an ID that no GPU of the node has.
type UnknownError struct {
	ID   string
	GPUs string // those of the node: "GPUs 0-7"
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%q is not a GPU; this node has %s", e.ID, e.GPUs)
}

// ValueError reports a value that asks for nothing this package knows. Like all
// errors of this package it does not name the option, of which there are several:
// the caller puts it in front.
type ValueError struct {
	Value string // as it was given
	Err   error  // what is wrong with it
	Hint  string // what to write instead
}

// Error says what is wrong and what to write instead, on one line.
func (e *ValueError) Error() string {
	const shown = 80 // bytes of a long value; the end of it helps nobody
	value := fmt.Sprintf("%q", e.Value)
	if len(e.Value) > shown {
		value = fmt.Sprintf("%q…", strings.ToValidUTF8(e.Value[:shown], ""))
	}
	return fmt.Sprintf("invalid value %s: %v; %s", value, e.Err, e.Hint)
}

// Unwrap gives the reason.
func (e *ValueError) Unwrap() error { return e.Err }
