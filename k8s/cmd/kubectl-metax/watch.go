// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

const (
	watchInterval = 5 * time.Second
	watchLeast    = time.Second
	// watchShare is how many times as long as a reading the pause after it is at least, so
	// that large clusters are not read all the time.
	watchShare = 10
)

func watchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "go on, and print what has changed"},
		&cli.DurationFlag{Name: "interval", Value: watchInterval, Usage: "`TIME` between two looks of --watch"},
	}
}

// withWatch returns an action that --watch repeats. A terminal shows the last output;
// elsewhere, one follows the other when it differs. What fails later is said, and tried again.
func withWatch(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		switch {
		case !c.Bool("watch"):
			return action(c)
		case c.String("from") != "":
			return usageErrorf("a file does not change: leave out --watch, or --from")
		case c.Duration("interval") < watchLeast:
			return usageErrorf("--interval %s: want at least %s", c.Duration("interval"), watchLeast)
		}
		return watch(c, action, c.App.Writer)
	}
}

func watch(c *cli.Context, action cli.ActionFunc, out io.Writer) error {
	defer func() { c.App.Writer = out }()
	last, failed := "", ""
	for {
		var now bytes.Buffer
		c.App.Writer = &now
		began := time.Now()
		err := action(c)
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err()
		case err != nil && last == "":
			return err
		case err != nil && err.Error() != failed:
			fmt.Fprintf(c.App.ErrWriter, "%s: %s; trying again\n", program, terminal.Message(err.Error()))
		case err == nil && now.String() != last:
			if _, err := io.WriteString(out, follow(c, last, now.String(), out)); err != nil {
				return err
			}
			last = now.String()
		}
		failed = ""
		if err != nil {
			failed = err.Error()
		}
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-time.After(max(c.Duration("interval"), watchShare*time.Since(began))):
		}
	}
}

// follow returns an output as it follows the last one: over it on a terminal, behind a line in
// a pipe.
func follow(c *cli.Context, last, now string, out io.Writer) string {
	const home, end, rest = "\x1b[H", "\x1b[K\n", "\x1b[J" // the cursor's; to the end of the line; of the screen
	format := c.String("output")
	switch {
	case format == "yaml":
		return "---\n" + now
	case format == "table" && isTerminal(out):
		return home + strings.ReplaceAll(now, "\n", end) + rest
	case format == "table" && last != "":
		return "\n" + now
	}
	return now
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
