// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestReference keeps the pages in docs that are made from the commands equal to what the
// commands say.
func TestReference(t *testing.T) {
	for file, text := range map[string]string{
		"../../docs/cli.md":       reference(t),
		"../../docs/topology.svg": topologyPicture(t),
		"../../docs/terminal.svg": terminalPicture(t,
			"metax-ctk --node c500-8-degraded topology print --format tree --busy 4 --pick 2",
			"metax-ctk --node c500-8 top --once"),
	} {
		golden.Equal(t, file, text)
	}
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := runCommandLine(context.Background(), append([]string{"metax-ctk"}, args...), deps{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("metax-ctk %v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// reference is what every command does, its usage, its own options and its examples. What
// all commands have is said once, at the beginning.
func reference(t *testing.T) string {
	example := regexp.MustCompile(`(?m)^   (.*\bmetax-ctk .*)`)
	var page strings.Builder
	described := map[string]string{} // the command that describes an option in these words first
	var walk func(name, usage, arguments, text string, flags []cli.Flag, commands []*cli.Command)
	walk = func(name, usage, arguments, text string, flags []cli.Flag, commands []*cli.Command) {
		fmt.Fprintf(&page, "\n## %s\n\n%s.\n\n", name, strings.ToUpper(usage[:1])+usage[1:])
		if arguments != "" {
			fmt.Fprintf(&page, "`%s %s`\n\n", name, arguments)
		}
		same := map[string]string{} // the options that an earlier command described in these words, by command
		for _, f := range flags {
			if first := f.Names()[0]; first == "help" || first == "output-format" {
				continue
			}
			option, usage, _ := strings.Cut(strings.ReplaceAll(f.String(), "\n\t", " "), "\t")
			if earlier := described[f.String()]; earlier != "" {
				same[earlier] += fmt.Sprintf(", `%s`", option)
				continue
			}
			described[f.String()] = name
			fmt.Fprintf(&page, "- `%s`: %s\n", option, usage)
		}
		for _, earlier := range slices.Sorted(maps.Keys(same)) {
			fmt.Fprintf(&page, "- As in [%s](#%s): %s\n", strings.TrimPrefix(earlier, "metax-ctk "), strings.ReplaceAll(earlier, " ", "-"), same[earlier][2:])
		}
		var examples strings.Builder
		for _, m := range example.FindAllStringSubmatch(text, -1) {
			if m[1] != name { // which says no more than the heading
				examples.WriteString(m[1] + "\n")
			}
		}
		if examples.Len() > 0 {
			fmt.Fprintf(&page, "\n```sh\n%s```\n", &examples)
		}
		for _, c := range commands {
			walk(name+" "+c.Name, c.Usage, c.ArgsUsage, c.Description, c.VisibleFlags(), c.Subcommands)
		}
	}
	app := toolkit{}.app()
	_, general, _ := strings.Cut(app.Description, "\n\n")
	fmt.Fprintf(&page, `# %s, command by command

English | [简体中文](zh/cli.md)

Made from the commands themselves (%[2]smake docs%[2]s).

%s
`, app.Name, "`", general)
	walk(app.Name, app.Usage, "", app.Description, app.VisibleFlags(), app.Commands)
	return regexp.MustCompile(`\n{3,}`).ReplaceAllString(page.String(), "\n\n")
}

// TestChineseReference demands that the Chinese page has every command with its usage and
// its options, and no others.
func TestChineseReference(t *testing.T) {
	have := testfile.Text(t, "../../docs/zh/cli.md")
	usage, option := regexp.MustCompile("(?m)^`(metax-ctk .*)`$"), regexp.MustCompile("`--([a-z-]+)")
	parts := func(page string) map[string][]string {
		found := map[string][]string{}
		for _, section := range strings.Split(page, "\n## ")[1:] {
			name, rest, _ := strings.Cut(section, "\n")
			found[name] = []string{}
			for _, m := range usage.FindAllStringSubmatch(rest, -1) {
				found[name] = append(found[name], m[1])
			}
			for line := range strings.Lines(rest) {
				most := 1 // the others are in what is said about the first
				if strings.HasPrefix(line, "- As in ") {
					most = -1
				}
				if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "| ") {
					for _, m := range option.FindAllStringSubmatch(line, most) {
						found[name] = append(found[name], m[1])
					}
				}
			}
			slices.Sort(found[name])
		}
		return found
	}
	if diff := cmp.Diff(parts(reference(t)), parts(have)); diff != "" {
		t.Errorf("docs/zh/cli.md (-commands +page):\n%s", diff)
	}
}
