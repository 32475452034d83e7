package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Meta is what belongs to a file besides its content.
type Meta struct {
	Mode     fs.FileMode
	UID, GID int
	// Attrs are the extended attributes by name: the SELinux label, access lists.
	Attrs map[string][]byte
}

// MetaOf returns the Meta of the file at path; a link is not followed. Attributes
// that one may not read, and those that sign the content, are not among it.
func MetaOf(path string) (Meta, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Meta{}, err
	}
	owner := info.Sys().(*syscall.Stat_t)
	m := Meta{Mode: info.Mode(), UID: int(owner.Uid), GID: int(owner.Gid)}
	names, err := attribute(func(to []byte) (int, error) { return unix.Llistxattr(path, to) })
	if errors.Is(err, unix.ENOTSUP) {
		return m, nil
	} else if err != nil {
		return m, fmt.Errorf("list the attributes of %s: %w", path, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name == "" || name == "security.ima" || name == "security.evm" {
			continue
		}
		value, err := attribute(func(to []byte) (int, error) { return unix.Lgetxattr(path, name, to) })
		switch {
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENODATA):
			continue
		case err != nil:
			return m, fmt.Errorf("read the attribute %s of %s: %w", name, path, err)
		}
		if m.Attrs == nil {
			m.Attrs = map[string][]byte{}
		}
		m.Attrs[name] = value
	}
	return m, nil
}

// attribute asks for the size of something and then for it, again if it has grown
// or a signal came.
func attribute(get func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := get(nil)
		if errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return nil, err
		}
		data := make([]byte, size)
		if size, err = get(data); err == nil {
			return data[:min(size, len(data))], nil
		}
		if !errors.Is(err, unix.ERANGE) && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}

// Put puts a new file in the place of path, whatever is there, and waits until the
// disk has it. A reader sees the one file or the other. After an error the old
// one is there, or, where only the directory could not be synced, the new one.
func Put(path string, data []byte, m Meta) error {
	err := swap(path, func(f *os.File) error { return m.fill(f, data) })
	if err == nil {
		err = SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// PutFrom is Put with a file that is made in dir: for a path in a directory of which
// somebody reads every file, also one that is not whole yet. What a writer leaves that
// was killed is in dir, by a name that IsLeft knows. The two have to be directories of
// one file system.
func PutFrom(dir, path string, data []byte, m Meta) error {
	err := swapFrom(dir, path, func(f *os.File) error { return m.fill(f, data) })
	if err == nil {
		err = errors.Join(SyncDir(filepath.Dir(path)), SyncDir(dir))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// fill gives the file its owner first, since that may take bits of the mode away,
// and its mode last, since an access list has a say in it.
func (m Meta) fill(f *os.File, data []byte) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if is := info.Sys().(*syscall.Stat_t); int(is.Uid) != m.UID || int(is.Gid) != m.GID {
		if err := f.Chown(m.UID, m.GID); err != nil {
			return err
		}
	}
	for name, value := range m.Attrs {
		if err := setAttr(f, name, value); err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	if err := f.Chmod(m.Mode); err != nil {
		return err
	}
	return f.Sync()
}

// setAttr leaves an attribute alone that a new file has by itself, as it has its
// label from the policy: a user may not set every one.
func setAttr(f *os.File, name string, value []byte) error {
	now, err := attribute(func(to []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, to) })
	if err == nil && bytes.Equal(now, value) {
		return nil
	}
	for {
		if err := unix.Fsetxattr(int(f.Fd()), name, value, 0); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// MakeDirDurably is MakeDir with a mode for dir itself, and waits until the disk
// has what it made.
func MakeDirDurably(dir string, perm fs.FileMode) error {
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	above := filepath.Dir(dir)
	if err := MakeDirDurably(above, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); errors.Is(err, fs.ErrExist) {
		_, err := os.Stat(dir) // somebody else was faster, or a link leads nowhere
		return err
	} else if err != nil {
		return err
	}
	if err := os.Chmod(dir, perm); err != nil {
		return err
	}
	return SyncDir(above)
}

// SyncDir waits until the disk has the names in a directory.
func SyncDir(dir string) error { return syncDir(dir) }
