// SPDX-License-Identifier: Apache-2.0

package licences

import (
	"debug/buildinfo"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/programs"
)

// TestText reads the licences of what a program of this repository links.
func TestText(t *testing.T) {
	dir := t.TempDir()
	if err := programs.Build(dir, "../../cmd/metax-hook"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "metax-hook")
	text, err := Text(program, program)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the program links no module: %v", err)
	}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, own) {
			continue
		}
		if n := strings.Count(string(text), "\n"+m.Path+" "+m.Version+" (LICENSE"); n == 0 {
			t.Errorf("%s %s is not there", m.Path, m.Version)
		}
	}
	for _, want := range []string{"\n" + standard + " go", "Redistribution and use in source and binary forms", "Copyright"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in %.400s", want, text)
		}
	}
	if again, err := Text(program); err != nil || string(again) != string(text) {
		t.Errorf("other bytes from the same programs, %v", err)
	}
}

func TestNames(t *testing.T) {
	for file, want := range map[string]bool{
		"LICENSE": true, "LICENSE.txt": true, "LICENCE.md": true, "license-apache": true, "COPYING": true, "NOTICE": true, "PATENTS": true, "UNLICENSE": true,
		"licenses.go": false, "license.go": false, "README.md": false, "noticeable": false,
	} {
		if d := cmp.Diff(want, isLicence(file)); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
	if got := cacheName("github.com/BurntSushi/toml"); got != "github.com/!burnt!sushi/toml" {
		t.Error(got)
	}
}
