package main

import (
	"embed"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// help has what the help of a command says beside its options, in help/COMMAND.txt.
//
//go:embed help
var help embed.FS

// description returns what the help of a command says: that of "cdi list" is cdi-list.
func description(command string) string {
	text, _ := help.ReadFile("help/" + command + ".txt") // TestEveryCommand looks at each
	return strings.TrimSuffix(string(text), "\n")
}

// usageLine is a line of the usage of an option: of 100 columns, 62 are left beside the
// longest option, --output-format FORMAT, -o FORMAT.
var usageLine = regexp.MustCompile(`(.{1,62})( |$)`)

func init() { cli.FlagStringer = wrapUsage(cli.FlagStringer) }

// wrapUsage returns a FlagStringer that breaks the usage of an option into lines. urfave/cli
// wraps before it aligns columns, so it does not know how wide the first column is.
func wrapUsage(plain cli.FlagStringFunc) cli.FlagStringFunc {
	return func(f cli.Flag) string {
		option, usage, _ := strings.Cut(plain(f), "\t")
		option, _, _ = strings.Cut(option, " [ ") // that it is repeatable is part of the usage
		usage = strings.Replace(usage, " (default: false)", "", 1)
		return option + "\t" + strings.TrimSuffix(usageLine.ReplaceAllString(usage, "$1\n\t"), "\n\t")
	}
}
