// SPDX-License-Identifier: Apache-2.0

// Package stopwatch times cases in turn, so that whatever else the machine does meets all of
// them alike. It knows nothing of what it times.
package stopwatch

import (
	"fmt"
	"os"
	"os/exec"
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
	Memory int64 // peak, in bytes
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
	start := time.Now()
	memory, err := c.Run()
	return Reading{time.Since(start), memory}, err
}

// Wall summarises how long a case takes.
func (r Readings) Wall(name string) figure.Summary {
	return r.summarise(figure.Nanoseconds, name, func(i int) float64 { return float64(r[name][i].Wall) })
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
