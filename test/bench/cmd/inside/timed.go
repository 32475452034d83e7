// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/stopwatch"
)

// build is a folder of the toolkit's programs; prefix begins the names of their cases.
type build struct{ prefix, dir string }

// builds are this tree's programs, and those of another where there are any to compare with.
func builds() []build {
	all := []build{{"", "/e2e/"}}
	if _, err := os.Stat("/e2e/before"); err == nil {
		all = append(all, build{"before/", "/e2e/before/"})
	}
	return all
}

// timed times the cases, and prints the table on standard error.
func timed(rounds int, cases ...stopwatch.Case) (stopwatch.Readings, error) {
	r, err := stopwatch.Time(rounds, cases...)
	if err == nil {
		fmt.Fprintln(os.Stderr, r.Table())
	}
	return r, err
}
