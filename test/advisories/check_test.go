// SPDX-License-Identifier: Apache-2.0

package advisories

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestCheck(t *testing.T) {
	const list = "# read 2026-01-01\n" +
		"GO-1 example.com/a 1.10.0 2025-12-01 https://example.com\n" +
		"GO-2 std 1.26.9 2025-12-01 https://example.com\n" +
		"GO-3 example.com/b 2.0.0 2025-12-01 https://example.com # nobody calls it\n"
	for name, c := range map[string]struct{ linked, commit, want string }{
		"newer":           {linked: "example.com/a v1.11.0\nstd 1.26.10\n"},
		"the first fixed": {linked: "example.com/a v1.10.0\nstd 1.26.9\n"},
		"older": {
			linked: "example.com/a v1.9.9\nstd 1.26.8\n",
			want:   "GO-1: example.com/a v1.9.9 is linked, fixed in 1.10.0\nGO-2: std 1.26.8 is linked, fixed in 1.26.9\n",
		},
		"does not concern us": {linked: "example.com/b v1.0.0\n"},
		"another module":      {linked: "example.com/ab v1.0.0\n"},
		"90 days":             {commit: "2026-04-01"},
		"91 days": {
			commit: "2026-04-02",
			want:   "LIST was read 91 days before the commit: read https://github.com/golang/vulndb again\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"list": list, "linked": c.linked} {
				testfile.Write(t, filepath.Join(dir, name), text, 0o644)
			}
			if c.commit == "" {
				c.commit = "2026-01-31"
			}
			out, err := exec.Command("./check", dir+"/list", dir+"/linked", c.commit).CombinedOutput()
			if (err != nil) != (c.want != "") {
				t.Errorf("check: %v", err)
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(string(out), dir+"/list", "LIST")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
