package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
)

// openLog opens the log and writes the command line, which has no secrets in it.
func (t toolkit) openLog(c *cli.Context) error {
	s := t.settings.Log
	for _, option := range []struct {
		name string
		to   *config.Value
	}{{"log-level", &s.Level}, {"log-format", &s.Format}, {"log-file", &s.File}} {
		if c.IsSet(option.name) {
			option.to.Set(c.String(option.name), "--"+option.name)
		}
	}
	t.log.Log = logfile.Open(s, logfile.Program{Name: "metax-ctk", Err: t.Err, Say: func(err error) { t.warn(err.Error()) }})
	t.log.printed = s.File.Text == ""
	t.log.Info("command", "arguments", t.log.args, "version", version())
	return nil
}

// oneOfFlag is a global option with some words for values.
func oneOfFlag(name, variable, usage string, words []string) cli.Flag {
	return &cli.StringFlag{
		Name: name, EnvVars: []string{variable}, Usage: usage,
		Action: func(_ *cli.Context, v string) error {
			if v != "" && !slices.Contains(words, v) { // an empty variable counts as unset
				return usagef("--%s %q: want %s", name, v, strings.Join(words, ", "))
			}
			return nil
		},
	}
}
