package given

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookAndCheck(t *testing.T) {
	one := []string{"dev/mxcd", "dev/dri/card1", "dev/dri/renderD128"}
	two := append([]string{"dev/dri/card2", "dev/dri/renderD129"}, one...)
	for _, test := range []struct {
		what  string
		uuids string
		nodes []string
		errs  map[string]error // by base name
		want  int
		err   string
	}{
		{"one", "GPU-1", one, nil, 1, ""},
		{"two", "GPU-1,GPU-2", two, nil, 2, ""},
		{"simulated", "GPU-1", one, map[string]error{"mxcd": syscall.ENXIO, "card1": syscall.ENXIO, "renderD128": syscall.ENXIO}, 1, ""},
		{"nothing", "", nil, nil, 1, "there are 0 nodes /dev/dri/renderD*, want 1"},
		{"a virtual function", "", one, nil, 1, ""},
		{"one too many", "GPU-1,GPU-2", two, nil, 1, "METAX_GPU_UUIDS names 2 GPUs, want 1"},
		{"no nodes", "GPU-1", nil, nil, 1, "there are 0 nodes /dev/dri/renderD*, want 1"},
		{"the node of another", "GPU-1", two, nil, 1, "there are 2 nodes /dev/dri/renderD*, want 1"},
		{"refused", "GPU-1", one, map[string]error{"renderD128": syscall.EPERM}, 1, "open DEV: operation not permitted"},
		{"no group", "GPU-1", one, map[string]error{"card1": syscall.EACCES}, 1, "open DEV: permission denied"},
		{"no shared node", "GPU-1", one[1:], nil, 1, "/dev/mxcd is missing"},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := t.TempDir()
			for _, n := range test.nodes {
				path := filepath.Join(root, n)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c := Container{Root: root, Env: func(string) string { return test.uuids }, Open: func(path string) error {
				if err := test.errs[filepath.Base(path)]; err != nil {
					return &fs.PathError{Op: "open", Path: "DEV", Err: err}
				}
				return nil
			}}
			found, err := c.Look()
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Nodes) != len(test.nodes) {
				t.Errorf("nodes %v, want %v", found.Nodes, test.nodes)
			}
			got := ""
			if err := found.Check(test.want); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(test.err, got); d != "" {
				t.Error(d)
			}
		})
	}
}
