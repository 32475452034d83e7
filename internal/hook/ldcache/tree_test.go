// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func tree(t testing.TB, files map[string]string) *inroot.Root {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		testfile.Mkdir(t, filepath.Dir(path), 0o755)
		target, link := strings.CutPrefix(text, "->")
		if link {
			testfile.Symlink(t, target, path)
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := inroot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}
