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
	"github.com/metax-ctk/container-toolkit/internal/hook/privilege"
)

// covers are directories of the container in which there is no library, and one
// of which every container has. In the jail's namespace one of them is covered by
// a memory file system with the program, its configuration and its result.
var covers = []string{"proc", "sys", "dev", "run", "tmp", "mnt", "srv"}

// build runs ldconfig for the directories and returns the cache that it made.
func build(root *inroot.Root, ldconfig *os.File, directories []string, execute func(Program) error) ([]byte, error) {
	var made *os.File
	var err error
	onOwnThread(func() { made, err = runHere(root, ldconfig, directories, execute) })
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
		return nil, errors.New("run ldconfig: what it made is no cache")
	}
	return cache, nil
}

// onOwnThread calls f on a thread that ends with it, for what cannot be undone to
// a thread. The process's first thread is spared: it would live on, and /proc/self
// is what it sees.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a thread that is not unlocked ends with its goroutine
		if unix.Gettid() == unix.Getpid() {
			onOwnThread(f) // somewhere else, since this thread waits here
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// runHere runs ldconfig from the calling thread and returns the directory with
// what it made.
func runHere(root *inroot.Root, ldconfig *os.File, directories []string, execute func(Program) error) (output *os.File, err error) {
	j, err := enter(root, ldconfig, directories)
	if err != nil {
		return nil, fmt.Errorf("show ldconfig the container: %w", err)
	}
	defer func() {
		if err != nil {
			j.output.Close()
		}
	}()
	log, err := create(j.output, "log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := privilege.Shed(unix.CAP_DAC_READ_SEARCH); err != nil {
		return nil, err
	}
	if err := privilege.Forbid(outward...); err != nil {
		return nil, err
	}
	// -X: no links in directories that it cannot write; -i: no file of the image
	// that tells it what the libraries are.
	err = execute(Program{
		Path:   j.path + "/ldconfig",
		Args:   []string{"ldconfig", "-X", "-i", "-f", j.path + "/ld.so.conf", "-C", j.path + "/output/ld.so.cache"},
		Output: log, Within: patience,
	})
	if err != nil {
		return nil, fmt.Errorf("run ldconfig: %w%s", err, complaint(log))
	}
	return j.output, nil
}

// jail is where ldconfig runs: the calling thread's root directory.
type jail struct {
	path   string   // of the directory with ldconfig, ld.so.conf and output/
	output *os.File // the only directory that can be written
}

// enter makes the container's files, read-only, the root of the calling thread,
// in a mount namespace of its own.
func enter(root *inroot.Root, ldconfig *os.File, directories []string) (*jail, error) {
	tree, err := unix.OpenTree(int(root.Dir().Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return nil, oldKernel("clone mounts", err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC,
		Propagation: unix.MS_PRIVATE,
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return nil, oldKernel("make mounts read-only", err)
	}
	tool, err := memory("size=64m,nr_inodes=8", 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(tool)
	if err := furnish(tool, ldconfig, directories); err != nil {
		return nil, err
	}
	if err := unix.MountSetattr(tool, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return nil, oldKernel("make mount read-only", err)
	}
	output, err := memory("size=32m,nr_inodes=8", unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	j := &jail{output: os.NewFile(uintptr(output), "output")}
	if j.path, err = settle(tree, tool, output); err != nil {
		j.output.Close()
		return nil, err
	}
	return j, nil
}

// memory makes a memory file system that is mounted nowhere yet.
func memory(options string, attributes int) (int, error) {
	fsfd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, oldKernel("make memory file system", err)
	}
	defer unix.Close(fsfd)
	for option := range strings.SplitSeq("mode=0700,"+options, ",") {
		key, value, _ := strings.Cut(option, "=")
		if err := unix.FsconfigSetString(fsfd, key, value); err != nil {
			return -1, fmt.Errorf("make memory file system, %s: %w", option, err)
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return -1, fmt.Errorf("make memory file system: %w", err)
	}
	fd, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, fmt.Errorf("make memory file system: %w", err)
	}
	return fd, nil
}

func furnish(dir int, ldconfig *os.File, directories []string) error {
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

// outward are the calls by which a program that has been taken over could reach
// out of the jail: to others by a socket (a network namespace would take longer to
// make than all the rest), to files outside by their handles, to other processes,
// to further namespaces and mounts, and to the wide and seldom used parts of the
// kernel. ldconfig has no use for any.
var outward = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
}

// settle takes the thread into new namespaces, where the tree is all there is.
func settle(tree, tool, output int) (string, error) {
	const spaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWPID
	if err := unix.Unshare(spaces); err != nil {
		return "", fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("make mounts private: %w", err)
	}
	old, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open old root: %w", err)
	}
	defer unix.Close(old)
	if err := unix.MoveMount(tree, "", old, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return "", fmt.Errorf("mount container: %w", err)
	}
	cover, err := covered(tree, tool)
	if err != nil {
		return "", err
	}
	if err := attach(output, tool, "output"); err != nil {
		return "", err
	}
	if err := pivot(tree, old); err != nil {
		return "", err
	}
	return "/" + cover, nil
}

// covered mounts the memory file system on a directory of the container.
func covered(tree, tool int) (string, error) {
	var errs error
	for _, cover := range covers {
		err := attach(tool, tree, cover)
		if err == nil {
			return cover, nil
		}
		errs = errors.Join(errs, err)
	}
	return "", fmt.Errorf("none of %q is a directory there: %w", covers, errs)
}

// attach puts a mount on a directory, by handle.
func attach(mount, dir int, name string) error {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	at, err := unix.Openat2(dir, name, &how)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(mount, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount on %s: %w", name, err)
	}
	return nil
}

func pivot(tree, old int) error {
	if err := unix.Fchdir(tree); err != nil {
		return fmt.Errorf("enter container: %w", err)
	}
	err := unix.PivotRoot(".", ".")
	if errors.Is(err, unix.EINVAL) {
		// The machine runs from its initial memory file system, which cannot be
		// moved away. It is covered, and ldconfig has no capability to uncover it.
		err = unix.Chroot(".")
	} else if err == nil {
		// The old root is on top of the new one now, at the same place.
		err = errors.Join(unix.Fchdir(old), unix.Unmount(".", unix.MNT_DETACH))
	}
	if err := errors.Join(err, unix.Chdir("/")); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return nil
}

func oldKernel(what string, err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return ErrOldKernel
	}
	return fmt.Errorf("%s: %w", what, err)
}

func create(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// complaint is the beginning of what ldconfig said, for an error.
func complaint(log *os.File) string {
	text := make([]byte, 300)
	n, err := log.ReadAt(text, 0)
	if n == 0 || err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return fmt.Sprintf(" (%q)", text[:n])
}
