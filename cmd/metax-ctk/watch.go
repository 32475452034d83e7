// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// repeatCommand repeats a command that prints, with a pause in between, until the context
// ends. A terminal is cleared before each round.
func (t toolkit) repeatCommand(c *cli.Context, pause time.Duration, once func(*cli.Context) error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for round := 0; ; round++ {
		select {
		case <-c.Context.Done():
			return errInterrupted
		case <-timer.C:
		}
		if _, err := t.Out.Write(between(c.String("output-format"), round, isTerminal(t.Out))); err != nil {
			return err
		}
		if err := once(c); err != nil {
			if c.Context.Err() != nil {
				return errInterrupted
			}
			return err
		}
		timer.Reset(pause)
	}
}

// needWatch refuses options that have an effect only with --watch.
func needWatch(c *cli.Context, options ...string) error {
	for _, name := range options {
		if c.IsSet(name) && !c.Bool("watch") {
			return usageErrorf("--%s needs --watch", name)
		}
	}
	return nil
}

// between is what stands before a round's output.
func between(format string, round int, terminal bool) []byte {
	switch {
	case format == "table" && terminal:
		return []byte("\x1b[H\x1b[2J")
	case format == "table" && round > 0:
		return []byte("\n")
	case format == "yaml":
		return []byte("---\n")
	}
	return nil
}

// terminalWidth is the width of a terminal in columns; 0 if w is not one, or does not know.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return int(size.Col)
		}
	}
	return 0
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
