// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

// TestExec: the program gets the unhealthy GPUs as arguments and nothing of this process's
// environment, and is not run if others could have written it.
func TestExec(t *testing.T) {
	dir := trusted.Dir(t)
	program, out := filepath.Join(dir, "program"), filepath.Join(dir, "out")
	write := func(mode os.FileMode) {
		t.Helper()
		os.Remove(program)
		testfile.Write(t, program, fmt.Sprintf("#!/bin/sh\necho \"$#: $*, $HOME$SECRET\" >%s\n", out), 0o600)
		if err := os.Chmod(program, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SECRET", "x")
	look := health.Look{Readings: []health.Reading{
		{GPU: health.GPU{BDF: gpu.BDF{Bus: 0xe}}},
		{GPU: health.GPU{Index: 1, BDF: gpu.BDF{Bus: 0xf}}, Problems: []health.Problem{{Code: "vendor-7", Text: "$(reboot)"}, {Code: health.PCILink}}},
		{GPU: health.GPU{Index: -1, BDF: gpu.BDF{Bus: 0x10}}, Problems: []health.Problem{{Code: health.Missing}}},
	}}
	write(0o755)
	if err := Exec(t.Context(), program, look); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != "2: 0000:0f:00.0=vendor-7 0000:10:00.0=missing, \n" {
		t.Errorf("%v: %s", err, got)
	}
	for mode, want := range map[os.FileMode]string{0o777: "cannot be trusted", 0o775: "cannot be trusted", 0o644: "it is not an executable file"} {
		write(mode)
		os.Remove(out)
		if err := Exec(t.Context(), program, look); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mode %o: %v", mode, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("mode %o: it was run", mode)
		}
	}
	if err := Exec(t.Context(), dir, look); err == nil || !strings.Contains(err.Error(), "it is not an executable file") {
		t.Errorf("a directory: %v", err)
	}
}
