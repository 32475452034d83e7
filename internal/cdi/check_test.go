// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// tree makes a host with the nodes and files of twoGPUs below a directory, as
// placeholders, which count as devices there.
func tree(t *testing.T) (dir string, host *hostfs.Root) {
	t.Helper()
	dir = t.TempDir()
	for i, p := range []string{"dev/dri/card1", "dev/dri/card10", "dev/dri/renderD128", "dev/dri/renderD137", "dev/mxcd", "dev/mxgd"} {
		put(t, filepath.Join(dir, p), string(hostfs.Placeholder(hostfs.Device{Major: 226, Minor: uint32(i), Perm: 0o660, GID: 44})), 0o644)
	}
	put(t, filepath.Join(dir, "opt/mxdriver/lib/libmxsml.so"), "", 0o644)
	put(t, filepath.Join(dir, "usr/bin/hook"), "#!/bin/sh\n", 0o755)
	return dir, simtest.Root(t, dir)
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	testfile.Write(t, path, text, mode)
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

var first = []string{"0", "GPU-3fd4ee8f-169c-6d31-f9dc-c2a90a441f1b", "0000:0e:00.0", "all"}

func TestCheck(t *testing.T) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	nodes := func(s *specs.Spec) []*specs.DeviceNode { return s.Devices[0].ContainerEdits.DeviceNodes }
	zero := []string{"0"}
	for _, tc := range []struct {
		name string
		edit func(s *specs.Spec, dir string)
		want []Problem
	}{
		{"nothing wrong", func(*specs.Spec, string) {}, nil},
		{"the host's own numbers pinned", func(s *specs.Spec, _ string) { n := nodes(s)[1]; n.Type, n.Major, n.Minor = "c", 226, 2 }, nil},

		{
			"relative node", func(s *specs.Spec, _ string) { nodes(s)[0].Path, nodes(s)[0].HostPath = "dri/card1", "/dev/dri/card1" },
			[]Problem{{CodePath, `device node "dri/card1"`, zero, `not a clean absolute path (no ".", "..", "//" or "/" at the end)`, false}},
		},
		{
			"node with a detour", func(s *specs.Spec, _ string) { nodes(s)[0].HostPath = "/dev/dri/../dri/card1" },
			[]Problem{{CodePath, `device node "/dev/dri/../dri/card1"`, zero, `not a clean absolute path (no ".", "..", "//" or "/" at the end)`, false}},
		},
		{
			"relative mount", func(s *specs.Spec, _ string) { s.ContainerEdits.Mounts[0].ContainerPath = "opt/mxdriver" },
			[]Problem{{CodePath, `mount to "opt/mxdriver"`, nil, `not a clean absolute path (no ".", "..", "//" or "/" at the end)`, false}},
		},
		{
			"mount with a slash too many", func(s *specs.Spec, _ string) { s.ContainerEdits.Mounts[0].HostPath = "/opt/mxdriver/" },
			[]Problem{{CodePath, `mount of "/opt/mxdriver/"`, nil, `not a clean absolute path (no ".", "..", "//" or "/" at the end)`, false}},
		},
		{
			"newline in a variable", func(s *specs.Spec, _ string) { s.ContainerEdits.Env = []string{"A=\n"} },
			[]Problem{{CodeText, `environment "A=\n"`, nil, "contains control characters or is not UTF-8", false}},
		},
		{
			"escape in a mount option", func(s *specs.Spec, _ string) { s.ContainerEdits.Mounts[0].Options[0] = "\x1b[2J" },
			[]Problem{{CodeText, `mount option "\x1b[2J"`, nil, "contains control characters or is not UTF-8", false}},
		},

		{
			"node gone", func(_ *specs.Spec, dir string) { must(os.Remove(filepath.Join(dir, "dev/dri/card1"))) },
			[]Problem{{CodeNode, "/dev/dri/card1", first, "no such device node", false}},
		},
		{
			"node is a file", func(_ *specs.Spec, dir string) { put(t, filepath.Join(dir, "dev/mxcd"), "text", 0o644) },
			[]Problem{{CodeNode, "/dev/mxcd", nil, "not a character device", false}},
		},
		{"node is a directory", func(_ *specs.Spec, dir string) {
			must(os.Remove(filepath.Join(dir, "dev/mxcd")))
			must(os.Mkdir(filepath.Join(dir, "dev/mxcd"), 0o755))
		}, []Problem{{CodeNode, "/dev/mxcd", nil, "not a character device", false}}},
		{"node is a link", func(_ *specs.Spec, dir string) {
			must(os.Remove(filepath.Join(dir, "dev/mxcd")))
			must(os.Symlink("/dev/mxgd", filepath.Join(dir, "dev/mxcd")))
		}, []Problem{{CodeNode, "/dev/mxcd", nil, "a symbolic link, which engines do not follow", false}}},
		{
			"other numbers pinned", func(s *specs.Spec, _ string) { n := nodes(s)[0]; n.Type, n.Major, n.Minor = "c", 226, 7 },
			[]Problem{{CodeNumbers, "/dev/dri/card1", zero, "numbers 226:7 are pinned, the host has 226:0", false}},
		},
		{
			"block device pinned", func(s *specs.Spec, _ string) { nodes(s)[0].Type = "b" },
			[]Problem{{CodeNumbers, "/dev/dri/card1", zero, `type "b" is pinned, the host has a character device`, false}},
		},
		{
			"nothing to mount", func(s *specs.Spec, _ string) { s.ContainerEdits.Mounts[0].HostPath = "/opt/mxdriver-2" },
			[]Problem{{CodeMount, "/opt/mxdriver-2", nil, "there is nothing to mount", false}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, host := tree(t)
			spec := generated(t, twoGPUs(), Options{})
			tc.edit(spec, dir)
			if diff := cmp.Diff(tc.want, Check(spec, host, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckHook(t *testing.T) {
	const path = "/usr/bin/hook"
	for _, tc := range []struct {
		name string
		edit func(h *specs.Hook, file string) error
		want []Problem
	}{
		{"in order", func(*specs.Hook, string) error { return nil }, nil},
		{
			"without env", func(h *specs.Hook, _ string) error { h.Env = nil; return nil },
			[]Problem{{CodeHookEnv, path, nil, "a hook without env runs with the environment of the image", false}},
		},
		{
			"relative", func(h *specs.Hook, _ string) error { h.Path = "usr/bin/hook"; return nil },
			[]Problem{{CodePath, `hook "usr/bin/hook"`, nil, `not a clean absolute path (no ".", "..", "//" or "/" at the end)`, false}},
		},
		{
			"gone", func(_ *specs.Hook, file string) error { return os.Remove(file) },
			[]Problem{{CodeHook, path, nil, "no such file", false}},
		},
		{
			"group may write", func(_ *specs.Hook, file string) error { return os.Chmod(file, 0o775) },
			[]Problem{{CodeHook, path, nil, fmt.Sprintf("users other than root may change it (owner %d, mode 0775)", os.Getuid()), true}},
		},
		{
			"no program", func(_ *specs.Hook, file string) error { return os.Chmod(file, 0o644) },
			[]Problem{{CodeHook, path, nil, "not an executable file", false}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, host := tree(t)
			spec := generated(t, twoGPUs(), Options{})
			hook := &specs.Hook{HookName: "createContainer", Path: path, Env: []string{"A=1"}}
			spec.ContainerEdits.Hooks = []*specs.Hook{hook}
			if err := tc.edit(hook, filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Check(spec, host, "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCheckHookOwner: a hook is root's, or below another root than "/", of the owner of that
// directory.
func TestCheckHookOwner(t *testing.T) {
	const root, user, other = 0, 1000, 1001
	dir := t.TempDir()
	hook := filepath.Join(dir, "hook")
	put(t, hook, "#!/bin/sh\n", 0o755)
	spec := &specs.Spec{ContainerEdits: specs.ContainerEdits{Hooks: []*specs.Hook{{HookName: "createContainer", Path: hook, Env: []string{"A=1"}}}}}
	// This user's hook, on "/" and of a tree of its own.
	want := fmt.Sprintf("users other than root may change it (owner %d, mode 0755)", os.Getuid())
	for at, safe := range map[string]bool{"/": os.Getuid() == root, dir: true} {
		checkHookOwner(t, spec, at, dir, safe, want)
	}
	t.Run("other owners", func(t *testing.T) {
		needs.Root(t, "to make hooks of others")
		for _, tc := range []struct {
			tree, hook uint32
			safe       bool
		}{{root, user, false}, {user, user, true}, {user, root, true}, {user, other, false}} {
			if err := errors.Join(os.Chown(dir, int(tc.tree), 0), os.Chown(hook, int(tc.hook), 0)); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("users other than root may change it (owner %d, mode 0755)", tc.hook)
			checkHookOwner(t, spec, "/", dir, tc.hook == root, want)
			checkHookOwner(t, spec, dir, dir, tc.safe, want)
		}
	})
}

// checkHookOwner checks a spec of the engine's root "engine" on the node below at.
func checkHookOwner(t *testing.T, spec *specs.Spec, at, engine string, safe bool, problem string) {
	t.Helper()
	host := simtest.Root(t, at)
	if at == "/" {
		engine = ""
	}
	var want []Problem
	if !safe {
		want = []Problem{{CodeHook, spec.ContainerEdits.Hooks[0].Path, nil, problem, true}}
	}
	var got []Problem
	for _, p := range Check(spec, host, engine) {
		if p.Code == CodeHook {
			got = append(got, p)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("below %s: %s", at, diff)
	}
}

func TestCheckBelowRoot(t *testing.T) {
	dir, host := tree(t)
	spec := generated(t, twoGPUs(), Options{EngineRoot: dir})
	if got := Check(spec, host, dir+"/"); got != nil {
		t.Errorf("%v", got)
	}
	// A directory whose name goes on is another one.
	spec.ContainerEdits.Mounts[0].HostPath = dir + "x/opt/mxdriver"
	want := []Problem{{CodeOutside, dir + "x/opt/mxdriver", nil, "not below " + dir, false}}
	if diff := cmp.Diff(want, Check(spec, host, dir)); diff != "" {
		t.Error(diff)
	}
	// Without privilege the tree has placeholders, which no engine can inject.
	real := simtest.Root(t, "/")
	spec = generated(t, twoGPUs(), Options{EngineRoot: dir, Names: All})
	if got := Check(spec, real, ""); len(got) != 6 || got[0].Code != CodeNode {
		t.Errorf("%v", got)
	}
}

func TestProblemString(t *testing.T) {
	for want, p := range map[string]Problem{
		"/dev/mxcd: no such device node":              {CodeNode, "/dev/mxcd", nil, "no such device node", false},
		"/dev/x: no such device node (device 0, all)": {CodeNode, "/dev/x", []string{"0", "all"}, "no such device node", false},
		"odd": {CodeFile, "", nil, "odd", false},
		"/c\uFFFD[32m\uFFFD- x\uFFFD: bad\uFFFD (device \uFFFD, \uFFFD)": {CodeText, "/c\x1b[32m\n- x\u202e", []string{"\x7f", "\xff"}, "bad\u0085", false},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
