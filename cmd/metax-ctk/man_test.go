// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/programs"
)

const manDir = "../../packaging/man"

// TestManPages keeps the man pages equal to what the programs say of themselves.
func TestManPages(t *testing.T) {
	pages := map[string]string{"metax-ctk.1": toolkitPage()}
	for _, p := range []struct {
		name    string
		section int
		what    string
		also    string
	}{
		{"metax-docker", 1, "docker with MetaX GPUs", "metax-ctk(1), docker(1)"},
		{"metax-hook", 8, "the OCI hook of the MetaX container toolkit", "metax-ctk(1), metax-runtime(8), oci-hooks(5)"},
		{"metax-mxsml", 8, "what the vendor's library tells of MetaX GPUs", "metax-ctk(1)"},
	} {
		pages[fmt.Sprintf("%s.%d", p.name, p.section)] = programPage(p.name, p.section, p.what, helpOf(t, p.name), p.also)
	}
	for name, text := range pages {
		golden.Equal(t, filepath.Join(manDir, name), text)
	}
}

// helpOf returns what one of our programs prints for --help.
func helpOf(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	if err := programs.Build(dir, "../"+program); err != nil {
		t.Fatal(err)
	}
	help := exec.Command(filepath.Join(dir, program), "--help")
	// metax-docker prints docker's help after its own: there is no docker here.
	help.Env = []string{"PATH=" + t.TempDir(), "METAX_CTK_DOCKER=/nonexistent/docker"}
	text, err := help.Output()
	if len(text) == 0 {
		t.Fatalf("%s --help: %v", program, err)
	}
	return string(text)
}

// programPage makes a page of a program's help text.
func programPage(name string, section int, what, help, also string) string {
	var b roff
	b.title(name, section)
	b.heading("NAME")
	b.line(fmt.Sprintf("%s \\- %s", minus(name), escape(what)))
	if section == 1 {
		b.heading("SYNOPSIS")
		b.line(".B " + minus(name))
		b.line("[\\fIoptions of docker\\fR] \\fIcommand\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]")
	}
	b.heading("DESCRIPTION")
	if strings.HasPrefix(help, name+": ") { // what the heading says already
		_, help, _ = strings.Cut(help, "\n")
	}
	b.text(help)
	b.heading("SEE ALSO")
	b.line(escape(also))
	return b.String()
}

// toolkitPage makes the page of metax-ctk with a section for each command.
func toolkitPage() string {
	app := toolkit{}.app()
	var b roff
	b.title(app.Name, 1)
	b.heading("NAME")
	b.line(minus(app.Name) + " \\- " + escape(app.Usage))
	b.heading("SYNOPSIS")
	b.line(".B " + minus(app.Name))
	b.line("[\\fIglobal options\\fR] \\fIcommand\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]")
	b.heading("DESCRIPTION")
	b.text(app.Description)
	b.heading("GLOBAL OPTIONS")
	b.options(app.Flags)
	b.heading("COMMANDS")
	var walk func(path string, commands []*cli.Command)
	walk = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			name := path + " " + c.Name
			if len(c.Subcommands) > 0 {
				walk(name, c.Subcommands)
				continue
			}
			b.line(".SS " + minus(strings.TrimSpace(name+" "+c.ArgsUsage)))
			b.line(escape(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + "."))
			b.options(c.Flags)
			if c.Description != "" {
				b.line(".PP")
				b.text(c.Description)
			}
		}
	}
	walk(app.Name, app.Commands)
	b.heading("FILES")
	for _, f := range [][2]string{
		{"/etc/metax-container-toolkit/config.toml", "the configuration"},
		{"/run/cdi", "the CDI specs that cdi generate writes"},
		{"/run/metax-container-toolkit", "leases, and the record of the node"},
		{"/var/lib/metax-container-toolkit", "what engines' configurations were before runtime configure"},
	} {
		b.line(".TP\n.I " + minus(f[0]))
		b.line(escape(f[1]))
	}
	b.heading("SEE ALSO")
	b.line("metax\\-docker(1), metax\\-hook(8), metax\\-runtime(8), metax\\-mxsml(8)")
	return b.String()
}

// roff writes a man page.
type roff struct{ strings.Builder }

func (b *roff) line(s string) { b.WriteString(s + "\n") }

func (b *roff) heading(s string) { b.line(".SH " + s) }

// title says no date and no version: the page is the same as long as the program is.
func (b *roff) title(name string, section int) {
	b.line(`.\" Made from what the programs say of themselves (make docs).`)
	b.line(fmt.Sprintf(".TH %s %d \"\" \"MetaX container toolkit\"", minus(strings.ToUpper(name)), section))
}

// text sets paragraphs; lines that are indented, or aligned by several blanks, stay as they
// are.
func (b *roff) text(s string) {
	for i, paragraph := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		if i > 0 {
			b.line(".PP")
		}
		asIs := false
		for line := range strings.Lines(paragraph) {
			line = strings.TrimRight(line, "\n")
			if fixed := strings.HasPrefix(line, " "); fixed != asIs {
				asIs = fixed
				b.line(map[bool]string{true: ".nf", false: ".fi"}[fixed])
			}
			b.line(escape(line))
		}
		if asIs {
			b.line(".fi")
		}
	}
}

// placeholder is the word of an option's usage that stands for its value.
var placeholder = regexp.MustCompile("`([^`]+)`")

func (b *roff) options(flags []cli.Flag) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		names := f.Names()
		value, usage, env := "", "", []string(nil)
		if d, ok := f.(cli.DocGenerationFlag); ok {
			usage, env = d.GetUsage(), d.GetEnvVars()
			if d.TakesValue() {
				value = "VALUE"
			}
		}
		if m := placeholder.FindStringSubmatch(usage); m != nil {
			value, usage = m[1], placeholder.ReplaceAllString(usage, "$1")
		}
		for i, n := range names {
			names[i] = `\fB` + minus(strings.Repeat("-", min(2, len(n)))+n) + `\fR`
		}
		head := strings.Join(names, ", ")
		if value != "" {
			head += ` \fI` + escape(value) + `\fR`
		}
		if len(env) > 0 {
			usage += " (environment: " + strings.Join(env, ", ") + ")"
		}
		b.line(".TP\n" + head)
		b.line(escape(usage))
	}
}

// escape makes text mean itself.
func escape(s string) string {
	s = minus(strings.ReplaceAll(s, `\`, `\e`))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	var b strings.Builder
	for _, r := range s {
		if r > '~' {
			fmt.Fprintf(&b, `\[u%04X]`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// minus keeps a "-" what it is in a terminal.
func minus(s string) string { return strings.ReplaceAll(s, "-", `\-`) }
