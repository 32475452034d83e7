package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
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
	page.WriteString("# metax-ctk, command by command\n\nMade from the commands themselves (`make docs`).\n")
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
