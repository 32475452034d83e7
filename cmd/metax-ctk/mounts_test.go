// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/needs"
)

// TestUnchangedBinary lays a simulated node over the machine's own /sys, /dev and /opt in a
// private mount namespace: there the program, with no option at all, must see that node.
func TestUnchangedBinary(t *testing.T) {
	needs.Root(t, "for device nodes and mounts")
	dir := t.TempDir()
	program, node := filepath.Join(dir, "metax-ctk"), filepath.Join(dir, "node")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	want := output(t, "--node", "c500-8", "device", "list", "-o", "json")
	output(t, "sim", "create", "c500-8", node)

	const script = `set -e
for d in etc/hostname sys opt dev; do mount --rbind "$1/$d" "/$d"; done
exec "$2" device list -o json`
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", node, program)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("in a private mount namespace: %v\n%s", err, stderr.String())
	}
	// How the driver came to the host is a matter of this machine's kernel modules.
	mode := regexp.MustCompile(`(?m)^    "mode": "(native|cloud)",\n`)
	if d := cmp.Diff(mode.ReplaceAllString(want, ""), mode.ReplaceAllString(string(got), "")); d != "" {
		t.Error(d)
	}
}
