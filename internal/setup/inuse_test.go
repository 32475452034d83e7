// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestInUse reads configurations of engines of which metax-runtime is the default, or not.
func TestInUse(t *testing.T) {
	const registered = `"runtimes": {"metax": {"path": "/usr/bin/metax-runtime"}, "other": {"path": "/usr/bin/other"}}`
	const broken = "docker has metax as its default runtime, so none of its containers would start. To undo that: metax-ctk runtime configure --engine docker --remove --restart"
	for text, want := range map[string][]string{
		`{"default-runtime": "metax", ` + registered + `}`: {broken},
		`{"default-runtime": "other", ` + registered + `}`: nil,
		`{` + registered + `}`:                             nil,
		`{"default-runtime":`:                              nil, // nobody can say
	} {
		dir := t.TempDir()
		for path, text := range map[string]string{"usr/bin/dockerd": "", "etc/docker/daemon.json": text} {
			at := filepath.Join(dir, path)
			testfile.Write(t, at, text, 0o755)
		}
		root := simtest.Root(t, dir)
		got, err := Host{Root: root}.InUse(t.Context(), procfs.New(filepath.Join(dir, "proc"), -1))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
