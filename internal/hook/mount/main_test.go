// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/test/mountns"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/oldkernel"
)

// The test program runs itself again as a container that a runtime is making, and as the hook,
// which has to be younger than the container.
const (
	roleVar = "GRAFT_TEST_ROLE"
	// atOnce keeps the race detector from waiting a second at every exit.
	atOnce = "GORACE=atexit_sleep_ms=0"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "container":
		end(container())
	case "hook":
		end(hook())
	}
	os.Exit(mountns.Run(m))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// plan is what a container is made of.
type plan struct {
	Rootfs  string
	Pivot   bool              // at once, not after the hook
	Shared  bool              // its root has shared propagation
	Volumes map[string]string // host directories by where they are mounted
	Tmpfs   []string
	Look    []string // paths to look at in the end
}

// sight is what the container's root sees at a path.
type sight struct {
	Kind    string // "c 226:128", "dir", "file", an errno
	Mount   string // of ro, nosuid, nodev, noexec
	Open    string // for writing
	Chmod   string
	Mkdir   string
	Remount string // read-write, without capabilities
}

func container() error {
	var p plan
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &p); err != nil {
		return err
	}
	below := func(path string) string { return filepath.Join(p.Rootfs, path) }
	err = errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""),
		unix.Mount(p.Rootfs, p.Rootfs, "", unix.MS_BIND|unix.MS_REC, ""),
		unix.Mount("none", below("dev"), "tmpfs", unix.MS_NOSUID, "mode=755"),
	)
	for _, at := range p.Tmpfs {
		err = errors.Join(err, unix.Mount("none", below(at), "tmpfs", 0, ""))
	}
	for at, source := range p.Volumes {
		err = errors.Join(err, unix.Mount(source, below(at), "", unix.MS_BIND|unix.MS_REC, ""))
	}
	if p.Shared {
		err = errors.Join(err, unix.Mount("", p.Rootfs, "", unix.MS_SHARED, ""))
	}
	if err != nil {
		return err
	}
	pivot := func() error {
		return errors.Join(unix.Chdir(p.Rootfs), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/"))
	}
	if p.Pivot {
		if err := pivot(); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return nil // not to be looked at
	}
	if !p.Pivot {
		if err := pivot(); err != nil {
			return err
		}
	}
	seen := map[string]*sight{}
	for _, path := range p.Look {
		seen[path] = look(path)
	}
	runtime.LockOSThread() // capset is of one thread
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	for path, s := range seen {
		s.Remount = errno(unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func errno(err error) string {
	if e := unix.Errno(0); errors.As(err, &e) {
		return unix.ErrnoName(e)
	}
	return fmt.Sprint(err)
}

func look(path string) *sight {
	s := &sight{}
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Lstat(path, &st), unix.Statfs(path, &fs)); err != nil {
		s.Kind = errno(err)
		return s
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		s.Kind = fmt.Sprintf("c %d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	case unix.S_IFDIR:
		s.Kind = "dir"
		s.Mkdir = errno(unix.Mkdir(filepath.Join(path, "made"), 0o755))
	default:
		s.Kind = "file"
	}
	var flags []string
	for _, f := range []struct {
		bit  int64
		name string
	}{{unix.ST_RDONLY, "ro"}, {unix.ST_NOSUID, "nosuid"}, {unix.ST_NODEV, "nodev"}, {unix.ST_NOEXEC, "noexec"}} {
		if fs.Flags&f.bit != 0 {
			flags = append(flags, f.name)
		}
	}
	s.Mount = strings.Join(flags, " ")
	if s.Kind != "dir" {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK, 0)
		if s.Open = errno(err); err == nil {
			unix.Close(fd)
		}
	}
	s.Chmod = errno(unix.Chmod(path, st.Mode&0o7777))
	return s
}

// order is what the hook is to do.
type order struct {
	Pid    int
	Rootfs string
	Kernel string            // of oldkernel; "" is this machine's
	Nodes  map[string]string // host's paths by the container's
	Binds  map[string]string
	Deep   bool
}

func hook() error {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	p, err := mount.OpenProcess(o.Pid)
	if err != nil {
		return err
	}
	defer p.Close()
	sources := map[string]*mount.Source{}
	for at, path := range o.Nodes {
		if sources[at], err = mount.Node(path); err != nil {
			return err
		}
	}
	for at, path := range o.Binds {
		if sources[at], err = mount.Bind(path, o.Deep, false); err != nil {
			return err
		}
	}
	return p.Enter(o.Rootfs, func(c *mount.Container) error {
		for at, s := range sources {
			if err := c.Mount(s, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// made is a container that waits for its hook.
type made struct {
	plan
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
}

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "for namespaces and device nodes")
}

const firstID = 100000 // of the user namespace, on the machine

func start(t *testing.T, p plan, userns bool) *made {
	t.Helper()
	needRoot(t)
	if p.Rootfs == "" {
		p.Rootfs = rootfs(t, userns)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=container", atOnce)
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if userns {
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstID, Size: 65536}}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = ids, ids
		cmd.SysProcAttr.Credential = &syscall.Credential{}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	c := &made{p, cmd, w, bufio.NewReader(out)}
	t.Cleanup(func() {
		c.in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the container: %v", err)
		}
	})
	if err := json.NewEncoder(w).Encode(p); err != nil {
		t.Fatal(err)
	}
	if line, err := c.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the container says %q, %v", line, err)
	}
	return c
}

// hook runs the hook on the container and returns what it says to standard error.
func (c *made) hook(t *testing.T, o order) string {
	t.Helper()
	if o.Pid == 0 {
		o.Pid, o.Rootfs = c.cmd.Process.Pid, c.Rootfs
	}
	return run(t, o)
}

func run(t *testing.T, o order) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=hook", atOnce)
	cmd.Stdin = strings.NewReader(string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := oldkernel.Start(o.Kernel, cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); (err != nil) != (out.Len() > 0) {
		t.Fatalf("the hook: %v, and says %q", err, &out)
	}
	return out.String()
}

func (c *made) look(t *testing.T) map[string]sight {
	t.Helper()
	if _, err := c.in.WriteString("look\n"); err != nil {
		t.Fatal(err)
	}
	var seen map[string]sight
	if err := json.NewDecoder(c.out).Decode(&seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

// rootfs makes the root of an image.
func rootfs(t *testing.T, userns bool) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "rootfs")
	for _, dir := range []string{"", "dev", "proc", "etc", "opt", "vol", "mem"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if userns {
		open(t, root)
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Chown(path, firstID, firstID))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// open lets the ids of a user namespace reach a temporary directory.
func open(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// host makes the files that a container is to get: a GPU's node that no driver stands behind,
// and software with a file that its group may write.
func host(t *testing.T) (node, dir string) {
	t.Helper()
	top := t.TempDir()
	open(t, filepath.Join(top, "x"))
	node, dir = filepath.Join(top, "renderD128"), filepath.Join(top, "maca")
	if err := errors.Join(
		unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(226, 128))), os.Chmod(node, 0o666),
		os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "lib.so"), []byte("library"), 0o644),
		os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, "lib.so"), 0o666),
	); err != nil {
		t.Fatal(err)
	}
	return node, dir
}
