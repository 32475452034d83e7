// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const fixture = "../../internal/objects/testdata/cluster.yaml"

// exec runs a command line against the fixture or what it names itself.
func exec(t *testing.T, line string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = runCommandLine(t.Context(), append([]string{"kubectl-metax"}, strings.Fields(line)...), &o, &e)
	return code, o.String(), e.String()
}

// TestCommands runs command lines with a file in place of an API server.
func TestCommands(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	t.Setenv("HOME", t.TempDir())
	empty := t.TempDir() + "/empty.yaml"
	testfile.Write(t, empty, "kind: List\n", 0o644)
	for _, test := range []struct {
		line string
		code int
		want string // in the output, or the error for another code than 0
	}{
		{"--help", 0, "kubectl metax topology NODE"},
		{"top --help", 0, "kubectl metax top pod -A"},
		{"top node --help", 0, "FREE BY DOMAIN"},
		{"top --from " + fixture, 0, "each job inside one MetaXLink domain: 7 × 1"},
		{"--from=" + fixture + " top cluster", 0, "C500"},
		{"top node --from " + fixture, 0, "node-b.example.com"},
		{"top node node-a -o json --from " + fixture, 0, `"kind": "TopNode"`},
		{"top node node-a --from " + fixture, 0, "clocks are not shown: a file does not have them"},
		{"top -o yaml nodes --from " + fixture, 0, "kind: TopNodeList"},
		{"top pod --from " + fixture, 0, "default"},
		{"top pod -n team big --from " + fixture, 0, "pending: team/big: 0/8 nodes are available"},
		{"top pod -A --from " + fixture, 0, "infer"},
		{"top pod -A big --from " + fixture, 2, "leave out its name"},
		{"top pod big --from " + fixture, 1, `no pod "big" in namespace default`},
		{"top -w --from " + fixture, 2, "a file does not change"},
		{"top pod --watch --interval 10ms", 2, "want at least 1s"},
		{"topology node-a --from " + fixture, 0, "GPU0"},
		{"topology node-a --format tree --from " + fixture, 0, "PCIe switch 3"},
		{"topology node-a --format svg --from " + fixture, 0, "<svg "},
		{"topology node-a -o json --from " + fixture, 0, `"kind": "TopologyPrint"`},
		{"topology node-a --format mattrix --from " + fixture, 2, `did you mean "matrix"`},
		{"topology --from " + fixture, 2, "topology takes NODE; got 0 arguments"},
		{"topology node-d --from " + fixture, 1, "its annotations do not say how its GPUs are linked"},
		{"topology node-x --from " + fixture, 1, `node "node-x" does not exist`},
		{"top --from " + empty, 3, "no node of this cluster has MetaX GPUs"},
		{"top --from /nonexistent", 1, "no such file"},
		{"top --from app.go", 1, "not a file of Kubernetes objects"},
		{"top", 1, "read the kubeconfig"},
		{"top node --from", 2, "needs a value"},
		{"top nod", 2, `did you mean "node"`},
		{"tpo", 2, `did you mean "top"`},
		{"tpo --from " + fixture, 2, `unknown command "tpo"`},
		{"--from " + fixture + " tpo", 2, `unknown command "tpo"`},
		{"top -o jsno", 2, `did you mean "json"`},
		{"top --kubeconfg x", 2, "kubeconfg"},
		{"why big -n team --from " + fixture, 0, "node-c: has the GPUs, but is cordoned"},
		{"why model -o json --from " + fixture, 0, `"kind": "Why"`},
		{"why none --from " + fixture, 1, `no pod "none" with GPUs in namespace default`},
		{"why metax-gpu-device-x7f2p -n metax-gpu-extensions --from " + fixture, 1, "requests neither GPUs nor slices"},
		{"bugreport - --from " + fixture, 0, "# Bug report"},
		{"bugreport - -o json --from " + fixture, 2, "needs a file"},
		{"version", 0, "kubectl metax "},
	} {
		code, out, errs := exec(t, test.line)
		text := out
		if code != 0 {
			text = errs
		}
		if code != test.code || !strings.Contains(text, test.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", test.line, code, test.code, test.want, out, errs)
		}
	}
}

// TestReport writes a report and looks at it.
func TestReport(t *testing.T) {
	file := t.TempDir() + "/report.yaml"
	code, out, errs := exec(t, "bugreport "+file+" -o json --from "+fixture)
	if code != 0 || !strings.Contains(out, `"kind": "ClusterBugreport"`) {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	if code, out, errs = exec(t, "top node --from "+file); code != 0 || !strings.Contains(out, "node-1 ") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestHelp looks at the help of every command: an example, and lines that fit.
func TestHelp(t *testing.T) {
	var walk func(path string, commands []*cli.Command)
	walk = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			code, out, _ := exec(t, path+c.Name+" --help")
			if code != 0 || !strings.Contains(out, "Example") || !strings.Contains(out, "kubectl metax "+path+c.Name) {
				t.Errorf("%s%s: exit code %d:\n%s", path, c.Name, code, out)
			}
			for line := range strings.Lines(out) {
				if len(line) > 140 {
					t.Errorf("%s%s: a line of %d characters: %s", path, c.Name, len(line), line)
				}
			}
			walk(path+c.Name+" ", c.Subcommands)
		}
	}
	walk("", newApp(nil, nil).Commands)
}

// TestArrange moves options behind the command.
func TestArrange(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "kubectl-metax",
		"-n x top pod a -o json":         "kubectl-metax top pod -n x -o json -- a",
		"topology a --format=tree b":     "kubectl-metax topology --format=tree -- a b",
		"topology --format tree a":       "kubectl-metax topology --format tree -- a",
		"bugreport -":                    "kubectl-metax bugreport -- -",
		"top -- -x":                      "kubectl-metax top -- -x",
		"--context c top -A pods --help": "kubectl-metax top pods --context c -A --help",
	} {
		got, err := reorderOptions(newApp(nil, nil), append([]string{"kubectl-metax"}, strings.Fields(line)...))
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
}
