// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestDoctorsCommands: metax-ctk takes every command of its own that a finding names. None is
// carried out.
func TestDoctorsCommands(t *testing.T) {
	text := testfile.Text(t, "../../internal/doctor/testdata/commands.txt")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 15 {
		t.Fatalf("only %d commands", len(lines))
	}
	for _, line := range lines {
		app := toolkit{log: &journal{}}.app()
		taken := false
		var idle func(commands []*cli.Command)
		idle = func(commands []*cli.Command) {
			for _, c := range commands {
				if len(c.Subcommands) == 0 {
					c.Action = func(*cli.Context) error { taken = true; return nil }
				}
				idle(c.Subcommands)
			}
		}
		idle(app.Commands)
		args, err := reorderOptions(app, strings.Fields(line))
		if err == nil {
			err = app.RunContext(context.Background(), args)
		}
		if err != nil || !taken {
			t.Errorf("%s: taken %v, %v", line, taken, err)
		}
	}
}
