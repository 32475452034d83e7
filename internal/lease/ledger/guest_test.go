// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// A guest writes into a directory that is there, and leaves its group and mode to others.
func TestGuest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	guest := New(dir, "boot")
	guest.Guest = true
	change := func(*lease.State) error { return nil }
	if err := guest.Update(t.Context(), change); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := guest.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode() != fs.ModeDir|0o755 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	if state, err := guest.Read(); err != nil || state.New {
		t.Errorf("it wrote %+v, %v", state, err)
	}
}
