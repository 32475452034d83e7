// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/oldkernel"
)

// TestMissingCalls runs itself again on old kernels.
func TestMissingCalls(t *testing.T) {
	const wantVar = "DOCTOR_MISSING_CALLS"
	if want, child := os.LookupEnv(wantVar); child {
		if got := strings.Join(missingCalls(), " "); got != want {
			t.Errorf("%q are missing, want %q", got, want)
		}
		return
	}
	for kernel, want := range map[string]string{
		"before 5.2": "open_tree move_mount fsopen mount_setattr openat2", "5.6 to 5.11": "mount_setattr", "no openat2": "openat2", "seccomp": "",
	} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestMissingCalls$", "-test.v")
		cmd.Env = append(os.Environ(), wantVar+"="+want)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := oldkernel.Start(kernel, cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: TestMissingCalls") {
			t.Errorf("%s: %v: %s", kernel, err, out.String())
		}
	}
}
