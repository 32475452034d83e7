// SPDX-License-Identifier: Apache-2.0

// Package trusted creates directories to which only root and the user of the tests can
// write, in which programs and settings are accepted. Directories below /tmp do not
// qualify, because everyone may write there.
package trusted

import (
	"os"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Dir creates such a directory, which is removed after the test. It skips the test if
// none can be created.
func Dir(t testing.TB) string {
	t.Helper()
	for _, base := range []string{"/run", os.Getenv("XDG_RUNTIME_DIR"), os.Getenv("HOME")} {
		if _, err := hostfs.Trust(base); base == "" || err != nil {
			continue
		}
		dir, err := os.MkdirTemp(base, "metax-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Skip("needs a directory that only root and this user can write")
	return ""
}
