// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// openLog opens the log and writes the command line, which has no secrets in it.
func (t toolkit) openLog(c *cli.Context) error {
	s := t.settings.Log
	for _, option := range []struct {
		name  string
		words []string // nil for any
		to    *config.Value
	}{
		{"log-level", config.LogLevels, &s.Level},
		{"log-format", config.LogFormats, &s.Format},
		{"log-file", nil, &s.File},
	} {
		v := c.String(option.name) // an empty variable counts as unset
		if v != "" && option.words != nil && !slices.Contains(option.words, v) {
			return usageErrorf("--%s %q: want %s%s", option.name, v, strings.Join(option.words, ", "),
				wording.Meant(v, option.words...))
		}
		option.to.Set(v, "--"+option.name)
	}
	t.log.Log = logfile.Open(s,
		logfile.Program{Name: "metax-ctk", Err: t.Err, Say: func(err error) { t.warn(err.Error()) }})
	t.log.printed = s.File.Text == ""
	t.log.Info("command", "arguments", t.log.args, "version", toolkitVersion())
	return nil
}
