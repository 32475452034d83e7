package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
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

// usageLine matches a line of the usage of an option: of 100 columns, or of a narrower terminal, as
// many as are left beside the longest option, --output-format FORMAT, -o FORMAT.
func usageLine() *regexp.Regexp {
	room := 100
	if width := terminalWidth(os.Stdout); width > 0 {
		room = min(max(width, 60), room)
	}
	return regexp.MustCompile(fmt.Sprintf(`(.{1,%d})( |$)`, room-38))
}

func init() {
	cli.FlagStringer = wrapUsage(cli.FlagStringer)
	cli.HelpPrinter = fitHelp(cli.HelpPrinter)
}

// fitHelp returns a printer of help that breaks lines between words on a narrow terminal.
func fitHelp(plain func(io.Writer, string, any)) func(io.Writer, string, any) {
	return func(w io.Writer, template string, data any) {
		var text strings.Builder
		plain(&text, template, data)
		io.WriteString(w, terminal.Wrap(text.String(), terminalWidth(w))) // as in urfave/cli, nobody is told
	}
}

// wrapUsage returns a FlagStringer that breaks the usage of an option into lines. urfave/cli
// wraps before it aligns columns, so it does not know how wide the first column is.
func wrapUsage(plain cli.FlagStringFunc) cli.FlagStringFunc {
	return func(f cli.Flag) string {
		option, usage, _ := strings.Cut(plain(f), "\t")
		option, _, _ = strings.Cut(option, " [ ") // that it is repeatable is part of the usage
		usage = strings.Replace(usage, " (default: false)", "", 1)
		return option + "\t" + strings.TrimSuffix(usageLine().ReplaceAllString(usage, "$1\n\t"), "\n\t")
	}
}
