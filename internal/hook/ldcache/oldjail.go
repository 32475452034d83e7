// SPDX-License-Identifier: Apache-2.0

package ldcache

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
)

// enterOldJail is the enterFunc for kernels that refused a call of enterJail. It makes
// the same jail by mount(2). What it mounts is visible before it is read-only, but only
// to this thread, which runs nothing of the container.
func (r *refusedCall) enterOldJail(root *inroot.Root, ldconfig *os.File, directories []string) (*jail, error) {
	j, err := enterOldJail(root, ldconfig, directories)
	if err != nil {
		return nil, fmt.Errorf(
			"%w; Linux 5.12 needs no such step, but this kernel refused %w. To start without the linker's cache: metax-docker --inject=flags", err, r)
	}
	return j, nil
}

func enterOldJail(root *inroot.Root, ldconfig *os.File, directories []string) (*jail, error) {
	b, err := newBinder(root)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.space.Restrict(b.tree, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
		return nil, err
	}
	tool, cover, err := b.mountOnCover("size=64m,nr_inodes=8")
	if err != nil {
		return nil, err
	}
	defer tool.Close()
	if err := fillToolDir(int(tool.Fd()), ldconfig, directories); err != nil {
		return nil, err
	}
	output, err := b.mountTmpfs(tool, "output", "size=32m,nr_inodes=8", unix.MS_NOEXEC)
	if err != nil {
		return nil, err
	}
	// Only the mount of the tool is made read-only, not the output below it.
	err = b.space.Mount(nil, tool, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
	if err != nil {
		err = fmt.Errorf("make ldconfig read-only: %w", err)
	} else {
		err = pivotRoot(int(b.tree.Fd()), int(b.old.Fd()))
	}
	if err != nil {
		output.Close()
		return nil, err
	}
	return &jail{path: "/" + cover, output: output}, nil
}

// binder mounts in the calling thread's own mount namespace, in which the container's
// files are mounted over the old root.
type binder struct {
	space     *mount.Namespace
	old, tree *os.File // the old root; the container's, with all mounts below it
}

// newBinder moves the calling thread into such a namespace. Handles of another
// namespace cannot be mounted, but the working directory goes along: it is the way for
// the container's root.
func newBinder(root *inroot.Root) (b *binder, err error) {
	// A thread that shares its working directory with others cannot change it.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return nil, fmt.Errorf("leave the process's directory: %w", err)
	}
	if err := unix.Fchdir(int(root.Dir().Fd())); err != nil {
		return nil, fmt.Errorf("enter container: %w", err)
	}
	if err := newNamespaces(); err != nil {
		return nil, err
	}
	here, err := openRoot(".")
	if err != nil {
		return nil, err
	}
	defer here.Close()
	space, err := mount.ThisNamespace()
	if err != nil {
		return nil, err
	}
	b = &binder{space: space}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.old, err = openRoot("/"); err != nil {
		return nil, err
	}
	if err = b.space.Mount(here, b.old, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return nil, fmt.Errorf("mount container: %w", err)
	}
	// The thread's root is below the new mount, to which only its parent leads.
	if b.tree, err = openRoot("/.."); err != nil {
		return nil, err
	}
	if err = b.check(root.Dir()); err != nil {
		return nil, err
	}
	return b, nil
}

// check fails unless the tree is a new mount of the container's root.
func (b *binder) check(root *os.File) error {
	var want, got unix.Stat_t
	if err := errors.Join(unix.Fstat(int(root.Fd()), &want), unix.Fstat(int(b.tree.Fd()), &got)); err != nil {
		return fmt.Errorf("stat container: %w", err)
	}
	if want.Dev != got.Dev || want.Ino != got.Ino {
		return fmt.Errorf("mount container: %w", mount.ErrMoved)
	}
	if err := b.space.New(b.tree); err != nil {
		return fmt.Errorf("mount container: %w", err)
	}
	return nil
}

func openRoot(path string) (*os.File, error) {
	//nolint:gosec // G304: the path is a constant: ".", "/" or "/.."
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	return f, nil
}

func (b *binder) close() {
	b.tree.Close() // nothing if it is nil
	b.old.Close()
	b.space.Close()
}

// mountOnCover is mountOnCover for a memory file system that is made there.
func (b *binder) mountOnCover(options string) (*os.File, string, error) {
	var errs error
	for _, cover := range coverDirs {
		f, err := b.mountTmpfs(b.tree, cover, options, 0)
		if err == nil {
			return f, cover, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, "", fmt.Errorf("none of %q is a directory there: %w", coverDirs, errs)
}

// mountTmpfs mounts a new memory file system on the directory of this name and opens
// it, by the name: its handle is below. The result must be a mount that was not there
// before.
func (b *binder) mountTmpfs(dir *os.File, name, options string, flags uintptr) (*os.File, error) {
	fd, err := openDir(int(dir.Fd()), name)
	if err != nil {
		return nil, err
	}
	at := os.NewFile(uintptr(fd), name)
	defer at.Close()
	if err := b.space.Mount(nil, at, "tmpfs", flags|unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,"+options); err != nil {
		return nil, fmt.Errorf("make memory file system: %w", err)
	}
	if fd, err = openDir(int(dir.Fd()), name); err != nil {
		return nil, err
	}
	top := os.NewFile(uintptr(fd), name)
	if err := b.space.New(top); err != nil {
		top.Close()
		return nil, fmt.Errorf("make memory file system on %s: %w", name, err)
	}
	return top, nil
}
