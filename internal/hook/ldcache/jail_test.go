// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func needRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "for namespaces")
}

// TestJail tries what ldconfig could do in the jail, on its thread.
func TestJail(t *testing.T) {
	needRoot(t)
	root := tree(t, map[string]string{"etc/ld.so.conf": "/own\n", "own/x": "", "lib64/ld-linux-x86-64.so.2": "", "proc/x": "", "opt/x": "", "sub/x": ""})
	dir := root.Dir().Name()
	// A mount of the container that can be written, and a device.
	if err := unix.Mount("tmpfs", filepath.Join(dir, "sub"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "sub"), unix.MNT_DETACH) }) // the test's own
	if err := unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Fatal(err)
	}
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	executed := false
	err = Update(root, []string{"/opt", "/none"}, func(p Program) error {
		executed = true
		inJail(t, p, proc)
		return os.WriteFile(p.Args[len(p.Args)-1], []byte("glibc-ld.so.cache1.1"), 0o600)
	}, func(w string) { t.Error(w) })
	if err != nil || !executed {
		t.Fatalf("executed: %v, %v", executed, err)
	}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Errorf("the process is in the jail: %v", err)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || string(after) != string(mounts) {
		t.Errorf("mounts are left: %s", cmp.Diff(string(mounts), string(after)))
	}
	cache, err := os.ReadFile(filepath.Join(dir, cachePath))
	if err != nil || string(cache) != "glibc-ld.so.cache1.1" {
		t.Errorf("the cache is %q, %v", cache, err)
	}
}

func inJail(t *testing.T, p Program, proc *os.File) {
	fd, err := unix.Openat(int(proc.Fd()), fmt.Sprintf("%d/task/%d/status", os.Getpid(), unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "status")
	defer f.Close()
	status := make([]byte, 8192)
	n, err := f.Read(status)
	if err != nil {
		t.Fatal(err)
	}
	search := fmt.Sprintf("%016x", 1<<unix.CAP_DAC_READ_SEARCH)
	for _, line := range []string{"CapEff:\t" + search, "CapPrm:\t" + search, "CapBnd:\t" + search, "CapInh:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status[:n]), line+"\n") {
			t.Errorf("no %q", line)
		}
	}
	conf, err := os.ReadFile(p.Args[4])
	if diff := cmp.Diff("/opt\n/own\n", string(conf)); diff != "" || err != nil {
		t.Errorf("the configuration: %v %s", err, diff)
	}
	for _, path := range []string{"/x", "/etc/x", "/opt/x", "/sub/x", "/proc/x", p.Path, p.Args[4]} {
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
			f.Close()
			t.Errorf("%s can be written: %v", path, err)
		}
	}
	for path, want := range map[string]error{"/null": fs.ErrPermission, "/proc/self": fs.ErrNotExist, "/..": nil, "/opt": nil} {
		if f, err := os.Open(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		} else if err == nil {
			f.Close()
		}
	}
	var root, above unix.Stat_t
	if err := errors.Join(unix.Stat("/", &root), unix.Stat("/../../..", &above)); err != nil || root.Ino != above.Ino || root.Dev != above.Dev {
		t.Errorf("there is something above the root: %v", err)
	}
	for name, err := range map[string]error{
		"mount": unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""), "chroot": unix.Chroot("/opt"), "unmount": unix.Unmount("/proc", unix.MNT_DETACH),
		"unshare": unix.Unshare(unix.CLONE_NEWNS), "mknod": unix.Mknod(filepath.Dir(p.Args[6])+"/n", unix.S_IFCHR, 1<<8|3),
	} {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("%s: %v, want EPERM", name, err)
		}
	}
	// A set-user-ID program or one with capabilities would gain nothing, and nothing but
	// ldconfig can be executed at all.
	pid, err := syscall.ForkExec(p.Path, []string{"ldconfig", "--version"}, &syscall.ProcAttr{Env: []string{}, Files: []uintptr{p.Output.Fd(), p.Output.Fd(), p.Output.Fd()}})
	if err != nil {
		t.Errorf("start %s: %v", p.Path, err)
		return
	}
	var ended syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ended, 0, nil); err != nil || ended.ExitStatus() != 0 {
		t.Errorf("ldconfig: %v, %v", ended, err)
	}
	// It reaches nobody by a socket, and no file by its handle.
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a socket: %d, %v", fd, err)
	}
	if fd, err := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, make([]byte, 8)), unix.O_RDONLY); !errors.Is(err, unix.EPERM) {
		t.Errorf("a file by its handle: %d, %v", fd, err)
	}
}

func TestUpdateFails(t *testing.T) {
	needRoot(t)
	boom := errors.New("boom")
	for name, execute := range map[string]func(Program) error{
		"fails":   func(Program) error { return boom },
		"nothing": func(Program) error { return nil },
		"rubbish": func(p Program) error { return os.WriteFile(p.Args[6], []byte("rubbish"), 0o600) },
		"link":    func(p Program) error { return os.Symlink("/etc/ld.so.conf", p.Args[6]) },
		"fifo":    func(p Program) error { return unix.Mkfifo(p.Args[6], 0o600) },
		"huge": func(p Program) error {
			return errors.Join(os.WriteFile(p.Args[6], []byte("glibc-ld.so.cache1.1"), 0o600), os.Truncate(p.Args[6], maxCache+1))
		},
		"too much output": func(p Program) error {
			for range 64 {
				if _, err := p.Output.Write(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"etc/ld.so.cache": "old", "lib64/ld-linux-x86-64.so.2": "", "tmp/x": "", "opt/x": ""})
			err := Update(root, []string{"/opt"}, execute, func(string) {})
			if err == nil || name == "fails" && !errors.Is(err, boom) {
				t.Errorf("error is %v", err)
			}
			if cache, err := root.ReadFile(cachePath, 100); err != nil || string(cache) != "old" {
				t.Errorf("the cache is %q, %v", cache, err)
			}
		})
	}
}

func TestNowhereToMount(t *testing.T) {
	needRoot(t)
	files := map[string]string{"lib64/ld-linux-x86-64.so.2": ""}
	for _, cover := range coverDirs {
		files[cover] = "->/lib64"
	}
	if err := Update(tree(t, files), nil, func(Program) error { return nil }, func(string) {}); err == nil || !strings.Contains(err.Error(), "is a directory there") {
		t.Errorf("error is %v", err)
	}
}

func TestHostLdconfig(t *testing.T) {
	needRoot(t)
	program, err := hostLdconfig("/")
	if err != nil {
		t.Skip("needs glibc on this machine:", err)
	}
	defer program.Close()
	data := testfile.Read(t, program.Name())
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		uid  int
		ok   bool
	}{
		"good": {string(data), 0o755, 0, true}, "only root's": {string(data), 0o700, 0, true}, "group": {string(data), 0o775, 0, false}, "others": {string(data), 0o757, 0, false},
		"user": {string(data), 0o755, 1000, false}, "nobody": {string(data), 0o755, 65534, false}, "script": {"#!/bin/sh\n", 0o755, 0, false}, "empty": {"", 0o755, 0, false}, "cut": {string(data[:80]), 0o755, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			host := t.TempDir()
			path := filepath.Join(host, "sbin/ldconfig")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(c.text), 0o600), os.Chown(path, c.uid, 0), os.Chmod(path, c.mode)); err != nil {
				t.Fatal(err)
			}
			f, err := hostLdconfig(host)
			if err == nil {
				f.Close()
			}
			if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrNoLdconfig) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
