// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/programs"
)

func TestMain(m *testing.M) {
	testscript.Main(withSMI{m}, map[string]func(){"metax-ctk": func() {
		programDir = smiDir
		main()
	}})
}

// withSMI are tests that find metax-sim-smi.
type withSMI struct{ *testing.M }

// smiVariable names the directory with metax-sim-smi, also for programs that tests start.
const smiVariable = "METAX_TEST_SIM_SMI"

func smiDir() (string, error) { return os.Getenv(smiVariable), nil }

// Run builds metax-sim-smi and runs the tests.
func (m withSMI) Run() int {
	programDir = smiDir
	if os.Getenv(smiVariable) != "" {
		return m.M.Run()
	}
	dir, err := os.MkdirTemp("", "sim-smi")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Chmod(dir, 0o755), programs.Build(dir, "../metax-sim-smi"), os.Setenv(smiVariable, dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build metax-sim-smi:", err)
		return 1
	}
	return m.M.Run()
}

// TestScripts runs the programs as their users do: every command, its output, its exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *golden.Update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "fill": fill, "opens": opens, "docker": docker, "awaits": awaits,
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TZ", "UTC")
			e.Setenv(smiVariable, os.Getenv(smiVariable))
			return nil
		},
	})
}

// exits runs a command and demands one exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	for range maxAttempts {
		if !late(ts.ReadFile("stdout") + ts.ReadFile("stderr")) {
			break
		}
		err = ts.Exec(args[1], args[2:]...)
	}
	code := "0"
	if err != nil {
		code = err.Error()[len("exit status "):]
	}
	if code != args[0] {
		ts.Fatalf("%v: exit code %s, want %s", args[1:], code, args[0])
	}
}

// maxAttempts is how often a command is run again because this machine is too busy for what it
// wants to know.
const maxAttempts = 50

// late reports whether a source did not come to answer in time, which a test can
// neither expect nor forbid. What has changed something is not run again.
func late(text string) bool {
	slow := strings.Contains(text, "no answer within") || strings.Contains(text, "deadline exceeded") || strings.Contains(text, "silent for")
	return slow && !strings.Contains(text, "released ")
}
