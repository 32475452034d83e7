// SPDX-License-Identifier: Apache-2.0

// Package docs keeps what the pages show equal to what the programs do.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/programs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// pages are all that a person reads; cli.md is made from the commands.
func pages(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../*.md", "*.md", "zh/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 15 {
		t.Fatalf("only %d pages found", len(files))
	}
	return files
}

var (
	consoles = regexp.MustCompile("(?s)```console\n(.*?)```")
	commands = regexp.MustCompile(`(?m)^\$ (.*)\n`)
	example  = regexp.MustCompile("(?s)```json\n(\\{\n  \"apiVersion\".*?)```")
	links    = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
)

// TestExamples runs every "$ command" of a console block and compares what it prints, standard
// error first, with the lines below it. The commands of a page share a folder, in which
// mini.json is the page's own example of a node; /tmp/node stands for a new place.
func TestExamples(t *testing.T) {
	bin := t.TempDir()
	if err := programs.Build(bin, "../cmd/..."); err != nil {
		t.Fatal(err)
	}
	// No example starts a container; that the client of docker is there does not depend on
	// this machine.
	testfile.Write(t, filepath.Join(bin, "docker"), "#!/bin/sh\nexit 1\n", 0o755)
	seen := 0
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			text := readFile(t, page)
			dir := t.TempDir()
			if m := example.FindStringSubmatch(text); m != nil {
				testfile.Write(t, filepath.Join(dir, "mini.json"), m[1], 0o644)
			}
			// Pages about metax-docker have a node to show it on.
			env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir}
			if slices.Contains([]string{"metax-docker.md", "recipes.md", "from-nvidia.md", "from-metax.md"}, filepath.Base(page)) {
				env = append(env, "METAX_CTK_NODE=c500-8")
			}
			fresh := consoles.ReplaceAllStringFunc(text, func(block string) string {
				body := consoles.FindStringSubmatch(block)[1]
				var out strings.Builder
				code := "0"
				for _, m := range commands.FindAllStringSubmatch(body, -1) {
					seen++
					command := m[1]
					out.WriteString("$ " + command + "\n")
					if command == "echo $?" {
						out.WriteString(code + "\n")
						continue
					}
					node := filepath.Join(dir, "node")
					c := exec.Command("sh", "-c", strings.ReplaceAll(command, "/tmp/node", node))
					c.Dir, c.Env = dir, env
					var stdout, stderr strings.Builder
					c.Stdout, c.Stderr = &stdout, &stderr
					code = "0"
					if err := c.Run(); err != nil {
						code = strings.TrimPrefix(err.Error(), "exit status ")
					}
					out.WriteString(strings.ReplaceAll(stderr.String()+stdout.String(), node, "/tmp/node"))
				}
				return "```console\n" + out.String() + "```"
			})
			if *golden.Update {
				testfile.Write(t, page, fresh, 0o644)
			} else if d := cmp.Diff(text, fresh); d != "" {
				t.Errorf("not what the programs print (make docs):\n%s", d)
			}
		})
	}
	if seen < 30 {
		t.Errorf("only %d commands seen", seen)
	}
}

// TestLinks follows every link between the pages.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range links.FindAllStringSubmatch(readFile(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}

// TestClusterPackages compares the packages of the cluster side with the pages that list them.
// What the ones that are called pure import is up to k8s/internal/floors.
func TestClusterPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-C", "../k8s", "-f", `{{if .GoFiles}}{{.ImportPath}}{{end}}`, "./cmd/...", "./api/...", "./internal/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range strings.Fields(string(out)) {
		name := strings.TrimPrefix(path, "github.com/metax-ctk/container-toolkit/k8s/")
		if strings.Count(name, "/") <= 2 && !strings.HasSuffix(name, "test") { // what is below those is for tests
			want = append(want, name)
		}
	}
	slices.Sort(want)
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (yes|是)? ?\\|")
	var pure [2][]string // by page
	for i, page := range []string{"kubernetes-architecture.md", "zh/kubernetes-architecture.md"} {
		var listed []string
		for _, m := range row.FindAllStringSubmatch(readFile(t, page), -1) {
			listed = append(listed, m[1])
			if m[2] != "" {
				pure[i] = append(pure[i], m[1])
			}
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(listed))); diff != "" {
			t.Errorf("%s (-packages +listed):\n%s", page, diff)
		}
	}
	if diff := cmp.Diff(pure[0], pure[1]); diff != "" {
		t.Errorf("pure (-English +Chinese):\n%s", diff)
	}
}

// TestNamedCommands demands that the commands in running text exist.
func TestNamedCommands(t *testing.T) {
	reference := readFile(t, "cli.md")
	named := regexp.MustCompile("`(?:sudo )?(metax-ctk [a-z]+(?: [a-z]+)?)")
	seen := 0
	for _, page := range pages(t) {
		if filepath.Base(page) == "CHANGELOG.md" { // which names commands that are gone
			continue
		}
		for _, m := range named.FindAllStringSubmatch(readFile(t, page), -1) {
			seen++
			if strings.Contains(reference, "\n## "+m[1]+"\n") {
				continue
			}
			command := "\n## " + strings.Join(strings.Fields(m[1])[:2], " ") // the second word may be an argument
			if !strings.Contains(reference, command+"\n") || strings.Contains(reference, command+" ") {
				t.Errorf("%s: %s is not a command", page, m[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands seen", seen)
	}
}

// TestTranslations demands that every page is there in both languages.
func TestTranslations(t *testing.T) {
	for _, page := range pages(t) {
		if name := filepath.Base(page); filepath.Dir(page) == "." {
			if _, err := os.Stat(filepath.Join("zh", name)); err != nil {
				t.Errorf("%s has no Chinese translation: %v", name, err)
			}
		}
	}
}

// TestVolume keeps README and the pages short enough to be read.
func TestVolume(t *testing.T) {
	const most = 52_000
	words := 0
	for _, page := range pages(t) {
		if filepath.Dir(page) == "." || page == "../README.md" {
			words += len(strings.Fields(readFile(t, page)))
		}
	}
	if words > most {
		t.Errorf("README.md and docs/*.md have %d words, at most %d are wanted: what can go?", words, most)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return testfile.Text(t, path)
}
