// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// perform runs the program.
func perform(t *testing.T, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if failed := cmd.Run(); errors.As(failed, &exit) {
		code = exit.ExitCode()
	} else if failed != nil {
		t.Fatal(failed)
	}
	return out.String(), err.String(), code
}

func TestCommandLine(t *testing.T) {
	program := standin.Program(t, t.TempDir())
	n := simtest.Node(t, "c500-1")
	lib := standin.Build(t, t.TempDir(), n, "print mxSmlInit 0")
	broken := standin.Build(t, t.TempDir(), n, "code mxSmlInit 2")
	relative, err := filepath.Rel(mustGetwd(t), lib)
	if err != nil {
		t.Fatal(err)
	}
	bdf := "--gpu=" + n.GPUs[0].BDF.String()
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // the beginning, and a part
	}{
		{"help", []string{"--help"}, 0, "metax-mxsml: print what libmxsml", ""},
		{"short help", []string{"-h"}, 0, "metax-mxsml: print what libmxsml", ""},
		{"help as a word", []string{"help"}, 0, "metax-mxsml: print what libmxsml", ""},
		{"version", []string{"--version"}, 0, "metax-mxsml ", ""},
		{"short version", []string{"-v"}, 0, "metax-mxsml ", ""},
		{"a node", []string{lib, "node"}, 0, `{"version":"metax-ctk/mxsml/v1","driver":"3.4.4",`, ""},
		{"no device", []string{broken, "node"}, exitFailed, `{"version":"metax-ctk/mxsml/v1","failure":{"function":"mxSmlInit","code":2}}` + "\n", "metax-mxsml: mxSmlInit failed: NoDevice (2)"},
		{"no library", []string{"/dev/null", "node"}, exitUnusable, `{"version":"metax-ctk/mxsml/v1","failure":{"unusable":true,`, "not a libmxsml library"},
		{"nothing", nil, exitUsage, "", "want a library and a command; see metax-mxsml --help"},
		{"nothing to do", []string{lib}, exitUsage, "", "want a library"},
		{"a relative path", []string{relative, "node"}, exitUsage, "", "is not an absolute path"},
		{"a bare name", []string{"libmxsml.so", "node"}, exitUsage, "", `"libmxsml.so" is not an absolute path`},
		{"an unknown word", []string{lib, "nodes"}, exitUsage, "", `unknown command "nodes"`},
		{"an unknown word of sgpu", []string{lib, "sgpu", "make"}, exitUsage, "", `unknown command "sgpu make"`},
		{"sgpu alone", []string{lib, "sgpu"}, exitUsage, "", `unknown command "sgpu"`},
		{"an unknown option", []string{lib, "node", "--all"}, exitUsage, "", "flag provided but not defined"},
		{"an option with control characters", []string{lib, "node", "--a\x1b[2J\u202e\nb"}, exitUsage, "", "flag provided but not defined: -a�[2J�; b; see"},
		{"an argument", []string{lib, "node", "all"}, exitUsage, "", `unexpected argument "all"`},
		{"no GPU", []string{lib, "sgpu", "remove", "--slice=0"}, exitUsage, "", "--gpu=BDF is missing"},
		{"no address", []string{lib, "sgpu", "enable", "--gpu=0"}, exitUsage, "", "not a PCI address"},
		{"no slice", []string{lib, "sgpu", "remove", bdf}, exitUsage, "", "--slice=UUID or --slice=INDEX is missing"},
		{"no size", []string{lib, "sgpu", "create", bdf}, exitUsage, "", "0 percent of the compute units"},
		{"enable", []string{lib, "sgpu", "enable", bdf}, 0, `{"version":"metax-ctk/mxsml/v1"}` + "\n", ""},
		{"create", []string{lib, "sgpu", "create", bdf, "--compute=10", "--memory=256"}, 0, `{"version":"metax-ctk/mxsml/v1","slice":{"index":0,`, ""},
		{"remove", []string{lib, "sgpu", "remove", bdf, "--slice=0"}, 0, `{"version":"metax-ctk/mxsml/v1"}` + "\n", ""},
		{"remove what is not there", []string{lib, "sgpu", "remove", bdf, "--slice=0"}, exitFailed, `{"version":"metax-ctk/mxsml/v1","failure":{"text":"GPU`, "has no slice 0"},
		{"disable", []string{lib, "sgpu", "disable", bdf}, 0, `{"version":"metax-ctk/mxsml/v1"}` + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, code := perform(t, program, test.args...)
			if code != test.code || !strings.HasPrefix(stdout, test.stdout) || test.stdout == "" && stdout != "" ||
				!strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, test.code, test.stdout, test.stderr)
			}
			if strings.HasPrefix(stdout, "{") {
				var a mxsml.Answer
				if err := json.Unmarshal([]byte(stdout), &a); err != nil {
					t.Errorf("%v: %s", err, stdout)
				}
			}
		})
	}
}

// TestEnvironment: the library is the one at the path, whatever the environment says.
func TestEnvironment(t *testing.T) {
	other := standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1"), "code mxSmlInit 2")
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(other))
	t.Setenv("MXSML_LIBRARY_PATH", other)
	lib := standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1"))
	if _, stderr, code := perform(t, standin.Program(t, t.TempDir()), lib, "node"); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestNoReader: an answer that cannot be written is a failure.
func TestNoReader(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := exec.Command(standin.Program(t, t.TempDir()), standin.Build(t, t.TempDir(), simtest.Node(t, "c500-1")), "node")
	cmd.Stdout = full
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("got %v", err)
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func BenchmarkNode(b *testing.B) {
	program := standin.Program(b, b.TempDir())
	lib := standin.Build(b, b.TempDir(), simtest.Node(b, "c500-8"))
	for b.Loop() {
		if err := exec.Command(program, lib, "node").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
