// SPDX-License-Identifier: Apache-2.0

// Package stopwatch times cases in turn, so that whatever else the machine does meets all of
// them alike. It knows nothing of what it times.
package stopwatch

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// Case is one thing to time.
type Case struct {
	Name string
	// Prepare runs before each run and is not timed; may be nil.
	Prepare func() error
	// Run is what is timed. It returns the peak resident memory in bytes of the process
	// that it ran, 0 if it ran none.
	Run func() (memory int64, err error)
}

// Process is a case that runs a program to its end, which must be a good one. Its peak
// memory is never below this process's own: the kernel counts a child from its fork on.
func Process(name string, env []string, argv ...string) Case {
	return Case{Name: name, Run: func() (int64, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), env...)
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("run %q: %w", argv, err)
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return usage.Maxrss << 10, nil
	}}
}

// Readings are what the runs of each case gave, in the order of the rounds.
type Readings map[string][]Reading

// Reading is one run.
type Reading struct {
	Wall   time.Duration
	CPU    time.Duration // of the processes that it ran and waited for
	Memory int64         // peak, in bytes
}

// Time runs every case once to warm up, then once in each of the rounds. The order turns
// around from round to round: a case does not always pay for what the same other left behind.
func Time(rounds int, cases ...Case) (Readings, error) {
	all := Readings{}
	for round := range rounds + 1 {
		for i := range cases {
			if round%2 == 1 {
				i = len(cases) - 1 - i
			}
			c := cases[i]
			reading, err := c.read()
			if err != nil {
				return nil, fmt.Errorf("measure %q: %w", c.Name, err)
			}
			if round > 0 {
				all[c.Name] = append(all[c.Name], reading)
			}
		}
	}
	return all, nil
}

func (c Case) read() (Reading, error) {
	if c.Prepare != nil {
		if err := c.Prepare(); err != nil {
			return Reading{}, err
		}
	}
	before, err := childTime()
	if err != nil {
		return Reading{}, err
	}
	start := time.Now()
	memory, err := c.Run()
	wall := time.Since(start)
	if err != nil {
		return Reading{}, err
	}
	after, err := childTime()
	return Reading{Wall: wall, CPU: after - before, Memory: memory}, err
}

// childTime is the processor time of all processes that this one has waited for.
func childTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

// Table is a line for each case, sorted by name: least, lower quartile and median of the time and
// of the processor time. The first two stay comparable while a machine has other work.
func (r Readings) Table() string {
	var text strings.Builder
	row := func(cells ...any) { fmt.Fprintf(&text, "%-24s"+strings.Repeat(" %10s", 6)+"\n", cells...) }
	row("", "least", "quartile", "median", "CPU least", "quartile", "median")
	for _, name := range slices.Sorted(maps.Keys(r)) {
		cells := []any{name}
		for _, of := range []func(Reading) time.Duration{
			func(r Reading) time.Duration { return r.Wall }, func(r Reading) time.Duration { return r.CPU },
		} {
			var values []time.Duration
			for _, reading := range r[name] {
				values = append(values, of(reading))
			}
			slices.Sort(values)
			for _, at := range []int{0, len(values) / 4, len(values) / 2} {
				cells = append(cells, figure.Nanoseconds.String(float64(values[at])))
			}
		}
		row(cells...)
	}
	return text.String()
}

// Wall summarises how long a case takes.
func (r Readings) Wall(name string) figure.Summary {
	return r.summarise(figure.Nanoseconds, name, func(i int) float64 { return float64(r[name][i].Wall) })
}

// CPU summarises how much processor time a case takes.
func (r Readings) CPU(name string) figure.Summary {
	return r.summarise(figure.Nanoseconds, name, func(i int) float64 { return float64(r[name][i].CPU) })
}

// Memory summarises a case's peak memory.
func (r Readings) Memory(name string) figure.Summary {
	return r.summarise(figure.Bytes, name, func(i int) float64 { return float64(r[name][i].Memory) })
}

// Added summarises what a case takes longer than another, round by round.
func (r Readings) Added(name, than string) figure.Summary {
	return r.summarise(figure.Nanoseconds, name, func(i int) float64 { return float64(r[name][i].Wall - r[than][i].Wall) })
}

func (r Readings) summarise(unit figure.Unit, name string, value func(round int) float64) figure.Summary {
	values := make([]float64, len(r[name]))
	for i := range values {
		values[i] = value(i)
	}
	return figure.Summarise(unit, values)
}
