// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/sgpu"
)

// The exit codes of the design; scripts and units rely on them.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNoGPU    = 3
	exitProblems = 4
	exitUnmet    = 5
	// exitInterrupted is what a shell gives for a program that SIGINT ended.
	exitInterrupted = 130
)

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// usage gives an error the exit code of a wrong command line.
func usageError(err error) error { return exitError{err, exitUsage} }

// orUsage is usageError for an error that may be nil.
func orUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError(err)
}

func usageErrorf(format string, a ...any) error { return usageError(fmt.Errorf(format, a...)) }

// The errors of commands that have already printed what went wrong.
var (
	errPrinted     = errors.New("")
	errNothing     = exitError{errPrinted, exitNoGPU}       // there is no GPU
	errProblems    = exitError{errPrinted, exitProblems}    // a check worked, and found something
	errInterrupted = exitError{errPrinted, exitInterrupted} // a command that runs until it is interrupted
)

func onUsageError(_ *cli.Context, err error, _ bool) error { return usageError(err) }

func exitCode(err error) int {
	var own exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		return own.code
	case errors.As(err, new(*alloc.ArgumentError)), errors.As(err, new(*refresh.ArgumentError)), errors.Is(err,
		node.ErrUnknown):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, discover.ErrNoGPU), errors.Is(err, refresh.ErrNoDriver), errors.Is(err, maca.ErrNone):
		return exitNoGPU
	case errors.Is(err, alloc.ErrUnmet), errors.As(err, new(*alloc.TooLargeError)), errors.As(err,
		new(*sgpu.RefusedError)), errors.As(err, new(*assign.DividedError)), errors.Is(err, lease.ErrBusy):
		return exitUnmet
	}
	return exitFailed
}
