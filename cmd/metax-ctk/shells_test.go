// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/completion"
	"github.com/metax-ctk/container-toolkit/test/shells"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestShells has each shell complete command lines.
func TestShells(t *testing.T) {
	install(t, "metax-ctk")
	for _, shell := range shells.Names {
		t.Run(shell, func(t *testing.T) {
			script, _ := completion.Script(shell, "metax-ctk")
			for line, want := range map[string]string{
				"metax-ctk topo":                               "metax-ctk topology ",
				"metax-ctk topology print --fo":                "metax-ctk topology print --format ",
				"metax-ctk pick 4 --policy=bin":                "metax-ctk pick 4 --policy=binpack ",
				"metax-ctk --node c500-8 pick --free 6,":       "",
				"metax-ctk --node 'c500-8' pick 2 --require 7": "metax-ctk --node 'c500-8' pick 2 --require 7",
			} {
				got, all := shells.Complete(t, shell, script, line)
				switch {
				case want == "":
					if !strings.Contains(all, "6,0") || !strings.Contains(all, "6,7") || strings.Contains(all, "6,6") {
						t.Errorf("%s: offers %q", line, all)
					}
				case shell == "fish":
					word, _, _ := strings.Cut(got, "\t")
					if last := want[strings.LastIndex(strings.TrimSpace(want), " ")+1:]; strings.TrimSpace(word) != strings.TrimSpace(last) {
						t.Errorf("%s: offers %q, want %q", line, got, last)
					}
				case got != want:
					t.Errorf("%s: becomes %q, want %q (%q)", line, got, want, all)
				}
			}
		})
	}
}

// install puts this test program under a name into PATH, as testscript does.
func install(t *testing.T, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	testfile.Symlink(t, self, filepath.Join(dir, name))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}
