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
	"github.com/metax-ctk/container-toolkit/test/programs"
)

// TestUnchangedBinary lays a simulated node over the machine's own /sys, /dev and /opt in a
// private mount namespace: there the program, with no option at all, must see that node.
func TestUnchangedBinary(t *testing.T) {
	needs.Root(t, "for device nodes and mounts")
	dir := t.TempDir()
	program, node := filepath.Join(dir, "metax-ctk"), filepath.Join(dir, "node")
	if err := programs.Build(dir, "."); err != nil {
		t.Fatal(err)
	}
	want := output(t, "--node", "c500-8", "device", "list", "-o", "json")
	output(t, "sim", "create", "c500-8", node)

	const script = `set -e
for d in etc/hostname sys opt dev; do mount --rbind "$1/$d" "/$d"; done
shift; exec "$@"`
	onNode := func(prepare string, args ...string) string {
		t.Helper()
		cmd := exec.Command("unshare", append([]string{
			"--mount", "--propagation", "private", "sh", "-c", prepare + script, "sh", node, program,
		}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("in a private mount namespace: %v\n%s", err, stderr.String())
		}
		return string(out)
	}
	got := onNode("", "device", "list", "-o", "json")
	// How the driver came to the host is a matter of this machine's kernel modules.
	mode := regexp.MustCompile(`(?m)^    "mode": "(native|cloud)",\n`)
	if d := cmp.Diff(mode.ReplaceAllString(want, ""), mode.ReplaceAllString(got, "")); d != "" {
		t.Error(d)
	}

	// What user space writes to the kernel's log is not an error of a GPU. Without the log, a line says so.
	const withLog = `: >"$1/dev/kmsg"; mount --bind /dev/kmsg "$1/dev/kmsg"
echo "<3>METAX.B0E00.SMI.ERROR of a test" >/dev/kmsg
`
	const unknown = "Errors that the driver has logged are unknown: open /dev/kmsg: no such file or directory\n"
	if got := onNode("", "health"); !strings.HasSuffix(got, unknown) {
		t.Errorf("without the kernel's log: %s", got)
	}
	if got := onNode(withLog, "health", "-o", "json"); strings.Contains(got, "driverErrors") {
		t.Errorf("with the kernel's log: %s", got)
	}
	if got := onNode(`: >"$1/dev/kmsg"; mount --bind /dev/zero "$1/dev/kmsg"`+"\n", "health"); !strings.Contains(got, "not the kernel's log 1:11\n") {
		t.Errorf("with another device: %s", got)
	}
}
