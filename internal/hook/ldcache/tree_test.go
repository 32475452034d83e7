// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

func tree(t testing.TB, files map[string]string) *inroot.Root {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "->")
		if link {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
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
