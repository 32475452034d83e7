// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/golden"
)

// TestManPage keeps the man page equal to what the command for hosts says of itself.
func TestManPage(t *testing.T) {
	const file = "../../../packaging/man/metax-exporter.8"
	c := hostCommand()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.\" Made from what the program says of itself (go test ./cmd/metax-exporter -run TestManPage -update).`)
	line(`.TH METAX\-EXPORTER 8 "" "MetaX container toolkit"`)
	line(".SH NAME\nmetax\\-exporter \\- metrics of MetaX GPUs and their containers for Prometheus")
	line(".SH SYNOPSIS\n.B metax\\-exporter host\n[\\fIoptions\\fR]")
	line(".SH DESCRIPTION\n%s.", roff(strings.ToUpper(c.Usage[:1])+c.Usage[1:]))
	about, examples, _ := strings.Cut(c.Description, "\n\nExamples:\n")
	line(".PP\n%s", roff(about))
	line(".PP\nExamples:\n.nf\n%s\n.fi", roff(examples))
	line(".SH OPTIONS")
	for _, f := range c.Flags {
		d := f.(cli.DocGenerationFlag)
		usage := fmt.Sprintf("%s (environment: %s", d.GetUsage(), strings.Join(d.GetEnvVars(), ", "))
		if text := d.GetDefaultText(); text != "" {
			usage += "; default: " + text
		}
		line(".TP\n\\fB\\-\\-%s\\fR\n%s)", roff(f.Names()[0]), roff(usage))
	}
	line(".SH FILES\n.TP\n.I /etc/metax\\-container\\-toolkit/exporter.env\nthe options of metax\\-exporter.service")
	line(".SH SEE ALSO\nmetax\\-ctk(1), metax\\-docker(1)")
	golden.Equal(t, file, b.String())
}

// roff makes text mean itself in a man page.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}
