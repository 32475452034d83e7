// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// help has what the help of a command says beside its options, in help/COMMAND.txt.
//
//go:embed help
var help embed.FS

// commandHelp returns what the help of a command says: that of "cdi list" is cdi-list.
func commandHelp(command string) string {
	text, _ := help.ReadFile("help/" + command + ".txt") // TestEveryCommand looks at each
	return strings.TrimSuffix(string(text), "\n")
}

func init() {
	cli.FlagStringer = plainUsage(cli.FlagStringer)
	cli.HelpPrinter = fitHelp(cli.HelpPrinter)
}

// helpWidth is the width of help in columns, on a terminal that is not narrower.
const helpWidth = 100

// fitHelp returns a printer of help that breaks lines between words, also those of usage,
// which urfave/cli aligns first.
func fitHelp(plain func(io.Writer, string, any)) func(io.Writer, string, any) {
	return func(w io.Writer, template string, data any) {
		var text strings.Builder
		plain(&text, template, data)
		width := helpWidth
		if narrow := terminalWidth(w); narrow > 0 {
			width = min(width, narrow)
		}
		_, _ = io.WriteString(w, terminal.Wrap(text.String(), width)) // as in urfave/cli, nobody is told
	}
}

// plainUsage returns a FlagStringer without what says nothing about an option.
func plainUsage(plain cli.FlagStringFunc) cli.FlagStringFunc {
	return func(f cli.Flag) string {
		option, usage, _ := strings.Cut(plain(f), "\t")
		option, _, _ = strings.Cut(option, " [ ") // that it is repeatable is part of the usage
		return option + "\t" + strings.Replace(usage, " (default: false)", "", 1)
	}
}
