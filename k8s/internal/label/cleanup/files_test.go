// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/slicefile"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

const (
	ownHook  = "/var/lib/metax-container-toolkit/metax-hook"
	toolHook = "/usr/bin/metax-hook"
	// written are the files of a node with GPUs and with all programs of the chart.
	written = "run/cdi.lock run/node.json run/k8s/allocations.json run/validation/ready lib/metax-hook lib/node.json cdi/metax-tech.com-gpu.json=" + ownHook +
		" cdi/metax-tech.com-maca.json=" + ownHook + " log/metax-gpu-device.2026-01-01T00Z.log log/metax-gpu-label.2026-01-01T00Z.log log/metax-exporter.2026-01-01T00Z.log nfd/metax-gpu-label " +
		"koordlet/metax-gpu-device.json koordlet/tmp-metax-gpu-device/unfinished "
)

// TestFiles has the files of a host, and those that stay. A spec is written as FILE=HOOK.
func TestFiles(t *testing.T) {
	gpus := []podresources.Container{{Namespace: "ns", Pod: "job", Devices: map[string][]string{"metax-tech.com/gpu": {"GPU-1"}}}}
	for _, test := range []struct {
		what, files string
		list        []podresources.Container
		err         error
		stay        string
	}{
		{what: "all programs", files: written},
		{what: "nothing", files: ""},
		{what: "files of others", files: written + "run/other lib/backups/1 cdi/vendor.com-gpu.json log/vendor.log log/metax-gpu-device.log nfd/vendor koordlet/vendor.json", stay: "cdi/vendor.com-gpu.json koordlet/vendor.json lib/backups/1 log/metax-gpu-device.log log/vendor.log nfd/vendor run/other"},
		{what: "a pod with a GPU", files: written, list: gpus, stay: "cdi/metax-tech.com-gpu.json cdi/metax-tech.com-maca.json lib/metax-hook"},
		{what: "a pod with a device of others", files: written, list: []podresources.Container{{Pod: "p", Devices: map[string][]string{"vendor.com/nic": {"1"}}}}},
		{what: "a kubelet that does not answer", files: written, err: errors.New("away"), stay: "cdi/metax-tech.com-gpu.json cdi/metax-tech.com-maca.json lib/metax-hook"},
		{what: "the node tool, which must write its specs anew", files: written + "run/leases/leases.json", stay: "run/cdi.lock run/leases/leases.json run/node.json run/refresh"},
		{
			what: "specs of the node tool", files: "run/leases/leases.json lib/metax-hook cdi/metax-tech.com-gpu.json=" + toolHook,
			stay: "cdi/metax-tech.com-gpu.json run/leases/leases.json",
		},
		{
			what: "a spec of both", files: "lib/metax-hook cdi/metax-tech.com-gpu.json=" + toolHook + "," + ownHook + " cdi/metax-tech.com-sgpu.json",
			stay: "cdi/metax-tech.com-gpu.json lib/metax-hook",
		},
		{what: "a spec that is damaged", files: "lib/metax-hook cdi/metax-tech.com-gpu.json=\"", stay: "cdi/metax-tech.com-gpu.json lib/metax-hook"},
	} {
		t.Run(test.what, func(t *testing.T) {
			dir := t.TempDir()
			for name := range strings.FieldsSeq(test.files) {
				name, hooks, _ := strings.Cut(name, "=")
				write(t, filepath.Join(dir, name), hooks)
			}
			err := Files{
				Run: dir + "/run", Lib: dir + "/lib", CDI: dir + "/cdi", Logs: []string{dir + "/log"}, Features: dir + "/nfd/metax-gpu-label", Koordlet: dir + "/koordlet",
				List: func(context.Context) ([]podresources.Container, error) { return test.list, test.err },
				Log:  slog.New(slog.DiscardHandler),
			}.Remove(t.Context())
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.stay, strings.Join(below(t, dir), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSliceFiles removes what the plugin wrote for exporters, and not what another one did.
func TestSliceFiles(t *testing.T) {
	dir := slicefile.Dir(t.TempDir() + "/sgpu")
	ours, theirs := protocol.SliceFile{ID: "a", Alias: allocate.Alias("team", "pod", 0)}, protocol.SliceFile{ID: "b", Alias: "x"}
	if err := dir.Set(map[string]protocol.SliceFile{"SGPU-1": ours, "SGPU-2": theirs}, nil); err != nil {
		t.Fatal(err)
	}
	f := Files{Slices: dir, List: func(context.Context) ([]podresources.Container, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler)}
	if err := f.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := dir.Read()
	if diff := cmp.Diff(map[string]protocol.SliceFile{"SGPU-2": theirs}, left); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

// TestFilesOutside does not follow a link out of a directory.
func TestFilesOutside(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/outside/k8s/allocations.json", "")
	if err := os.Mkdir(dir+"/run", 0o755); err != nil {
		t.Fatal(err)
	}
	testfile.Symlink(t, "../outside/k8s", dir+"/run/k8s")
	list := func(context.Context) ([]podresources.Container, error) { return nil, nil }
	if err := (Files{Run: dir + "/run", List: list, Log: slog.New(slog.DiscardHandler)}).Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"outside/k8s/allocations.json"}, below(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// write writes a file; a CDI spec with the hooks, between commas.
func write(t *testing.T, path, hooks string) {
	t.Helper()
	testfile.Mkdir(t, filepath.Dir(path), 0o755)
	edits := `"env": ["A=b"]`
	var list []string
	for hook := range strings.SplitSeq(hooks, ",") {
		list = append(list, `{"hookName": "createContainer", "path": "`+hook+`"}`)
	}
	if hooks != "" {
		edits = `"hooks": [` + strings.Join(list, ", ") + `]`
	}
	spec := `{"cdiVersion": "0.5.0", "kind": "metax-tech.com/gpu", "devices": [{"name": "0", "containerEdits": {` + edits + `}}]}`
	testfile.Write(t, path, spec, 0o644)
}

// below are the files below dir, sorted.
func below(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
