package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"metax-ctk": main})
}

// TestScripts runs the programs as their users do: every command, its output,
// its exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
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

// maxAttempts is how often a command is run again because this machine is too busy
// for what it wants to know.
const maxAttempts = 50

// late reports whether a source did not come to answer in time, which a test can
// neither expect nor forbid. What has changed something is not run again.
func late(text string) bool {
	slow := strings.Contains(text, "no answer within") || strings.Contains(text, "deadline exceeded") || strings.Contains(text, "silent for")
	return slow && !strings.Contains(text, "released ")
}
