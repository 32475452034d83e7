// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// TestErrorIsOneCleanLine: what a path or a name brings along neither reaches the
// terminal nor forges a line.
func TestErrorIsOneCleanLine(t *testing.T) {
	const hostile = "a\x1b[2J\u009b31m\u202e\nmetax-docker: 训练"
	env := map[string]string{"METAX_CTK_DOCKER": "/bin/true", "METAX_CTK_ROOT": "/none/" + hostile, "METAX_CTK_NODE": "host"}
	var said strings.Builder
	code := run(deps{Args: []string{"run", "--gpus=1", "image"}, Getenv: func(name string) string { return env[name] }, Out: t.Output(), Err: &said})
	line, ended := strings.CutSuffix(said.String(), "\n")
	if code != exitOurs || !ended || !terminal.Clean(line) || !strings.Contains(line, "训练") {
		t.Errorf("exit code %d, said %q", code, said.String())
	}
	said.Reset()
	m := messages{stderr: &said}
	m.warn("%s", hostile)
	if got, want := said.String(), "metax-docker: warning: a�[2J�31m�; metax-docker: 训练\n"; got != want {
		t.Errorf("warned %q, want %q", got, want)
	}
}
