package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/cmd/internal/where"
	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/occupancy"
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

// usageError is a wrong command line.
type usageError struct{ error }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

func (e usageError) Unwrap() error { return e.error }

// errProblems ends a check that worked and found something; what it found has
// been printed already.
var errProblems = problems{}

type problems struct{}

func (problems) Error() string { return "" }

// errUnmet ends a pick that cannot be met, as has been printed already.
var errUnmet = unmet{}

type unmet struct{}

func (unmet) Error() string { return "" }

func (unmet) Is(target error) bool { return target == alloc.ErrUnmet }

func onUsageError(_ *cli.Context, err error, _ bool) error { return usageError{err} }

func exitCode(err error) int {
	var usage usageError
	var argument *alloc.ArgumentError
	var large *alloc.TooLargeError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &argument), errors.Is(err, where.ErrUnknown):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, discover.ErrNoGPU), errors.Is(err, maca.ErrNone):
		return exitNoGPU
	case errors.Is(err, errProblems):
		return exitProblems
	case errors.Is(err, alloc.ErrUnmet), errors.As(err, &large), errors.Is(err, occupancy.ErrBusy):
		return exitUnmet
	}
	return exitFailed
}
