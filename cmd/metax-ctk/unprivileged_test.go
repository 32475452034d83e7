// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/needs"
)

// TestScriptsUnprivileged runs the scripts that have lines for users who are not root as the
// user nobody: CI is root.
func TestScriptsUnprivileged(t *testing.T) {
	needs.Root(t, "to be another user")
	const nobody = 65534
	dir, err := os.MkdirTemp("", "scripts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	copied := map[string]string{"/proc/self/exe": program}
	for _, script := range []string{"lease.txtar", "doctor.txtar"} {
		copied[filepath.Join("testdata", script)] = filepath.Join(dir, "testdata", script)
	}
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range copied {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestScripts$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCOVERDIR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
