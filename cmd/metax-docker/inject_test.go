// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestEnvFile: docker reads the file after us, so that it cannot be a pipe.
func TestEnvFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	testfile.Write(t, file, "A=1\n", 0o600)
	if text, err := envFile(file); text != "A=1\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := envFile(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	pipe := file + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := envFile(pipe); !errors.Is(err, errNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
}
