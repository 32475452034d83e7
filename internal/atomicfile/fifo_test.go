// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// ends fails the test if act waits for the other end of a FIFO.
func ends(t *testing.T, act func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); act() }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("waits for the other end of a FIFO")
	}
}

func TestSyncDirFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, func() {
		if err := atomicfile.SyncDir(path); !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("error %v, want ENOTDIR", err)
		}
	})
}

// TestWriteFIFO: the file becomes a FIFO at any moment, also between the check and the
// open.
func TestWriteFIFO(t *testing.T) {
	dir := t.TempDir()
	path, fifo := filepath.Join(dir, "spec.json"), filepath.Join(dir, "fifo")
	write(t, path, "one", 0o644, true)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(fifo)
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Error(err)
				return
			}
			for range 2 {
				if err := unix.Renameat2(unix.AT_FDCWD, fifo, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	ends(t, func() {
		for range 20_000 {
			if _, err := atomicfile.Write(path, []byte("one"), atomicfile.Options{Perm: 0o644}); err != nil && !errors.Is(err, atomicfile.ErrNotRegular) {
				t.Error(err)
				return
			}
		}
	})
	close(stop)
	<-stopped
}
