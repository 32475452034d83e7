// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// The vendor's levels.
var levels = []string{"debug", "info", "warning", "error", "fatal"}

// Fatal is the level of what ends the program.
const Fatal = slog.LevelError + 4

// slogLevels are levels for slog, by position.
var slogLevels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, Fatal}

// Flags returns the options of a program's log, with their variables of the environment, such
// as METAX_GPU_DEVICE_LOG_LEVEL.
func Flags(program string) []cli.Flag {
	variable := func(name string) []string {
		return []string{strings.ToUpper(strings.ReplaceAll(program+"-"+name, "-", "_"))}
	}
	text := func(name, value, usage string, check func(string) error) cli.Flag {
		return &cli.StringFlag{
			Name: name, Value: value, Usage: usage, EnvVars: variable(name),
			Action: func(_ *cli.Context, text string) error {
				if err := check(text); err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
				return nil
			},
		}
	}
	oneOf := func(words ...string) func(string) error {
		return func(text string) error {
			if !slices.Contains(words, text) {
				return fmt.Errorf("%q is not one of %s", text, strings.Join(words, ", "))
			}
			return nil
		}
	}
	period := func(text string) error { _, err := parsePeriod(text); return err }
	return []cli.Flag{
		text("log-dir", "/var/log/metax", "also write the log to files in the directory `DIR`; none if empty",
			func(string) error { return nil }),
		text("log-level", "info", "log what is at least of this `LEVEL`: debug, info, warning, error or fatal",
			oneOf(levels...)),
		text("log-format", "json", "the `FORM` of the log: json or text", oneOf("json", "text")),
		text("log-rotation-time", "1w", "begin a new file after this `TIME`: a number with w, d or h", period),
		text("log-max-age", "26w", "remove files that end before this `TIME`: a number with w, d or h", period),
	}
}

// New returns the log of a program by its Flags, which writes to out and to files. It begins
// with the version of the program. What libraries log by Go's own packages goes there too. The
// Closer closes the file. An error is that a flag has no valid value.
func New(c *cli.Context, program string, out io.Writer) (*slog.Logger, io.Closer, error) {
	rotation, err := parsePeriod(c.String("log-rotation-time"))
	if err != nil {
		return nil, nil, fmt.Errorf("--log-rotation-time: %w", err)
	}
	maxAge, err := parsePeriod(c.String("log-max-age"))
	if err != nil {
		return nil, nil, fmt.Errorf("--log-max-age: %w", err)
	}
	level := slices.Index(levels, c.String("log-level"))
	if level < 0 {
		return nil, nil, fmt.Errorf("--log-level: %q is not one of %s", c.String("log-level"), strings.Join(levels, ", "))
	}
	to := &writer{out: out}
	if dir := c.String("log-dir"); dir != "" {
		to.files = &files{dir: dir, program: program, rotation: rotation, maxAge: maxAge, now: time.Now}
	}
	logger := func(to io.Writer) *slog.Logger {
		return slog.New(newHandler(to, slogLevels[level], c.String("log-format"))).With("program", program)
	}
	// It is said while a line is written, so it cannot go through the same logger.
	to.say = func(err error) { logger(out).Warn("the log goes to standard output only", "error", err.Error()) }
	log := logger(to)
	slog.SetDefault(log)
	if version := c.App.Version; version != "" {
		log.Info("started", "version", version)
	}
	return log, to, nil
}

// newHandler returns a handler that calls levels as the vendor does.
func newHandler(to io.Writer, level slog.Level, format string) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if l, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey {
			if i := slices.Index(slogLevels, l); i >= 0 {
				a.Value = slog.StringValue(levels[i])
			}
		}
		return a
	}}
	if format == "text" {
		return slog.NewTextHandler(to, options)
	}
	return slog.NewJSONHandler(to, options)
}

// maxPeriod bounds a period, in hours.
const maxPeriod = 20 * 365 * 24

// parsePeriod reads a number of weeks, days or hours, such as "26w".
func parsePeriod(text string) (time.Duration, error) {
	hours := map[byte]int{'w': 7 * 24, 'd': 24, 'h': 1}
	if text != "" {
		n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
		each := hours[text[len(text)-1]]
		if err == nil && each > 0 && n > 0 && int(n)*each <= maxPeriod {
			return time.Duration(int(n)*each) * time.Hour, nil
		}
	}
	return 0, fmt.Errorf("%q is not a number with w, d or h, such as 26w", text)
}
