// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
)

// coverDirs are directories of the container that contain no library; every container
// has at least one. In the jail's namespace a memory file system with the program, its
// configuration and its result is mounted on one of them.
var coverDirs = []string{"proc", "sys", "dev", "run", "tmp", "mnt", "srv"}

// buildCache runs ldconfig for the directories and returns the cache that it made.
func buildCache(root *inroot.Root, ldconfig *os.File, directories []string,
	execute func(Program) error,
) ([]byte, error) {
	var made *os.File
	var err error
	onOwnThread(func() { made, err = runLdconfig(root, ldconfig, directories, execute, enterJail) })
	if refused := (*refusedCall)(nil); errors.As(err, &refused) {
		onOwnThread(func() { made, err = runLdconfig(root, ldconfig, directories, execute, refused.enterOldJail) })
	}
	if err != nil {
		return nil, err
	}
	output := inroot.At(made)
	defer output.Close()
	cache, err := output.ReadFile("ld.so.cache", maxCache)
	if err != nil {
		return nil, fmt.Errorf("run ldconfig: %w", err)
	}
	if !isCache(cache) {
		return nil, errors.New("run ldconfig: its result is not a cache")
	}
	return cache, nil
}

// onOwnThread calls f on a thread that ends afterwards, for changes of a thread that
// cannot be undone. It is never the process's first thread: that would live on, and
// /proc/self shows it.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a thread that is not unlocked ends with its goroutine
		if unix.Gettid() == unix.Getpid() {
			onOwnThread(f) // on another thread, because this one waits here
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// runLdconfig runs ldconfig from the calling thread and returns the directory with its
// result.
func runLdconfig(root *inroot.Root, ldconfig *os.File, directories []string, execute func(Program) error,
	enter enterFunc,
) (output *os.File, err error) {
	j, err := enter(root, ldconfig, directories)
	if err != nil {
		return nil, fmt.Errorf("show ldconfig the container: %w", err)
	}
	defer func() {
		if err != nil {
			j.output.Close()
		}
	}()
	log, err := createFile(j.output, "log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := privilege.DropInThread(unix.CAP_DAC_READ_SEARCH); err != nil {
		return nil, err
	}
	if err := privilege.Forbid(forbiddenCalls...); err != nil {
		return nil, err
	}
	// -X: make no links, since it cannot write there; -i: ignore the image's auxiliary
	// cache, which describes libraries.
	err = execute(Program{
		Path:   j.path + "/ldconfig",
		Args:   []string{"ldconfig", "-X", "-i", "-f", j.path + "/ld.so.conf", "-C", j.path + "/output/ld.so.cache"},
		Output: log, Timeout: timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("run ldconfig: %w%s", err, outputStart(log))
	}
	return j.output, nil
}

// jail is the calling thread's root directory, in which ldconfig runs.
type jail struct {
	path   string   // of the directory with ldconfig, ld.so.conf and output/
	output *os.File // the only directory that can be written
}

// An enterFunc moves the calling thread into a mount namespace of its own, whose root
// is the container's files, read-only.
type enterFunc func(root *inroot.Root, ldconfig *os.File, directories []string) (*jail, error)

// enterJail is the enterFunc for Linux 5.12 and later: it makes everything ready before
// it is mounted anywhere. It fails with a refusedCall where the kernel cannot do that.
func enterJail(root *inroot.Root, ldconfig *os.File, directories []string) (*jail, error) {
	tree, err := unix.OpenTree(int(root.Dir().Fd()), "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return nil, newCall("open_tree", err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC,
		Propagation: unix.MS_PRIVATE,
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return nil, newCall("mount_setattr", err)
	}
	tool, err := newTmpfs("size=64m,nr_inodes=8", 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(tool)
	if err := fillToolDir(tool, ldconfig, directories); err != nil {
		return nil, err
	}
	if err := unix.MountSetattr(tool, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return nil, newCall("mount_setattr", err)
	}
	output, err := newTmpfs("size=32m,nr_inodes=8", unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	j := &jail{output: os.NewFile(uintptr(output), "output")}
	if j.path, err = enterNamespaces(tree, tool, output); err != nil {
		j.output.Close()
		return nil, err
	}
	return j, nil
}

// newTmpfs makes a memory file system that is not mounted anywhere yet.
func newTmpfs(options string, attributes int) (int, error) {
	fsfd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, newCall("fsopen", err)
	}
	defer unix.Close(fsfd)
	for option := range strings.SplitSeq("mode=0700,"+options, ",") {
		key, value, _ := strings.Cut(option, "=")
		if err := unix.FsconfigSetString(fsfd, key, value); err != nil {
			return -1, newCall("fsconfig "+option, err)
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return -1, newCall("fsconfig", err)
	}
	fd, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, newCall("fsmount", err)
	}
	return fd, nil
}

func fillToolDir(dir int, ldconfig *os.File, directories []string) error {
	if err := copyProgram(ldconfig, dir, "ldconfig"); err != nil {
		return err
	}
	if err := unix.Mkdirat(dir, "output", 0o700); err != nil {
		return fmt.Errorf("make output directory: %w", err)
	}
	fd, err := unix.Openat(dir, "ld.so.conf", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o400)
	if err != nil {
		return fmt.Errorf("write ld.so.conf: %w", err)
	}
	f := os.NewFile(uintptr(fd), "ld.so.conf")
	_, err = f.WriteString(strings.Join(directories, "\n") + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write ld.so.conf: %w", err)
	}
	return nil
}

// forbiddenCalls are the system calls by which an ldconfig that an attacker controls
// could leave the jail: sockets (a network namespace would take longer to make than all
// the rest), handles of files outside, other processes, further namespaces and mounts,
// and large, rarely used parts of the kernel. ldconfig needs none of them.
var forbiddenCalls = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
}

// enterNamespaces moves the thread into new namespaces in which the tree is the root.
func enterNamespaces(tree, tool, output int) (string, error) {
	if err := newNamespaces(); err != nil {
		return "", err
	}
	old, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open old root: %w", err)
	}
	defer unix.Close(old)
	if err := moveMount(tree, old); err != nil {
		return "", err
	}
	cover, err := mountOnCover(tree, tool)
	if err != nil {
		return "", err
	}
	if err := attachMount(output, tool, "output"); err != nil {
		return "", err
	}
	if err := pivotRoot(tree, old); err != nil {
		return "", err
	}
	return "/" + cover, nil
}

// newNamespaces moves the thread into new namespaces, whose mounts nobody else sees.
func newNamespaces() error {
	const spaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWPID
	if err := unix.Unshare(spaces); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// mountOnCover mounts the memory file system on a directory of the container.
func mountOnCover(tree, tool int) (string, error) {
	var errs error
	for _, cover := range coverDirs {
		err := attachMount(tool, tree, cover)
		if err == nil {
			return cover, nil
		}
		errs = errors.Join(errs, err)
	}
	return "", fmt.Errorf("none of %q is a directory there: %w", coverDirs, errs)
}

// attachMount mounts a file system on a directory, by handle.
func attachMount(tree, dir int, name string) error {
	at, err := openDir(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return moveMount(tree, at)
}

func moveMount(tree, at int) error {
	return newCall("move_mount",
		unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// openDir opens the directory of this name, which is not a path; it follows no link.
func openDir(dir int, name string) (int, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", name, err)
	}
	return fd, nil
}

func pivotRoot(tree, old int) error {
	if err := unix.Fchdir(tree); err != nil {
		return fmt.Errorf("enter container: %w", err)
	}
	err := unix.PivotRoot(".", ".")
	if errors.Is(err, unix.EINVAL) {
		// The machine's root is its initial memory file system, which cannot be moved. The
		// tree covers it, and ldconfig has no capability to uncover it.
		err = unix.Chroot(".")
	} else if err == nil {
		// The old root is now mounted over the new one.
		err = errors.Join(unix.Fchdir(old), unix.Unmount(".", unix.MNT_DETACH))
	}
	if err := errors.Join(err, unix.Chdir("/")); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return nil
}

// refusedCall reports a system call that this kernel lacks, or that a filter refuses.
type refusedCall struct {
	name string
	err  error
}

func (r *refusedCall) Error() string { return r.name + ": " + r.err.Error() }

// newCall wraps the error of a system call that older kernels lack.
func newCall(name string, err error) error {
	if mount.Unsupported(err) {
		return &refusedCall{name, err}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func createFile(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// outputStart is the beginning of ldconfig's output, for an error.
func outputStart(log *os.File) string {
	text := make([]byte, 300)
	n, err := log.ReadAt(text, 0)
	if n == 0 || (err != nil && !errors.Is(err, io.EOF)) {
		return ""
	}
	return fmt.Sprintf(" (%q)", text[:n])
}
