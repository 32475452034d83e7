package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// usageWidth is how many columns of 100 are left for the usage of an option, beside the
// longest option: --output-format FORMAT, -o FORMAT.
const usageWidth = 62

func init() { cli.FlagStringer = wrapUsage(cli.FlagStringer) }

// wrapUsage returns a FlagStringer that breaks the usage of an option into lines. urfave/cli
// wraps before it aligns columns, so it does not know how wide the first column is.
func wrapUsage(plain cli.FlagStringFunc) cli.FlagStringFunc {
	return func(f cli.Flag) string {
		option, usage, _ := strings.Cut(plain(f), "\t")
		option, _, _ = strings.Cut(option, " [ ") // that it is repeatable is part of the usage
		line, text := 0, option+"\t"
		for i, word := range strings.Fields(strings.Replace(usage, " (default: false)", "", 1)) {
			switch {
			case i == 0:
			case line+1+len(word) > usageWidth:
				line, text = 0, text+"\n\t"
			default:
				line, text = line+1, text+" "
			}
			line, text = line+len(word), text+word
		}
		return text
	}
}
