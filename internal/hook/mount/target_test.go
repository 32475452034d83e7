// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestCreateTargetMoved puts links to a volume below the directory and to above it in
// the path, after the directory was found.
func TestCreateTargetMoved(t *testing.T) {
	needs.Root(t, "to mount")
	top := t.TempDir()
	above, volume := filepath.Join(top, "above"), filepath.Join(top, "above/volume")
	testfile.Mkdir(t, volume, 0o755)
	if err := unix.Mount("none", volume, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(volume, unix.MNT_DETACH)
	for name, target := range map[string]string{"in": "volume", "out": "../..", "root": "/"} {
		testfile.Symlink(t, target, filepath.Join(above, name))
	}
	dir, err := os.Open(above)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, kind := range []uint32{unix.S_IFDIR, unix.S_IFREG} {
		s := &Source{stat: unix.Stat_t{Mode: kind}}
		for _, path := range []string{"in/x", "in/x/y"} {
			if f, err := createTarget(dir, path, s, false); !errors.Is(err, inroot.ErrOtherMount) {
				t.Errorf("%s: %v, %v", path, f, err)
			}
		}
		for _, path := range []string{"out/x", "root/y"} {
			f, err := createTarget(dir, path, s, false)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			f.Close()
			at := filepath.Join(above, filepath.Base(path))
			if err := os.Remove(at); err != nil {
				t.Errorf("%s was made elsewhere: %v", path, err)
			}
		}
	}
	for _, at := range []string{volume, top} {
		if entries, err := os.ReadDir(at); err != nil || len(entries) > 1 || at == volume && len(entries) > 0 {
			t.Errorf("%s has %v, %v", at, entries, err)
		}
	}
}
