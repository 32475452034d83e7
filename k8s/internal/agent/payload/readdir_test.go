// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestReadDir reads an empty directory, and no more than the limit of one with more entries.
func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for n := range 4 {
		entries, err := readDir(root, ".", 3)
		if err != nil || len(entries) != min(n, 3) {
			t.Errorf("%d entries: got %d, %v", n, len(entries), err)
		}
		testfile.Write(t, filepath.Join(dir, fmt.Sprint(n)), "", 0o644)
	}
	if entries, err := readDir(root, ".", 3); err != nil || len(entries) != 3 {
		t.Errorf("got %d entries, %v; want 3", len(entries), err)
	}
	if _, err := readDir(root, "none", 3); err == nil {
		t.Error("a directory that does not exist is read")
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readDir(root, "fifo", 3); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a FIFO: %v", err)
	}
}
