// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/test/needs"
)

// contained is this program as a child in namespaces of its own, as in a container; of an
// ordinary user, as in a rootless one.
func contained(files ...*os.File) *exec.Cmd {
	cmd := onHost(files...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// onHost is this program as a child without such namespaces.
func onHost(files ...*os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.ExtraFiles = files
	return cmd
}

// socketPair returns two joined sockets.
func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// descriptorOf returns the number of the descriptor by which a process has a file open.
func descriptorOf(t *testing.T, pid int, path string) int {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == path {
			n, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d does not have %s open", pid, path)
	return -1
}

// A GPU is in use by the process that was handed its descriptor, whatever became of the one
// that opened it, and in whatever container either is.
func TestHanded(t *testing.T) {
	d := real(t)
	commands := map[string]func(...*os.File) *exec.Cmd{"the host": onHost, "container": contained}
	for from, giver := range commands {
		for to, receiver := range commands {
			t.Run("passed from "+from+" to "+to, func(t *testing.T) {
				a, b := socketPair(t)
				first := startWith(t, giver(a), []string{"/dev/zero"}, []string{passes + "=1"})
				second := startWith(t, receiver(b), nil, []string{receives + "=1"})
				a.Close()
				b.Close()
				checkHanded(t, d, first, second)
			})
			if to == "container" && os.Geteuid() != 0 {
				continue // the kernel lets a user namespace take nothing from outside of it
			}
			t.Run("taken by "+to+" from "+from, func(t *testing.T) {
				first := startWith(t, giver(), []string{"/dev/zero"}, nil)
				source := fmt.Sprintf("%d:%d", first.Process.Pid, descriptorOf(t, first.Process.Pid, "/dev/zero"))
				cmd := receiver()
				if cmd.SysProcAttr != nil {
					cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWPID // --pid=host
				}
				checkHanded(t, d, first, startWith(t, cmd, nil, []string{takes + "=" + source}))
			})
		}
	}
}

// checkHanded expects that both processes have the first GPU in use, and the second alone once
// the first has ended.
func checkHanded(t *testing.T, d holders.Devices, first, second *child) {
	t.Helper()
	for _, c := range []*child{first, second} {
		if diff := cmp.Diff(expect(c, gpu0), holding(t, d, c.Process.Pid)); diff != "" {
			t.Error(diff)
		}
	}
	first.die(t)
	if got := holding(t, d, first.Process.Pid); got != nil {
		t.Errorf("it ended and holds %v", got)
	}
	if diff := cmp.Diff(expect(second, gpu0), holding(t, d, second.Process.Pid)); diff != "" {
		t.Errorf("after the first has ended: %s", diff)
	}
	second.die(t)
	if got := holding(t, d, second.Process.Pid); got != nil {
		t.Errorf("both ended, and the second holds %v", got)
	}
}

// gpusOf returns the GPUs that a process uses, nil for none.
func gpusOf(t *testing.T, d holders.Devices, pid int) []gpu.BDF {
	t.Helper()
	if p := holding(t, d, pid); p != nil {
		return p.GPUs
	}
	return nil
}

// A process that enters the namespaces of a container, makes its own, or has the nodes in
// another place, uses what it has open.
func TestElsewhere(t *testing.T) {
	d := real(t)
	inside := strconv.Itoa(startWith(t, contained(), nil, nil).Process.Pid)
	dir := t.TempDir()
	node := filepath.Join(dir, "zero")
	if err := os.WriteFile(node, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mounted := func(what, at string) *exec.Cmd {
		return exec.Command("unshare", "--user", "--map-root-user", "--mount",
			"sh", "-c", `mount --rbind "$1" "$2" && exec "$3"`, "sh", what, at, os.Args[0])
	}
	enter := []string{"--target=" + inside, "--mount", "--net", "--ipc", "--uts"}
	if os.Geteuid() != 0 {
		enter = append(enter, "--user", "--preserve-credentials")
	}
	for name, c := range map[string]struct {
		cmd  *exec.Cmd
		open string
	}{
		"enters a container": {exec.Command("nsenter", append(enter, os.Args[0])...), "/dev/zero"},
		"a user namespace":   {exec.Command("unshare", "--user", "--map-root-user", "--mount", os.Args[0]), "/dev/zero"},
		"--volume /dev":      {mounted("/dev", dir), node},
		"a node alone":       {mounted("/dev/zero", node), node},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := socketPair(t)
			c.cmd.ExtraFiles = []*os.File{a}
			first := startWith(t, c.cmd, []string{c.open}, []string{passes + "=1"})
			second := startWith(t, contained(b), nil, []string{receives + "=1"})
			checkHanded(t, d, first, second)
		})
	}
}

// What no look sees (docs/adr/0021): a device that is mapped and closed, one that a thread has
// for itself, and one on its way between processes.
func TestUnseen(t *testing.T) {
	d := real(t)
	for name, c := range map[string]struct {
		env  string
		gpus []gpu.BDF
	}{
		"open":              {"", []gpu.BDF{gpu0}},
		"mapped and closed": {maps + "=1", nil},
		"a thread's own":    {unshares + "=1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			kid := startWith(t, contained(), []string{"/dev/zero"}, []string{c.env})
			if diff := cmp.Diff(c.gpus, gpusOf(t, d, kid.Process.Pid)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("on its way", func(t *testing.T) {
		a, b := socketPair(t)
		first := startWith(t, contained(a), []string{"/dev/zero"}, []string{passes + "=1"})
		first.die(t)
		for _, pid := range []int{first.Process.Pid, os.Getpid()} {
			if got := gpusOf(t, d, pid); got != nil {
				t.Errorf("process %d holds %v", pid, got)
			}
		}
		second := startWith(t, contained(b), nil, []string{receives + "=1"})
		if diff := cmp.Diff([]gpu.BDF{gpu0}, gpusOf(t, d, second.Process.Pid)); diff != "" {
			t.Errorf("who received it: %s", diff)
		}
	})
}

// Root, and a privileged container, can put a process into any cgroup and make nodes: no
// cgroup hides what is open, whatever its name. A node counts in /dev, or by its name.
func TestMadeByRoot(t *testing.T) {
	needs.Root(t, "for cgroups and device nodes")
	d := real(t)
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
	nodes := t.TempDir()
	for _, name := range []string{"full", "renamed"} {
		if err := unix.Mknod(filepath.Join(nodes, name), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 7))); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]gpu.BDF{
		"/dev/full":                     {gpu1},
		filepath.Join(nodes, "full"):    {gpu1},
		filepath.Join(nodes, "renamed"): nil,
	} {
		kid := startWith(t, contained(), []string{path}, nil)
		for _, name := range []string{strings.Repeat("c0", 32), "docker-" + strings.Repeat("0d", 32) + ".scope", "moved"} {
			dir := filepath.Join(root, name)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(dir) })
			pid := []byte(strconv.Itoa(kid.Process.Pid))
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), pid, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, gpusOf(t, d, kid.Process.Pid)); diff != "" {
				t.Errorf("%s in cgroup %s: %s", path, name, diff)
			}
		}
		kid.die(t)
		kid.Wait() // a zombie is still in its cgroup
	}
}
