// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// TestBehindScreen: while a view fills the terminal, nothing is written over it; a log in a
// file goes on.
func TestBehindScreen(t *testing.T) {
	path := filepath.Join(trusted.Dir(t), "log")
	for _, file := range []string{"", path} {
		var stderr bytes.Buffer
		c := config.Log{Level: config.Value{Text: "info"}, Format: config.Value{Text: "text"}, File: config.Value{Text: file}}
		log := &journal{Log: logfile.Open(c, logfile.Program{Name: "metax-ctk", Err: &stderr}), printed: file == ""}
		kit := toolkit{deps: deps{Err: &stderr}, log: log, warnings: new(warnings)}
		kit.behindScreen().warn("an engine does not answer")
		if stderr.Len() > 0 {
			t.Errorf("log %q: %s", file, stderr.String())
		}
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "an engine does not answer") {
		t.Errorf("%v: %s", err, text)
	}
}
