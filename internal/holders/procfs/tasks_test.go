// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

const v1, v2 = "io.containerd.runtime.v1.linux", "io.containerd.runtime.v2.task"

func TestTasks(t *testing.T) {
	elsewhere := t.TempDir()
	shim := func(pid int, cwd string, argv ...string) fake {
		return fake{pid: pid, command: "containerd-shim", cwd: cwd, argv: append([]string{"/usr/bin/containerd-shim-runc-v2"}, argv...)}
	}
	socket := filepath.Join(elsewhere, "real.sock")
	write(t, socket, "")
	link(t, "real.sock", filepath.Join(elsewhere, "link.sock"))
	x, y, z := filepath.Join(elsewhere, "x"), filepath.Join(elsewhere, "y"), filepath.Join(elsewhere, "z")
	dir := tree(
		t,
		shim(20, filepath.Join(x, v2, "ns", "one"), "-namespace", "ns", "-address", filepath.Join(elsewhere, "link.sock")),
		shim(21, filepath.Join(x, v2, "ns", "two"), "-namespace", "ns", "-address", filepath.Join(elsewhere, "link.sock")),
		shim(22, filepath.Join(y, v1, "moby", "three")),
		shim(23, filepath.Join(z, v2, "gone", "gone")),
		shim(24, "/"), shim(25, ""),
		fake{pid: 26, command: "containerd", cwd: filepath.Join(z, v2, "ns", "x")},
	)
	host := filepath.Dir(dir)
	for _, path := range []string{
		filepath.Join(x, v2, "ns", "one", "config.json"), filepath.Join(x, v2, "ns", "two", "config.json"), filepath.Join(y, v1, "moby", "three", "config.json"),
		filepath.Join(host, "run/containerd", v2, "k8s.io", "b", "config.json"), filepath.Join(host, "run/containerd", v2, "k8s.io", "a", "config.json"),
		filepath.Join(host, "run/containerd", v2, "k8s.io", "file"), filepath.Join(host, "run/containerd", v1, "old", "c", "config.json"),
		filepath.Join(host, "run/docker/containerd/daemon", v2, "moby", "e", "config.json"),
		filepath.Join(host, "run/k3s/containerd", v2, "k8s.io", "f", "config.json"),
	} {
		write(t, path, "")
	}
	want := []procfs.Task{
		{socket, "ns", "one"},
		{socket, "ns", "two"},
		{filepath.Join(y, "containerd.sock"), "moby", "three"},
		{filepath.Join(host, "run/containerd/containerd.sock"), "k8s.io", "a"},
		{filepath.Join(host, "run/containerd/containerd.sock"), "k8s.io", "b"},
		{filepath.Join(host, "run/containerd/containerd.sock"), "old", "c"},
		{filepath.Join(host, "run/docker/containerd/containerd.sock"), "moby", "e"},
		{filepath.Join(host, "run/k3s/containerd/containerd.sock"), "k8s.io", "f"},
	}
	got, err := procfs.New(dir, -1).Tasks()
	if err != nil {
		t.Fatal(err)
	}
	sortTasks(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTaskEnded looks at the first process of tasks, where it can be known.
func TestTaskEnded(t *testing.T) {
	dir := tree(t, fake{pid: 22, command: "train"})
	host := filepath.Dir(dir)
	state := filepath.Join(host, "run/containerd", v2, "default")
	for id, text := range map[string]string{"lives": "22", "ended": "23", "odd": "x", "none": "0"} {
		write(t, filepath.Join(state, id, "init.pid"), text)
	}
	usual := filepath.Join(host, "run/containerd/containerd.sock")
	for task, want := range map[procfs.Task]bool{
		{usual, "default", "lives"}: false, {usual, "default", "ended"}: true, {usual, "default", "odd"}: false, {usual, "default", "none"}: false,
		{usual, "default", "gone"}: false, {usual, "other", "ended"}: false, {"/own/containerd.sock", "default", "ended"}: false,
	} {
		if got := procfs.New(dir, -1).TaskEnded(task); got != want {
			t.Errorf("%v: %t", task, got)
		}
	}
}

func TestNoTasks(t *testing.T) {
	if got, err := procfs.New(tree(t), -1).Tasks(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v; want none", got, err)
	}
}

func TestTasksRefused(t *testing.T) {
	needs.Root(t, "to give directories to others")
	dir := tree(t)
	state := filepath.Join(filepath.Dir(dir), "run/containerd", v2)
	write(t, filepath.Join(state, "k8s.io", "a", "config.json"), "")
	write(t, filepath.Join(filepath.Dir(dir), "run/k3s/containerd", v2, "k8s.io", "f", "config.json"), "")
	if err := os.Chmod(state, 0o711); err != nil {
		t.Fatal(err)
	}
	for at := filepath.Dir(dir); at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode()&0o11 != 0o11 {
			if err := os.Chmod(at, info.Mode()|0o11); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []procfs.Task
	var err error
	asNobody(t, func() { got, err = procfs.New(dir, -1).Tasks() })
	if err == nil || !strings.HasPrefix(err.Error(), "look for containers of containerd: open "+state+": permission denied") {
		t.Errorf("error is %v", err)
	}
	if len(got) != 1 || got[0].ID != "f" {
		t.Errorf("%v; want those of the other", got)
	}
}

// The first shim that is believed and names a socket names that of all who work in the same
// state directory.
func TestTasksAddress(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	cwd := filepath.Join(state, v2, "ns", "one")
	write(t, filepath.Join(cwd, "config.json"), "")
	at := func(pid int, command string, uid int, address ...string) fake {
		return fake{pid: pid, command: command, uid: uid, cwd: cwd, argv: append([]string{"x"}, address...)}
	}
	own := os.Getuid()
	for name, test := range map[string]struct {
		processes []fake
		want      string
	}{
		"nobody to be believed": {[]fake{at(20, "containerd-shim", own+1, "-address", "/a")}, ""},
		"no shim":               {[]fake{at(20, "sh", own, "-address", "/a")}, ""},
		"none named":            {[]fake{at(20, "containerd-shim", own)}, filepath.Join(state, "containerd.sock")},
		"by others": {[]fake{
			at(20, "sh", own, "-address", "/a"), at(21, "containerd-shim", own+1, "-address", "/b"),
			at(22, "containerd-shim", own), at(23, "containerd-shim", own, "-address=/c"),
		}, "/c"},
	} {
		var want []procfs.Task
		if test.want != "" {
			want = []procfs.Task{{test.want, "ns", "one"}}
		}
		got, err := procfs.New(tree(t, test.processes...), -1).Tasks()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A shim that does not show where it works may stand for containers that nobody sees, unless
// its containerd is one that is looked at anyway.
func TestTasksClosed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "containerd-shim")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link(t, self, program)
	for range 2 {
		startAs(t, program, nil, nil, "-address", "/run/containerd/containerd.sock")
	}
	tasks := func() (err error) {
		asNobody(t, func() { _, err = procfs.New("/proc", -1).Tasks() })
		return err
	}
	if err := tasks(); err != nil && strings.Contains(err.Error(), "find the containers") {
		t.Errorf("of a containerd that is known: %v", err)
	}
	startAs(t, program, nil, nil, "-address", "/nowhere.sock")
	want := "look for containers of containerd: find the containers of /nowhere.sock: permission denied"
	if err := tasks(); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

// TestRunBy finds containers by their low-level runtime.
func TestRunBy(t *testing.T) {
	id := strings.Repeat("a", 64)
	conmon := func(pid int, runtime string) fake {
		return fake{pid: pid, command: "conmon", argv: []string{"/usr/bin/conmon", "--api-version", "1", "-c", id, "-n", "job", "-r", runtime, "--full-attach"}}
	}
	dir := tree(t, conmon(22, "/usr/bin/metax-runtime"), conmon(23, "/usr/bin/runc"), fake{pid: 24, command: "train"}, fake{pid: 25, command: "bash", argv: []string{"conmon", "-r", "/usr/bin/metax-runtime"}})
	state := filepath.Join(filepath.Dir(dir), "run/containerd", v2)
	for path, text := range map[string]string{
		"moby/" + id + "/runtime": "/usr/bin/metax-runtime", "moby/" + id + "/init.pid": "24",
		"default/web/runtime": "/opt/metax-runtime\n", "default/db/runtime": "runc", "default/old/config.json": "",
		"default/ended/runtime": "/usr/bin/metax-runtime", "default/ended/init.pid": "99",
	} {
		write(t, filepath.Join(state, path), text)
	}
	got := procfs.New(dir, -1).RunBy(func(path string) bool { return filepath.Base(path) == "metax-runtime" })
	want := []string{"container aaaaaaaaaaaa (docker)", "container job (podman)", "container web (containerd, namespace default)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
