package main

import (
	"errors"
	"os"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

// On a machine that is less than a real node, test/e2e moves runc to realRunc and puts a
// program of its own, the shim, in its place.
const (
	runc     = "/usr/sbin/runc"
	realRunc = runc + ".real"
)

const shimRounds = 100

func hasShim() bool {
	_, err := os.Stat(realRunc)
	return err == nil
}

// shim measures the cost of the shim for the program that starts runc.
func shim([]string) (figure.Set, error) {
	if !hasShim() {
		return figure.Set{}, nil
	}
	r, err := stopwatch.Time(shimRounds,
		stopwatch.Process("runc", nil, realRunc, "--version"),
		stopwatch.Process("shim", nil, runc, "--version"),
	)
	if err != nil {
		return nil, err
	}
	return figure.Set{"engine/shim": r.Added("shim", "runc")}, nil
}

// bareRunc takes the shim out of the way until restore, as on a real node. No container can
// be started meanwhile.
func bareRunc() (restore func() error, err error) {
	if !hasShim() {
		return func() error { return nil }, nil
	}
	const aside = runc + ".shim"
	restore = func() error { return errors.Join(os.Rename(runc, realRunc), os.Rename(aside, runc)) }
	return restore, errors.Join(os.Rename(runc, aside), os.Rename(realRunc, runc))
}
