// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
)

// TestDocuments runs every command with -o json and -o yaml: each prints an object with
// the version of its form and its kind, and no list that is null.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	root := filepath.Join(dir, "node")
	output(t, "sim", "create", "c500-8", root)
	for _, name := range []string{"metax-runtime", "metax-hook", "dockerd"} {
		check(t, os.WriteFile(filepath.Join(root, "usr/bin", name), nil, 0o755))
	}
	cut := filepath.Join(dir, "cut")
	output(t, "sim", "create", "c500-8-sgpu", cut)
	lines := map[string][]string{ // by the command; a line is without the command
		"device list": {""}, "topology print": {"", "--pick 2"}, "topology score": {"2", "--all"},
		"pick": {"2", "2 --explain"}, "ps": {""}, "health": {""}, "wait": {"2 --timeout 0s"}, "top": {"--once"},
		"lease list": {""}, "lease init": {""}, "lease gc": {""}, "lease release": {"aaaaaaaaaaaa --force"},
		"sgpu list": {""}, "sgpu create": {"2 --compute 5 --vram 1G"}, "sgpu remove": {"SLICE"},
		"cdi generate": {"", "--class gpu"}, "cdi list": {""}, "cdi check": {""}, "cdi diff": {""},
		"maca list": {""}, "maca check": {""}, "setup": {"--dry-run"}, "runtime configure": {"", "--engine docker --dry-run"}, "runtime witness": {""},
		"doctor": {"", "-v", "--list"}, "snapshot": {"--output s.txt"}, "bugreport": {"--output b.txt"},
		"config show": {"", "node"}, "config set": {"node=host --dry-run"}, "config unset": {"node --dry-run"},
		"config default": {""}, "config validate": {""}, "sim list": {""}, "sim create": {"c500-1 new"}, "version": {""},
	}
	kinds := map[string]string{} // the command of each kind
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			path := append(slices.Clone(path), c.Name)
			walk(path, c.Subcommands)
			name := strings.Join(path, " ")
			if len(c.Subcommands) > 0 || c.Name == "completion" {
				continue
			}
			if lines[name] == nil {
				t.Errorf("%s: this test has no line for it", name)
			}
			for _, line := range lines[name] {
				for _, format := range []string{"json", "yaml"} {
					args := slices.Concat([]string{"--root", root}, path, strings.Fields(line), []string{"-o", format})
					switch {
					case path[0] == "sgpu":
						args[1] = cut
						if line == "SLICE" {
							args[4] = firstSlice(t, cut)
						}
					case name == "sim create":
						check(t, os.RemoveAll("new"))
					case name == "lease release":
						oneLease(t, root)
					}
					code, out, said := ctk(t, deps{Run: child.Tool}, args...)
					var doc map[string]any
					read := json.Unmarshal
					if format == "yaml" {
						read = func(text []byte, v any) error { return yaml.Unmarshal(text, v) }
					}
					if err := read([]byte(out), &doc); err != nil || code == exitUsage || code == exitFailed {
						t.Errorf("%v: exit code %d, %v:\n%s%s", args, code, err, out, said)
						continue
					}
					kind, _ := doc["kind"].(string)
					if doc["apiVersion"] != gpu.APIVersion || kind == "" || strings.Contains(kind, "/") || nullValue.MatchString(out) {
						t.Errorf("%v: apiVersion %v, kind %q, or a null:\n%.400s", args, doc["apiVersion"], kind, out)
					}
					if other := kinds[kind]; other != "" && other != name && kind != "Configuration" {
						t.Errorf("kind %s is of %s and of %s", kind, name, other)
					}
					kinds[kind] = name
				}
			}
		}
	}
	walk(nil, toolkit{}.app().Commands)
	t.Logf("kinds: %s", strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
}

// nullValue matches a member that is null, in JSON or YAML.
var nullValue = regexp.MustCompile(`(?m): null,?$`)

// oneLease gives a tree a lease of this process.
func oneLease(t *testing.T, root string) {
	t.Helper()
	proc := procfs.New("/proc", -1)
	boot, err := proc.BootID()
	check(t, err)
	self, err := proc.Self()
	check(t, err)
	text := fmt.Sprintf(`{"apiVersion": "metax-ctk/v1", "kind": "Leases", "boot": %q, "leases": [{
		"id": "aaaaaaaaaaaa", "rev": 1, "gpus": ["0000:36:00.0"], "engine": "docker", "endpoint": "/nowhere/docker.sock", "verb": "run",
		"client": {"pid": %d, "start": %d, "pidNamespace": %d}, "user": {"uid": %d}, "since": "2026-01-02T03:04:06Z"}]}`,
		boot, self.PID, self.Start, self.PIDNamespace, os.Getuid())
	output(t, "--root", root, "lease", "init")
	check(t, os.WriteFile(filepath.Join(root, "run/metax-container-toolkit/leases/leases.json"), []byte(text), 0o644))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// firstSlice is the UUID of a slice of a tree, which changes with every one removed.
func firstSlice(t *testing.T, root string) string {
	t.Helper()
	_, out, said := ctk(t, deps{Run: child.Tool}, "--root", root, "sgpu", "list", "-o", "json")
	var listed struct{ Items []sliceRow }
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Items) == 0 {
		t.Fatalf("no slice: %v\n%s%s", err, out, said)
	}
	return listed.Items[0].UUID
}
