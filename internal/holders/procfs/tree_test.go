// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// fake is a made-up process.
type fake struct {
	pid     int
	command string
	state   string // "S" unless given
	parent  int
	flags   int
	start   int // 100 unless given
	uid     int
	groups  string
	depth   int // pid namespaces below ours
	cgroup  string
	argv    []string
	root    string   // target of /proc/PID/root, "/" unless given
	cwd     string   // target of /proc/PID/cwd
	exe     string   // target of /proc/PID/exe
	mounts  string   // target of /proc/PID/ns/mnt
	open    []string // targets of /proc/PID/fd/N
	flags0  string   // text of /proc/PID/fdinfo/0, which is missing unless given
}

// tree makes the proc file system of made-up processes below a directory that stands for the
// host's "/". Init and we are always among them.
func tree(t *testing.T, processes ...fake) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "proc")
	for _, f := range append(processes, fake{pid: 1, command: "init"}, fake{pid: os.Getpid(), command: "test", mounts: ourMounts}) {
		f.write(t, dir)
	}
	own := strconv.Itoa(os.Getpid())
	link(t, own, filepath.Join(dir, "self"))
	write(t, filepath.Join(dir, own, "ns", "pid"), "")
	return dir
}

// ourMounts is the mount namespace that made-up processes share with us.
const ourMounts = "mnt:[1]"

func (f fake) write(t *testing.T, dir string) {
	t.Helper()
	if f.state == "" {
		f.state = "S"
	}
	if f.start == 0 {
		f.start = 100
	}
	if f.root == "" {
		f.root = "/"
	}
	at := filepath.Join(dir, strconv.Itoa(f.pid))
	write(t, filepath.Join(at, "stat"), fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 1 1\n", f.pid, f.command, f.state, f.parent, f.flags, f.start))
	write(t, filepath.Join(at, "comm"), f.command+"\n")
	write(t, filepath.Join(at, "status"), fmt.Sprintf("Name:\t%s\nUid:\t%d\t%[2]d\t%[2]d\t%[2]d\nGid:\t%[2]d\t%[2]d\t%[2]d\t%[2]d\nGroups:\t%s \nNSpid:\t%d%s\n",
		f.command, f.uid, f.groups, f.pid, strings.Repeat("\t7", f.depth)))
	write(t, filepath.Join(at, "cgroup"), f.cgroup)
	write(t, filepath.Join(at, "cmdline"), words(f.argv...))
	link(t, f.root, filepath.Join(at, "root"))
	if f.cwd != "" {
		link(t, f.cwd, filepath.Join(at, "cwd"))
	}
	if f.exe != "" {
		link(t, f.exe, filepath.Join(at, "exe"))
	}
	if err := os.Mkdir(filepath.Join(at, "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f.mounts != "" {
		link(t, f.mounts, filepath.Join(at, "ns", "mnt"))
	}
	if os.Getuid() == 0 {
		if err := os.Chown(at, f.uid, f.uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(at, "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f.flags0 != "" {
		write(t, filepath.Join(at, "fdinfo", "0"), f.flags0)
	}
	for i, target := range f.open {
		link(t, target, filepath.Join(at, "fd", strconv.Itoa(i)))
	}
}

// words is a command line as the kernel shows it.
func words(argv ...string) string {
	var b strings.Builder
	for _, word := range argv {
		b.WriteString(word + "\x00")
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

var (
	gpu0 = gpu.BDF{Bus: 0x0e}
	gpu1 = gpu.BDF{Bus: 0x0f}
)

// devices are two GPUs, whose nodes are at these paths below root.
func devices(t testing.TB, root string, paths ...string) holders.Devices {
	t.Helper()
	host, err := hostfs.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return holders.NewDevices(gpu.Node{GPUs: []gpu.GPU{
		{Index: 0, BDF: gpu0, Nodes: paths[:1]}, {Index: 1, BDF: gpu1, Nodes: paths[1:]},
	}}, host)
}

// real are two devices of this machine that pass for GPUs.
func real(t *testing.T) holders.Devices {
	t.Helper()
	return devices(t, "/", "/dev/zero", "/dev/full")
}

// look asks one source of a new round.
func look(t *testing.T, p *procfs.Proc, name string, devices holders.Devices, q usage.Question) (usage.Sight, error) {
	t.Helper()
	for _, s := range p.Sources(devices) {
		if engine, endpoint := s.Name(); engine == name && endpoint == "" {
			return s.Look(t.Context(), q)
		}
	}
	t.Fatalf("no source is named %q", name)
	return usage.Sight{}, nil
}

func sortProcesses(all []usage.Process) {
	slices.SortFunc(all, func(a, b usage.Process) int { return a.PID - b.PID })
}

func sortTasks(all []procfs.Task) {
	slices.SortFunc(all, func(a, b procfs.Task) int {
		return strings.Compare(a.Address+"\x00"+a.ID, b.Address+"\x00"+b.ID)
	})
}
