// SPDX-License-Identifier: Apache-2.0

package projectfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// Another user can have made anything by the name that everybody knows.
func TestTemporaryDirTaken(t *testing.T) {
	for name, squat := range map[string]func(t *testing.T, dir string) error{
		"free":          func(*testing.T, string) error { return nil },
		"another's":     func(_ *testing.T, dir string) error { return os.Mkdir(dir, 0o777) },
		"a link":        func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) },
		"a lost link":   func(_ *testing.T, dir string) error { return os.Symlink("none", dir) },
		"a file":        func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"and all after": func(_ *testing.T, dir string) error { return os.Symlink("none", dir+"-1") },
	} {
		t.Run(name, func(t *testing.T) {
			shared := t.TempDir()
			known := filepath.Join(shared, fmt.Sprintf("metax-container-toolkit-%d", os.Getuid()))
			if err := squat(t, known); err != nil {
				t.Fatal(err)
			}
			if name == "and all after" {
				testfile.Write(t, known, "", 0o600)
			}
			dir, err := temporaryDir(shared)
			if err != nil {
				t.Fatal(err)
			}
			if (dir == known) != (name == "free") || !strings.HasPrefix(dir, known) {
				t.Errorf("the directory is %s", dir)
			}
			if info, err := os.Lstat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("%v, %v; want a directory that only its user enters", info, err)
			}
			// The next command uses the same one, so that projects of ended ones are removed.
			if again, err := temporaryDir(shared); err != nil || again != dir {
				t.Errorf("the next command has %s, %v; want %s", again, err, dir)
			}
		})
	}
}
