// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	initName  = "metax-e2e-init"
	readyWord = "ready"
)

// IsInit reports whether this process was started to be the first of new namespaces.
func IsInit() bool { return os.Args[0] == initName }

// Main is that process: it mounts, says so, reaps orphans, and on SIGTERM ends everything.
// It does not return.
func Main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	dead := make(chan os.Signal, 1)
	signal.Notify(dead, syscall.SIGCHLD)
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)

	answer := os.NewFile(3, "answer")
	var cfg Config
	err := json.Unmarshal([]byte(os.Args[1]), &cfg)
	if err == nil {
		err = cfg.mount()
	}
	if err != nil {
		fmt.Fprint(answer, err)
		os.Exit(0)
	}
	_, err = fmt.Fprint(answer, readyWord)
	if err = errors.Join(err, answer.Close()); err != nil {
		os.Exit(1) // nobody listens
	}

	for running := true; running; {
		select {
		case <-stop:
			running = false
		case <-dead:
			reap(unix.WNOHANG)
		}
	}
	// -1 is every process of the namespace but this one; none can hide from SIGKILL.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		fmt.Fprintln(os.Stderr, "metax-e2e-init: kill all:", err)
	}
	reap(0)
	if err := cfg.Layout.remove(cfg.Cgroup); err != nil {
		fmt.Fprintln(os.Stderr, "metax-e2e-init:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// reap collects dead children until there are none, or with WNOHANG none that is dead.
func reap(flags int) {
	for {
		pid, err := unix.Wait4(-1, nil, flags, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
	}
}

// mount builds the root over the directory for temporary files, since our mount hides
// nothing from the machine, and moves into it.
func (cfg Config) mount() error {
	unix.Umask(0)
	stage := os.TempDir()
	// Handles, as the stage may hide the paths.
	lower, err := os.Open(cfg.Root)
	if err != nil {
		return err
	}
	defer lower.Close()
	bin, err := os.Open(cfg.Bin)
	if err != nil {
		return err
	}
	defer bin.Close()
	built, err := os.Open(cfg.Built)
	if err != nil {
		return err
	}
	defer built.Close()
	root := filepath.Join(stage, "root")
	upper, work := filepath.Join(stage, "upper"), filepath.Join(stage, "work")
	in := func(p string) string { return filepath.Join(root, p) }

	steps := []func() error{
		func() error { return mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return mount("tmpfs", stage, "tmpfs", 0, "mode=755") },
		func() error { return mkdirs(root, upper, work) },
		func() error {
			return mount("overlay", root, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", handle(lower), upper, work))
		},
		func() error { return mkdirs(in(BinDir), in(BuiltDir), in("/old")) },
		func() error { return mount("tmpfs", in("/run"), "tmpfs", 0, "mode=755") },
		func() error { return mount("tmpfs", in("/tmp"), "tmpfs", 0, "mode=1777") },
		// Engines keep images here: an overlay cannot be the upper layer of their overlays.
		func() error { return mount("tmpfs", in("/var/lib"), "tmpfs", 0, "mode=755") },
		func() error { return mount("proc", in("/proc"), "proc", 0, "") },
		// A new sysfs, not the machine's tree: no securityfs, hence no AppArmor profile to
		// load.
		func() error { return mount("sysfs", in("/sys"), "sysfs", 0, "") },
		func() error { return cfg.Layout.mount(in("/sys/fs/cgroup")) },
		func() error { return devices(in("/dev")) },
		func() error { return runLink(in("/var/run")) },
		func() error { return mount(handle(bin), in(BinDir), "", unix.MS_BIND, "") },
		func() error { return mount("", in(BinDir), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "") },
		func() error { return mount(handle(built), in(BuiltDir), "", unix.MS_BIND, "") },
		func() error { return mount("", in(BuiltDir), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "") },
		func() error { return os.Chdir(root) },
		func() error { return unix.PivotRoot(".", "old") },
		func() error { return os.Chdir("/") },
		func() error { return unix.Unmount("/old", unix.MNT_DETACH) },
		func() error { return os.Remove("/old") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// handle is a path to an open file, whatever is mounted over its own.
func handle(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }

// devices fills an own /dev, so that the machine's devices are out of reach.
func devices(dev string) error {
	if err := mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	if err := unix.Mknod(filepath.Join(dev, "tty"), unix.S_IFCHR|0o666, int(unix.Mkdev(5, 0))); err != nil {
		return fmt.Errorf("make /dev/tty: %w", err)
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	pts, shm := filepath.Join(dev, "pts"), filepath.Join(dev, "shm")
	if err := mkdirs(pts, shm); err != nil {
		return err
	}
	if err := mount("devpts", pts, "devpts", 0, "newinstance,mode=620,ptmxmode=666"); err != nil {
		return err
	}
	return mount("tmpfs", shm, "tmpfs", 0, "mode=1777")
}

// runLink makes /var/run the link that a Debian package's script would have made.
func runLink(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink("/run", path)
}

func mkdirs(paths ...string) error {
	for _, p := range paths {
		if err := os.MkdirAll(p, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", fstype, target, err)
	}
	return nil
}
