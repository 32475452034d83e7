// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// TestMainClearsEnvironment: the environment, which may be an image's, is cleared
// first, whatever the command line, and main answers each spelling of help and version.
func TestMainClearsEnvironment(t *testing.T) {
	args, out, env := os.Args, os.Stdout, os.Environ()
	defer func() {
		os.Args, os.Stdout = args, out
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
	}()
	for word, want := range map[string]string{
		"--help": help, "-h": help, "help": help, "--version": "metax-hook unknown\n", "-v": "metax-hook unknown\n",
	} {
		os.Setenv("LD_PRELOAD", "/proc/self/cwd/poc.so")
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		os.Args, os.Stdout = []string{"metax-hook", word}, file
		main()
		if diff := cmp.Diff([]string{}, os.Environ()); diff != "" {
			t.Errorf("after %s: %s", word, diff)
		}
		file.Close()
		if got, err := os.ReadFile(file.Name()); err != nil || string(got) != want {
			t.Errorf("%s prints %q, %v", word, got, err)
		}
	}
}

// TestOneCleanLine: control characters of an image's path do not reach a terminal or
// make a second line.
func TestOneCleanLine(t *testing.T) {
	var said strings.Builder
	j := &job{in: strings.NewReader(`{"bundle": "/none/a\u001b[2J\u009b31m\u202e\nmetax-hook: 训练"}`), err: &said}
	// What run does before gives up the privileges of this process.
	err := j.run([]hook.Step{{Action: "create-symlinks"}})
	if err == nil {
		t.Fatal("there is no such bundle")
	}
	j.printMessage(err.Error())
	j.printMessage("a\x1b[2J\u009b31m\u202e\nmetax-hook: 训练")
	first, second, _ := strings.Cut(said.String(), "\n")
	if !terminal.Clean(first) || second != "metax-hook: a�[2J�31m�; metax-hook: 训练\n" {
		t.Errorf("said %q", said.String())
	}
}

// TestOptionalLinks: a container whose files cannot be reached starts without links that it
// can do without.
func TestOptionalLinks(t *testing.T) {
	for options, fails := range map[string]bool{"new-link": false, "link": true} {
		j := &job{in: strings.NewReader(`{"bundle": "/none"}`)}
		err := j.run([]hook.Step{{Action: "create-symlinks", Options: map[string][]string{options: {"/opt/mxdriver/bin/mx-smi::/usr/bin/mx-smi"}}}})
		if (err != nil) != fails {
			t.Errorf("--%s: %v", options, err)
		}
		if said := strings.Join(j.warnings, "\n"); !fails && !strings.Contains(said, "no link at /usr/bin/mx-smi: ") {
			t.Errorf("--%s: said %q", options, said)
		}
	}
}
