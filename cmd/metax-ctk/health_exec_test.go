// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// TestHealthExec: the program of health.exec runs once for a change, and one that others may
// write is a warning.
func TestHealthExec(t *testing.T) {
	_, tree := simtest.Host(t, "c500-8")
	root, dir := simtest.Write(t, tree).Dir(), trusted.Dir(t)
	program, ran := filepath.Join(dir, "program"), filepath.Join(dir, "ran")
	testfile.Write(t, program, "#!/bin/sh\necho run >>"+ran+"\n", 0o755)
	settings, err := config.Load("config.toml", []byte("[health]\nexec = '"+program+"'\n"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	look := func() string {
		t.Helper()
		var out, said bytes.Buffer
		tool := toolkit{deps{Out: &out, Err: &said}, settings, &journal{}, new(warnings)}
		if err := tool.app().RunContext(t.Context(), []string{"metax-ctk", "--root", root, "health", "--refresh"}); err != nil {
			t.Errorf("%v: %s", err, &said)
		}
		tool.endWarnings()
		return said.String()
	}
	for range 2 {
		look()
	}
	if got, err := os.ReadFile(ran); err != nil || string(got) != "run\n" {
		t.Errorf("%q, %v; want it to run once", got, err)
	}
	if err := os.Chmod(program, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "run/metax-container-toolkit/health")); err != nil {
		t.Fatal(err)
	}
	if said := look(); !strings.Contains(said, "of health.exec: cannot be trusted") {
		t.Errorf("said %q", said)
	}
	if got, _ := os.ReadFile(ran); string(got) != "run\n" {
		t.Errorf("it ran again: %q", got)
	}
}
