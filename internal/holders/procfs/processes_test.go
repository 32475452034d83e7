// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// holding is what a look at the real /proc reports of a process, nil for nothing.
func holding(t *testing.T, d holders.Devices, pid int) *usage.Process {
	t.Helper()
	sight, err := look(t, procfs.New("/proc", -1), "processes", d, usage.Question{})
	if sight.Partial != (err != nil) {
		t.Errorf("partial is %v beside %v", sight.Partial, err)
	}
	for _, p := range timeless(t, sight.Processes) {
		if p.PID == pid {
			return &p
		}
	}
	return nil
}

// timeless takes away what no test can know: when a process started, and the number of its
// namespace.
func timeless(t *testing.T, all []usage.Process) []usage.Process {
	t.Helper()
	for i := range all {
		if all[i].Start == 0 || all[i].PIDNamespace == 0 {
			t.Errorf("it is not known when and where %+v started", all[i])
		}
		all[i].Start, all[i].PIDNamespace = 0, 0
	}
	return all
}

// expect is what our child with these GPUs looks like.
func expect(c *child, gpus ...gpu.BDF) *usage.Process {
	name := filepath.Base(os.Args[0])
	return &usage.Process{PID: c.Process.Pid, UID: uint32(os.Getuid()), Command: name[:min(len(name), 15)], GPUs: gpus}
}

func TestOpened(t *testing.T) {
	d := real(t)
	for name, test := range map[string]struct {
		open []string
		env  []string
		gpus []gpu.BDF
	}{
		"none":             {open: []string{"/dev/null", "/dev"}},
		"one":              {open: []string{"/dev/full"}, gpus: []gpu.BDF{gpu1}},
		"path only":        {open: []string{"@/dev/full"}},
		"path and a use":   {open: []string{"@/dev/full", "/dev/zero", "@/dev/zero"}, gpus: []gpu.BDF{gpu0}},
		"path, then a use": {open: []string{"@/dev/full", "/dev/full"}, gpus: []gpu.BDF{gpu1}},
		"both":             {open: []string{"/dev/full", "/dev/zero", "/dev/full"}, gpus: []gpu.BDF{gpu0, gpu1}},
		"leader ended":     {open: []string{"/dev/zero"}, env: []string{leaderEnds + "=1"}, gpus: []gpu.BDF{gpu0}},
	} {
		t.Run(name, func(t *testing.T) {
			kid := start(t, test.open, test.env)
			want := expect(kid, test.gpus...)
			if test.gpus == nil {
				want = nil
			}
			if diff := cmp.Diff(want, holding(t, d, kid.Process.Pid)); diff != "" {
				t.Error(diff)
			}
			kid.die(t)
			if got := holding(t, d, kid.Process.Pid); got != nil {
				t.Errorf("it ended and holds %v", got)
			}
		})
	}
}

func TestOpenedByUs(t *testing.T) {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := holding(t, real(t), os.Getpid()); got != nil {
		t.Errorf("we hold %v", got)
	}
}

// A simulated node's devices are told by their paths, as their numbers may be those of
// anything here.
func TestOpenedBelowRoot(t *testing.T) {
	root := t.TempDir()
	nodes := []string{"/dev/dri/card1", "/dev/dri/card2"}
	make := func(t *testing.T, i int) {
		path := filepath.Join(root, nodes[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, uint32(3+2*i)))); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := os.WriteFile(path, hostfs.Placeholder(hostfs.Device{Major: 226, Minor: uint32(i)}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		make(t, i)
	}
	d := devices(t, root, nodes...)
	first, second := filepath.Join(root, nodes[0]), filepath.Join(root, nodes[1])
	kid, others, gone := start(t, []string{second}, nil), start(t, []string{root, filepath.Dir(first), "/dev/zero"}, nil), start(t, []string{first}, nil)
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expect(kid, gpu1), holding(t, d, kid.Process.Pid)); diff != "" {
		t.Error(diff)
	}
	if got := holding(t, d, others.Process.Pid); got != nil {
		t.Errorf("who has the directories and our device open holds %v", got)
	}
	if diff := cmp.Diff(expect(gone, gpu0), holding(t, d, gone.Process.Pid)); diff != "" {
		t.Errorf("of a node that was deleted: %s", diff)
	}
}

func TestProcesses(t *testing.T) {
	id := strings.Repeat("0a", 32)
	dir := tree(
		t,
		fake{pid: 300, command: "py) (thon 3", uid: 1000, cgroup: "0::/system.slice/docker-" + id + ".scope\n", open: []string{"/dev/null", "/dev/full", "/dev/zero"}},
		fake{pid: 30, command: "smi", open: []string{"socket:[1]", "/dev/zero", "pipe:[/dev/zero]", "/etc/passwd"}},
		fake{pid: 31, command: "kworker/0:1", flags: 0x04208060}, // neither has any file
		fake{pid: 32, command: "zombie", state: "Z"},
		fake{pid: 33, command: "idle"},
		fake{pid: 35, command: "waits"},
		fake{pid: 36, command: "kworker/1:0", open: []string{"/dev/full"}}, // a process with the name of a kernel thread
	)
	link(t, "/dev/zero", filepath.Join(dir, "33", "fd", "3"))
	network := filepath.Join(t.TempDir(), "file")
	link(t, "/dev/zero", network)
	link(t, network, filepath.Join(dir, "35", "fd", "3"))
	write(t, filepath.Join(dir, "34", "stat"), "")
	want := usage.Sight{Processes: []usage.Process{
		{PID: 30, Command: "smi", GPUs: []gpu.BDF{gpu0}},
		{PID: 33, Command: "idle", GPUs: []gpu.BDF{gpu0}},
		{PID: 36, Command: "kworker/1:0", GPUs: []gpu.BDF{gpu1}},
		{PID: 300, UID: 1000, Command: "py) (thon 3", Container: id, GPUs: []gpu.BDF{gpu0, gpu1}},
	}}
	p := procfs.New(dir, -1)
	self, err := p.Self()
	if err != nil {
		t.Fatal(err)
	}
	idle := usage.Client{PID: 33, Start: 100, PIDNamespace: self.PIDNamespace}
	again, shim := idle, idle // the same pid before, and one that has no files
	again.Start, shim.PID = 7, 31
	want.Read, want.PIDNamespace = []usage.Client{shim, idle}, self.PIDNamespace
	got, err := look(t, p, "processes", real(t), usage.Question{Recorded: []usage.Client{again, idle, shim}})
	if err != nil {
		t.Fatal(err)
	}
	// A made-up tree is read in any order.
	sortProcesses(timeless(t, got.Processes))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// With hidepid=2 not even init is there.
func TestHidden(t *testing.T) {
	dir := tree(t)
	if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	p := procfs.New(dir, -1)
	for _, s := range p.Sources(real(t)) {
		name, _ := s.Name()
		sight, err := s.Look(t.Context(), usage.Question{})
		if err == nil || !sight.Partial || !strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, partial %v; want both", name, err, sight.Partial)
		}
	}
}

func TestOneScan(t *testing.T) {
	dir := tree(t, conmon(20, idA, "/none", "--full-attach"))
	sources := procfs.New(dir, -1).Sources(real(t))
	if sight, err := sources[0].Look(t.Context(), usage.Question{}); err != nil {
		t.Fatal(sight, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, s := range sources[1:] {
		name, _ := s.Name()
		sight, err := s.Look(t.Context(), usage.Question{Seen: map[string]usage.Facts{idA: {Name: "a"}}})
		if err != nil || (len(sight.Containers) == 1) != (name == "podman") {
			t.Errorf("%s: %+v, %v; want what the scan of the first saw", name, sight, err)
		}
	}
}

func TestNoProc(t *testing.T) {
	for _, s := range procfs.New(filepath.Join(t.TempDir(), "proc"), -1).Sources(real(t)) {
		sight, err := s.Look(t.Context(), usage.Question{})
		if !errors.Is(err, os.ErrNotExist) || !sight.Partial {
			t.Errorf("%v, partial %v; want ErrNotExist", err, sight.Partial)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range procfs.New("/proc", -1).Sources(real(t)) {
		name, _ := s.Name()
		sight, err := s.Look(ctx, usage.Question{})
		if !errors.Is(err, context.Canceled) || !sight.Partial {
			t.Errorf("%s: %v, partial %v; want Canceled", name, err, sight.Partial)
		}
	}
}

func TestOtherUsers(t *testing.T) {
	kid := start(t, []string{"/dev/zero"}, nil)
	d := real(t)
	var sight usage.Sight
	var err error
	asNobody(t, func() {
		sight, err = look(t, procfs.New("/proc", -1), "processes", d, usage.Question{})
	})
	if err == nil || !sight.Partial || !strings.Contains(err.Error(), " processes could not be inspected") {
		t.Errorf("error is %v, partial %v", err, sight.Partial)
	}
	for _, p := range sight.Processes {
		if p.PID == kid.Process.Pid {
			t.Errorf("nobody sees root's %+v", p)
		}
	}
}

// Processes that come and go are nothing to complain of.
func TestComeAndGo(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				exec.Command("true").Run()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	p := procfs.New("/proc", -1)
	for range 20 {
		for _, lost := range []bool{false, true} {
			// Some that run beside the test even root may not inspect.
			_, err := look(t, p, "processes", real(t), usage.Question{Lost: lost})
			if err != nil && !errors.Is(err, os.ErrPermission) {
				t.Fatal(err)
			}
		}
	}
}
