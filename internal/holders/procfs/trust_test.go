// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// No process hides its open files behind a name.
func TestAttendants(t *testing.T) {
	needs.Root(t, "as the owner of the processes")
	const shim, program = "containerd-shim", "/usr/bin/containerd-shim-runc-v2"
	for name, test := range map[string]struct {
		fake
		passed bool
	}{
		"shim":               {fake{command: shim, exe: program, mounts: ourMounts}, true},
		"old shim":           {fake{command: shim, exe: "/opt/bin/containerd-shim", mounts: ourMounts}, true},
		"after an upgrade":   {fake{command: shim, exe: program + " (deleted)", mounts: ourMounts}, true},
		"conmon":             {fake{command: "conmon", exe: "/usr/bin/conmon", mounts: ourMounts}, true},
		"dockerd":            {fake{command: "dockerd", exe: "/usr/bin/dockerd", mounts: ourMounts}, true},
		"containerd":         {fake{command: "containerd", exe: "/usr/local/bin/containerd (deleted)", mounts: ourMounts}, true},
		"rootless dockerd":   {fake{command: "dockerd", exe: "/usr/bin/dockerd", mounts: ourMounts, uid: 1000}, false},
		"dockerd inside":     {fake{command: "dockerd", exe: "/usr/bin/dockerd", mounts: "mnt:[2]"}, false},
		"named dockerd":      {fake{command: "dockerd", exe: "/usr/bin/python3", mounts: ourMounts}, false},
		"a user's":           {fake{command: shim, exe: program, mounts: ourMounts, uid: 1000}, false},
		"a container's":      {fake{command: shim, exe: program, mounts: "mnt:[2]"}, false},
		"namespace unknown":  {fake{command: shim, exe: program}, false},
		"program unknown":    {fake{command: shim, mounts: ourMounts}, false},
		"only named so":      {fake{command: shim, exe: "/usr/bin/python3", mounts: ourMounts}, false},
		"another directory":  {fake{command: shim, exe: program + "/python3", mounts: ourMounts}, false},
		"another's program":  {fake{command: shim, exe: "/usr/bin/conmon", mounts: ourMounts}, false},
		"virtual machine":    {fake{command: shim, exe: "/usr/bin/containerd-shim-kata-v2", mounts: ourMounts}, false},
		"program of another": {fake{command: "python3", exe: program, mounts: ourMounts}, false},
		"longer name":        {fake{command: "conmonitor", exe: "/usr/bin/conmon", mounts: ourMounts}, false},
	} {
		test.pid, test.open = 20, []string{"/dev/zero"}
		var want []usage.Process
		if !test.passed {
			want = []usage.Process{{PID: 20, UID: uint32(test.uid), Command: test.command, GPUs: []gpu.BDF{gpu0}}}
		}
		got, err := look(t, procfs.New(tree(t, test.fake), -1), "processes", real(t), usage.Question{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, timeless(t, got.Processes)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The kernel's own word on both.
func TestRealAttendants(t *testing.T) {
	needs.Root(t, "as the owner of the processes")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	linked, copied := filepath.Join(dir, "containerd-shim"), filepath.Join(dir, "containerd-shim-runc-v2")
	link(t, self, linked)
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, text, 0o755); err != nil {
		t.Fatal(err)
	}
	named, shim := startAs(t, linked, []string{"/dev/zero"}, nil), startAs(t, copied, []string{"/dev/zero"}, nil)
	want := expect(named, gpu0)
	want.Command = "containerd-shim"
	if diff := cmp.Diff(want, holding(t, real(t), named.Process.Pid)); diff != "" {
		t.Errorf("who only calls itself so: %s", diff)
	}
	if got := holding(t, real(t), shim.Process.Pid); got != nil {
		t.Errorf("a shim is looked into: %v", got)
	}
}
