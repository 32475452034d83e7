// SPDX-License-Identifier: Apache-2.0

package insidelook

import (
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
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
				testfile.Write(t, path, "", 0o644)
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

// TestOthers: of the node's /dev, what the container was not given is to be refused.
func TestOthers(t *testing.T) {
	for _, test := range []struct {
		what string
		host []string
		errs map[string]error // by path
		err  string           // of Look or of Check
	}{
		{"refused", []string{"card1", "card2", "renderD128", "renderD129"}, map[string]error{"host/dri/card2": syscall.EPERM, "host/dri/renderD129": syscall.EPERM}, ""},
		{"opened", []string{"card1", "card2", "card3"}, map[string]error{"host/dri/card2": syscall.EPERM}, "card3 can be opened, but is not the container's"},
		{"opened, nothing behind", []string{"card2"}, map[string]error{"host/dri/card2": syscall.ENXIO}, "card2 can be opened, but is not the container's"},
		{"not the node's", nil, nil, "host has no device nodes of GPUs: it is not the node's /dev"},
	} {
		t.Run(test.what, func(t *testing.T) {
			root := t.TempDir()
			nodes := []string{"dev/mxcd", "dev/dri/card1", "dev/dri/renderD128"}
			for _, name := range test.host {
				nodes = append(nodes, "host/dri/"+name)
			}
			for _, name := range nodes {
				testfile.Mkdir(t, filepath.Join(root, filepath.Dir(name)), 0o755)
				testfile.Write(t, filepath.Join(root, name), "", 0o644)
			}
			c := Container{Root: root, HostDev: "host", Env: func(string) string { return "" }, Open: func(path string) error {
				name, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				return test.errs[name]
			}}
			found, err := c.Look()
			if err == nil {
				err = found.Check(1)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(test.err, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestString is what people read: what can be opened, what is refused, and that nothing is
// behind simulated GPUs.
func TestString(t *testing.T) {
	nodes := func(err error, names ...string) (list []Node) {
		for _, name := range names {
			if err != nil {
				err = &fs.PathError{Op: "open", Path: name, Err: err}
			}
			list = append(list, Node{"/dev/dri/" + name, err})
		}
		return list
	}
	own := []string{"mxcd", "card1", "card10", "card2", "card3", "card9", "renderD128", "renderD129"}
	for _, test := range []struct {
		what string
		in   GPUs
		want string
	}{
		{"nothing", GPUs{}, ""},
		{
			"a GPU",
			GPUs{UUIDs: []string{"GPU-1"}, Nodes: nodes(nil, "mxcd", "card1", "renderD128")},
			"GPU-1\ncan be opened: mxcd, card1, renderD128\n",
		},
		{
			"simulated",
			GPUs{Nodes: nodes(syscall.ENXIO, own...), Others: nodes(syscall.EPERM, "card4", "card5", "card6", "renderD130")},
			"can be opened: mxcd, card1 … card3, card9, card10, renderD128, renderD129 (no GPU behind: simulated, or the driver is not loaded)\n" +
				"refused: card4 … card6, renderD130\n",
		},
		{
			"different",
			GPUs{Nodes: slices.Concat(nodes(nil, "mxcd", "card1"), nodes(syscall.EIO, "card2"), nodes(syscall.EACCES, "renderD128"))},
			"can be opened: mxcd, card1\ncan be opened: card2 (the driver answers: input/output error)\nrefused: renderD128\n",
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			if d := cmp.Diff(test.want, test.in.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
