// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

const home = "opt/maca-3.3.0.15"

// all are the library directories of the simulated installation.
var all = []string{"/opt/mxdriver/lib", "/opt/maca/lib", "/opt/maca/mxgpu_llvm/lib", "/opt/maca/ompi/lib", "/opt/maca/ucx/lib"}

// dev are the links that every simulated host lacks: those of developer packages.
var dev = []edits.LibraryLink{{Name: "libmpi.so", Target: "/opt/maca/ompi/lib/libmpi.so.40"}, {Name: "libucp.so", Target: "/opt/maca/ucx/lib/libucp.so.0"}}

// installed is the simulated installation, at its usual path or another.
func installed(dir string, links []edits.LibraryLink) edits.Software {
	return edits.Software{
		Path: maca.Path, Version: "3.3.0.15", Dir: dir, Default: true, Driver: "/opt/mxdriver", Libraries: all, Links: links,
		Programs: []string{"/opt/maca/bin/macainfo", "/opt/maca/mxgpu_llvm/bin/mxcc", "/opt/maca/tools/cu-bridge/bin/cucc"},
		Env:      []string{"MACA_PATH=/opt/maca", "MACA_CLANG_PATH=/opt/maca/mxgpu_llvm/bin", "CUCC_PATH=/opt/maca/tools/cu-bridge"},
	}
}

func TestFind(t *testing.T) {
	move := func(from, to string) func(sim.Tree) {
		return func(tree sim.Tree) { tree[home+to] = tree[home+from]; delete(tree, home+from) }
	}
	for _, test := range []struct {
		name    string
		edit    func(sim.Tree)
		want    edits.Software
		warning string // a part of the only one
	}{
		{"as installed", func(sim.Tree) {}, installed("/"+home, dev), ""},
		{
			"no SONAME link", move("/lib/libmcruntime.so", "/lib/libmcruntime.so.3.3.0"),
			installed("/"+home, append([]edits.LibraryLink{{Name: "libmcruntime.so", Target: "/opt/maca/lib/libmcruntime.so.3.3.0"}}, dev...)),
			"",
		},
		{
			"a SONAME that is a path", func(tree sim.Tree) {
				f := tree[home+"/lib/libmccl.so"].(sim.File)
				f.Data = strings.Replace(f.Data, "libmccl.so\x00", "../mccl.so\x00", 1)
				tree[home+"/lib/libmccl.so"] = f
			},
			installed("/"+home, dev),
			"",
		},
		{
			"a text for the linker", func(tree sim.Tree) {
				tree[home+"/lib/libx.so"] = sim.File{Data: "INPUT(-lmccl)"}
			},
			installed("/"+home, dev),
			"",
		},
		{
			"cut off", func(tree sim.Tree) {
				f := tree[home+"/lib/libmccl.so"].(sim.File)
				f.Data = f.Data[:80]
				tree[home+"/lib/libmccl.so"] = f
			},
			installed("/"+home, dev),
			"/opt/maca-3.3.0.15/lib/libmccl.so:",
		},
		{
			"a directory", func(tree sim.Tree) { tree[home+"/lib/libx.so"] = sim.Dir{} },
			installed("/"+home, dev),
			"libx.so: not a regular file",
		},
		{
			"a link that leads nowhere", func(tree sim.Tree) { tree[home+"/lib/libx.so"] = sim.Link("libx.so.1") },
			installed("/"+home, dev),
			"libx.so leads nowhere: no such file",
		},
		{"not linked", func(tree sim.Tree) {
			delete(tree, "opt/maca")
			for p, e := range tree {
				if rest, ok := strings.CutPrefix(p, home); ok {
					tree["opt/maca"+rest] = e
					delete(tree, p)
				}
			}
		}, installed("/opt/maca", dev), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := find(host(t, test.edit), "")
			if err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(got.Warnings, "\n")
			got.Warnings = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (test.warning == "") != (warnings == "") || !strings.Contains(warnings, test.warning) || strings.Contains(warnings, "\n") {
				t.Errorf("warnings are %q, want one with %q", warnings, test.warning)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(sim.Tree)
		none bool
		says string
	}{
		"none":         {func(tree sim.Tree) { delete(tree, "opt/maca") }, true, "no MXMACA on this host: /opt/maca"},
		"broken":       {func(tree sim.Tree) { tree["opt/maca"] = sim.Link("/opt/maca-4") }, true, "no MXMACA on this host: /opt/maca"},
		"a loop":       {func(tree sim.Tree) { tree["opt/maca"] = sim.Link("maca") }, false, "too many"},
		"a file":       {func(tree sim.Tree) { tree["opt/maca"] = sim.File{} }, true, "not a directory"},
		"the root":     {func(tree sim.Tree) { tree["opt/maca"] = sim.Link("/") }, false, "/opt/maca leads to /, which is not in /opt"},
		"out of /opt":  {func(tree sim.Tree) { tree["usr/bin"], tree["opt/maca"] = sim.Dir{}, sim.Link("/usr/bin") }, false, "/opt/maca leads to /usr/bin, which is not in /opt"},
		"/opt itself":  {func(tree sim.Tree) { tree["opt/maca"] = sim.Link("/opt") }, false, "/opt/maca leads to /opt, which is not in /opt"},
		"deeper below": {func(tree sim.Tree) { tree["opt/maca"] = sim.Link("/" + home + "/lib") }, false, "which is not in /opt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := find(host(t, test.edit), "")
			if err == nil || errors.Is(err, maca.ErrNone) != test.none || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want one that says %q", err, test.says)
			}
		})
	}
}

// simulated are the relevant files of a simulated host.
func simulated(t testing.TB) sim.Tree {
	t.Helper()
	_, tree := simtest.Host(t, "c500-8")
	for p := range tree {
		if !strings.HasPrefix(p, "opt/") && !strings.HasPrefix(p, "usr/") {
			delete(tree, p)
		}
	}
	return tree
}

// host is a simulated host after an edit.
func host(t *testing.T, edit func(sim.Tree)) *hostfs.Root {
	t.Helper()
	tree := simulated(t)
	edit(tree)
	return simtest.Write(t, tree)
}
