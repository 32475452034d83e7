// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"
)

// Reasons why a well-formed value is refused, inside a ValueError.
var (
	// ErrMixed reports a request for whole GPUs and for slices.
	ErrMixed = errors.New("whole GPUs and slices (sGPU) together")
	// ErrDriver reports a request that is meant for another vendor's driver.
	ErrDriver = errors.New("not a MetaX driver")
)

// UnknownError reports an ID that no GPU of the node has.
type UnknownError struct {
	ID    string
	Range string // the range of indices that has the ID; empty if it is given by itself
	GPUs  string // the node's GPUs: "GPUs 0-7"
}

func (e *UnknownError) Error() string {
	if e.Range != "" {
		return fmt.Sprintf("the range %s includes %s, which is not a GPU; this node has %s", e.Range, e.ID, e.GPUs)
	}
	return fmt.Sprintf("%q is not a GPU; this node has %s", e.ID, e.GPUs)
}

// ValueError reports an invalid value. Like all errors of this package it does not name
// the option, because several options have this grammar: the caller adds it.
type ValueError struct {
	Value string // as it was given
	Err   error  // what is wrong with it
	Hint  string // what to write instead
}

// Error returns what is wrong and what to write instead, on one line.
func (e *ValueError) Error() string {
	const shown = 80 // bytes; the rest of a long value is cut
	value := fmt.Sprintf("%q", e.Value)
	if len(e.Value) > shown {
		value = fmt.Sprintf("%q…", strings.ToValidUTF8(e.Value[:shown], ""))
	}
	return fmt.Sprintf("invalid value %s: %v; %s", value, e.Err, e.Hint)
}

// Unwrap returns the reason.
func (e *ValueError) Unwrap() error { return e.Err }
