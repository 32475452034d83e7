// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run runs the program metax-mxsml to its end and returns its standard output, which
// has the reason if the program failed in an orderly way. Run ends the program when ctx
// ends. It fails for any exit code except 0; the error has a method ExitCode, unless
// the program could not be started.
type Run func(ctx context.Context, args ...string) ([]byte, error)

// DefaultTimeout bounds one run. The library wakes sleeping GPUs, which takes seconds.
const DefaultTimeout = 10 * time.Second

// Paths are where the library is installed on a host, in the order in which MetaX's own
// programs look for it.
func Paths() []string {
	return []string{"/opt/mxdriver/lib/libmxsml.so", "/opt/maca/lib/libmxsml.so", "/opt/mxn100/lib/libmxsml.so"}
}

// Reader queries a host's libmxsml.
type Reader struct {
	Run  Run
	Path string // of the library, as Run sees it; absolute
	// Timeout bounds one run; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Read queries everything that discovery needs. It fails with ErrUnusable for a file
// that is not libmxsml, with ErrCrashed if the library ended the program, with
// context.DeadlineExceeded if it did not answer in time, with a *CodeError if it cannot
// list the GPUs, and with ErrFormat. Other facts that it does not report are missing in
// the Answer.
func (r Reader) Read(ctx context.Context) (Answer, error) { return r.queryLibrary(ctx, "node") }

func (r Reader) queryLibrary(ctx context.Context, args ...string) (Answer, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a, err := r.answer(ctx, args)
	if err != nil {
		return Answer{}, fmt.Errorf("query %s: %w", r.Path, err)
	}
	return a, nil
}

func (r Reader) answer(ctx context.Context, args []string) (Answer, error) {
	out, failed := r.Run(ctx, append([]string{r.Path}, args...)...)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Answer{}, fmt.Errorf("no answer in time: %w", ctx.Err())
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	}
	a, err := Decode(out)
	var exit interface{ ExitCode() int }
	switch {
	case err == nil && a.Failure != nil:
		return Answer{}, a.Failure.asError()
	case errors.As(failed, &exit):
		return Answer{}, fmt.Errorf("%w: %w", ErrCrashed, failed)
	case failed != nil:
		return Answer{}, failed
	case len(out) == 0:
		return Answer{}, fmt.Errorf("%w: it ended the program", ErrCrashed)
	}
	return a, err
}
