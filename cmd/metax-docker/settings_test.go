// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// wrapped runs metax-docker with a configuration and returns its exit code, what it says, and
// the client that it becomes.
func wrapped(t *testing.T, configuration string, args ...string) (code int, said, client string) {
	t.Helper()
	env := map[string]string{"METAX_CTK_NODE": "c500-8"}
	var text strings.Builder
	code = run(deps{
		Args: args, Config: configuration, Getenv: func(name string) string { return env[name] },
		Out: &text, Err: &text, Run: (*exec.Cmd).Run, Mark: func() {},
		Exec: func(path string, _, _ []string) error { client = path; return syscall.ENOEXEC },
	})
	return code, text.String(), client
}

// TestBrokenSettings: a configuration with a typing error stops a line that needs it, and no
// other.
func TestBrokenSettings(t *testing.T) {
	dir := trusted.Dir(t)
	path := filepath.Join(dir, "config.toml")
	docker := filepath.Join(dir, "docker")
	testfile.Write(t, docker, "#!/bin/sh\n", 0o755)
	t.Setenv("PATH", dir)
	testfile.Write(t, path, "[docker]\nclinet = \"podman\"\n", 0o644)
	for _, args := range [][]string{{"ps"}, {"run", "image"}, {"compose", "ps"}} {
		if code, said, client := wrapped(t, path, args...); client != docker || !strings.Contains(said, "warning: read configuration "+path) || !strings.Contains(said, "clinet") {
			t.Errorf("%q: exit %d, client %q, said %s", args, code, client, said)
		}
	}
	if code, said, client := wrapped(t, path, "run", "--gpus=1", "--dry-run", "image"); code != exitOurs || client != "" || !strings.Contains(said, "clinet") {
		t.Errorf("a line with GPUs: exit %d, client %q, said %s", code, client, said)
	}
}

// TestStrangersSettings: root does not run the client that a file names which others may
// write. Other users do as before.
func TestStrangersSettings(t *testing.T) {
	dir := trusted.Dir(t)
	path := filepath.Join(dir, "config.toml")
	for _, name := range []string{"docker", "strange"} {
		testfile.Write(t, filepath.Join(dir, name), "#!/bin/sh\n", 0o755)
	}
	t.Setenv("PATH", dir)
	testfile.Write(t, path, "[docker]\nclient = \"strange\"\n", 0o644)
	strange := filepath.Join(dir, "strange")
	if _, said, client := wrapped(t, path, "ps"); client != strange {
		t.Fatalf("the user's own file: client %q, said %s", client, said)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, said, client := wrapped(t, path, "ps")
	if os.Geteuid() != 0 {
		if client != strange {
			t.Errorf("an ordinary user: client %q, said %s", client, said)
		}
		return
	}
	if client != filepath.Join(dir, "docker") || !strings.Contains(said, "cannot be trusted") {
		t.Errorf("root: client %q, said %s", client, said)
	}
	if code, said, client := wrapped(t, path, "run", "--gpus=1", "image"); code != exitOurs || client != "" || !strings.Contains(said, "cannot be trusted") {
		t.Errorf("root, with GPUs: exit %d, client %q, said %s", code, client, said)
	}
}
