// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// TestErrorIsOneCleanLine: what a path or a document brings along neither reaches the terminal
// nor forges a line.
func TestErrorIsOneCleanLine(t *testing.T) {
	const hostile = "a\x1b[2J\u009b31m\u202e\nmetax-ctk: 训练"
	for _, args := range [][]string{
		{"--root", "/none/" + hostile, "device", "list"},
		{"--node", hostile + "/node.json", "device", "list"},
		{"--gpus-ignore", "x", "config", hostile},
	} {
		var out, said bytes.Buffer
		code := runCommandLine(t.Context(), append([]string{"metax-ctk"}, args...), deps{Out: &out, Err: &said})
		line, ended := strings.CutSuffix(said.String(), "\n")
		if code == 0 || !ended || !terminal.Clean(line) || !strings.HasPrefix(line, "metax-ctk: ") {
			t.Errorf("%q: exit code %d, said %q", args, code, said.String())
		}
	}
}
