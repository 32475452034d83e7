// SPDX-License-Identifier: Apache-2.0

// Command stage is an OCI hook that does nothing but say what the low-level runtime has
// done so far: stage FILE writes it to the file as JSON, one line for each call.
//
// In the container, stage nodes FILE CMD... writes what stands in /dev/dri and what opening
// it says, and becomes CMD. It looks at every name: where a node is a mount on a file, as in
// every user namespace, the directory says that it is a file.
//
// As a hook, stage killed DURATION HOOK... is that hook, which is killed if it takes longer.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Finding is what the hook saw.
type Finding struct {
	Status string `json:"status"`
	// Pid is whether the state names a living process; Bundle whether the working directory
	// is the bundle.
	Pid    bool `json:"pid"`
	Bundle bool `json:"bundle"`
	// Host is whether the hook itself is in the mount namespace of the machine's first
	// process.
	Host bool `json:"host"`
	// Own is whether the container's process has another mount namespace than the hook.
	Own bool `json:"own"`
	// Pivoted is whether that process has the container's root as its own.
	Pivoted bool `json:"pivoted"`
	// Dev and Null are whether a file system is mounted on the container's /dev, and whether
	// /dev/null is there.
	Dev  bool `json:"dev"`
	Null bool `json:"null"`
	// Rules is whether the device rules of its cgroup are set, in the version it is ruled by.
	Rules bool `json:"rules"`
}

func main() {
	var err error
	switch os.Args[1] {
	case "nodes":
		err = nodes(os.Args[2], os.Args[3:])
	case "killed":
		err = killed(os.Args[2], os.Args[3:])
	default:
		err = run(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1)
	}
}

// killed runs another hook in its own place, and kills it after a while.
func killed(after string, argv []string) error {
	while, err := time.ParseDuration(after)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), while)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func nodes(out string, argv []string) error {
	entries, err := os.ReadDir("/dev/dri")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	seen := map[string]string{}
	for _, entry := range entries {
		path := filepath.Join("/dev/dri", entry.Name())
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return err
		}
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		said := "opens"
		if e := unix.Errno(0); errors.As(err, &e) {
			said = unix.ErrnoName(e)
		} else {
			unix.Close(fd)
		}
		seen[path] = fmt.Sprintf("%d:%d %s %s", unix.Major(st.Rdev), unix.Minor(st.Rdev), entry.Type(), said)
	}
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil {
		return err
	}
	return unix.Exec(argv[0], argv, os.Environ())
}

func run(out string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var state struct {
		Pid            int
		Status, Bundle string
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return err
	}
	var config struct{ Root struct{ Path string } }
	if text, err = os.ReadFile(filepath.Join(state.Bundle, "config.json")); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	rootfs := config.Root.Path
	if !filepath.IsAbs(rootfs) {
		rootfs = filepath.Join(state.Bundle, rootfs)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	proc := filepath.Join("/proc", strconv.Itoa(state.Pid))
	f := Finding{Status: state.Status, Pid: unix.Kill(state.Pid, 0) == nil, Bundle: cwd == state.Bundle}
	f.Host = !differs("/proc/self/ns/mnt", "/proc/1/ns/mnt")
	f.Own = differs("/proc/self/ns/mnt", proc+"/ns/mnt")
	if f.Rules, err = ruled(proc); err != nil {
		return err
	}
	if err := f.enter(proc+"/ns/mnt", rootfs); err != nil {
		return err
	}
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	to, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = to.Write(append(line, '\n'))
	return errors.Join(err, to.Close())
}

func differs(a, b string) bool {
	x, err1 := os.Readlink(a)
	y, err2 := os.Readlink(b)
	return err1 != nil || err2 != nil || x != y
}

// enter looks from inside of the container's mount namespace. A thread that has been there
// never comes back.
func (f *Finding) enter(namespace, rootfs string) error {
	done := make(chan error)
	var own unix.Stat_t
	if err := unix.Stat("/", &own); err != nil {
		return err
	}
	go func() {
		runtime.LockOSThread()
		done <- func() error {
			ns, err := os.Open(namespace)
			if err != nil {
				return err
			}
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return err
			}
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
				return err
			}
			var root, dev, null unix.Stat_t
			if err := unix.Stat("/", &root); err != nil {
				return err
			}
			f.Pivoted = root.Dev != own.Dev || root.Ino != own.Ino
			if f.Pivoted {
				rootfs = "/"
			}
			if err := unix.Stat(rootfs, &root); err != nil {
				return err
			}
			f.Dev = unix.Stat(filepath.Join(rootfs, "dev"), &dev) == nil && dev.Dev != root.Dev
			f.Null = unix.Stat(filepath.Join(rootfs, "dev/null"), &null) == nil && null.Rdev == unix.Mkdev(1, 3)
			return nil
		}()
	}()
	return <-done
}

// ruled reports whether the process's cgroup has device rules.
func ruled(proc string) (bool, error) {
	text, err := os.ReadFile(proc + "/cgroup")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case fields[1] == "devices":
			list, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/devices", fields[2], "devices.list"))
			if err == nil {
				return !strings.HasPrefix(string(list), "a *:* rwm"), nil
			}
		case fields[1] == "":
			if n, err := programs(filepath.Join("/sys/fs/cgroup", fields[2])); err == nil {
				return n > 0, nil
			}
		}
	}
	return false, fmt.Errorf("no cgroup of %s rules over devices:\n%s", proc, text)
}

// programs counts the device programs of a cgroup.
func programs(dir string) (uint32, error) {
	group, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer group.Close()
	var attr [128]byte
	binary.NativeEndian.PutUint32(attr[0:], uint32(group.Fd()))
	binary.NativeEndian.PutUint32(attr[4:], unix.BPF_CGROUP_DEVICE)
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_QUERY, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 && errno != unix.ENOSPC {
		return 0, errno
	}
	return binary.NativeEndian.Uint32(attr[24:]), nil
}
