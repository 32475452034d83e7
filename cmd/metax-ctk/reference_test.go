package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "rewrite golden files, scripts and the pages that are made from the commands")

// TestReference keeps the pages in docs that are made from the commands equal to
// what the commands say.
func TestReference(t *testing.T) {
	for file, text := range map[string]string{
		"../../docs/cli.md":       reference(t),
		"../../docs/topology.svg": output(t, "--node", "c500-8", "topology", "print", "--format", "svg", "--pick", "4"),
		"../../docs/terminal.svg": terminalPicture(t,
			"metax-ctk --node c500-8-degraded topology print --format tree --busy 4 --pick 2",
			"metax-ctk --node c500-8 top --once"),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(have), text); d != "" {
			t.Errorf("%s is not what the commands say (make docs):\n%s", file, d)
		}
	}
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), append([]string{"metax-ctk"}, args...), deps{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("metax-ctk %v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// reference is the help of every command.
func reference(t *testing.T) string {
	var page strings.Builder
	page.WriteString("# metax-ctk, command by command\n\nEnglish | [简体中文](zh/cli.md)\n\nMade from the commands themselves (`make docs`).\n")
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		name := strings.Join(append([]string{"metax-ctk"}, path...), " ")
		fmt.Fprintf(&page, "\n## %s\n\n```\n%s\n```\n", name, strings.TrimSpace(output(t, append(path, "--help")...)))
		for _, c := range commands {
			walk(append(append([]string(nil), path...), c.Name), c.Subcommands)
		}
	}
	walk(nil, toolkit{}.app().Commands)
	return page.String()
}

// TestChineseReference demands that the Chinese page has every command and its options,
// and no others. Options that every command has are named once, at its beginning.
func TestChineseReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/zh/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `--([a-z-]+)")
	have := map[string][]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		have[name] = []string{}
		for _, m := range row.FindAllStringSubmatch(rest, -1) {
			have[name] = append(have[name], m[1])
		}
		if line, _, ok := strings.Cut(strings.TrimSpace(rest), "`\n"); ok && strings.HasPrefix(line, "`") {
			have[name] = append(have[name], strings.TrimSpace(strings.TrimPrefix(line, "`"+name)))
		}
		slices.Sort(have[name])
	}
	want := map[string][]string{}
	add := func(name, usage string, flags []cli.Flag) {
		want[name] = []string{}
		for _, f := range flags {
			if first := f.Names()[0]; first != "help" && first != "output-format" {
				want[name] = append(want[name], first)
			}
		}
		if usage != "" {
			want[name] = append(want[name], usage)
		}
		slices.Sort(want[name])
	}
	app := toolkit{}.app()
	add("metax-ctk", "", app.VisibleFlags())
	var walk func(above string, commands []*cli.Command)
	walk = func(above string, commands []*cli.Command) {
		for _, c := range commands {
			name := above + " " + c.Name
			add(name, c.ArgsUsage, c.VisibleFlags())
			walk(name, c.Subcommands)
		}
	}
	walk("metax-ctk", app.Commands)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("docs/zh/cli.md (-commands +page):\n%s", diff)
	}
}
