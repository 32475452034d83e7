// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/completion"
)

// TestValues demands words or files for the value of each option that takes text, except where
// the text is free.
func TestValues(t *testing.T) {
	t.Setenv("METAX_CTK_NODE", "c500-8")
	free := []string{"alias", "engine-version", "gpus-ignore", "group", "image", "name", "pick", "vram"}
	app := toolkit{}.app()
	offers := func(path []string, flags []cli.Flag) {
		for _, f := range flags {
			name := f.Names()[0]
			switch f.(type) {
			case *cli.StringFlag, *cli.StringSliceFlag:
			default:
				continue
			}
			answer := toolkit{}.completeWord(app, append(slices.Clone(path), "--"+name, ""))
			nothing := len(answer.Candidates) == 0 && answer.Directive&completion.NoFiles != 0
			if nothing != slices.Contains(free, name) {
				t.Errorf("%v --%s: offers %v", path, name, answer)
			}
		}
	}
	offers(nil, app.VisibleFlags())
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			path := append(slices.Clone(path), c.Name)
			offers(path, c.VisibleFlags())
			walk(path, c.Subcommands)
		}
	}
	walk(nil, app.Commands)
}
