// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Meta is what a file has besides its content.
type Meta struct {
	Mode     fs.FileMode
	UID, GID int
	// Attrs are the extended attributes by name: the SELinux label, access lists.
	Attrs map[string][]byte
}

// MetaOf returns the Meta of the file at path, without following a link. It leaves out
// attributes that this process may not read, and those that sign the content.
func MetaOf(path string) (Meta, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Meta{}, err
	}
	m := metaOf(info)
	names, err := readAttr(func(to []byte) (int, error) { return unix.Llistxattr(path, to) })
	if errors.Is(err, unix.ENOTSUP) {
		return m, nil
	} else if err != nil {
		return m, fmt.Errorf("list the attributes of %s: %w", path, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name == "" || name == "security.ima" || name == "security.evm" {
			continue
		}
		value, err := readAttr(func(to []byte) (int, error) { return unix.Lgetxattr(path, name, to) })
		switch {
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTSUP), errors.Is(err,
			unix.ENODATA):
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

// metaOf is a Meta without attributes.
func metaOf(info fs.FileInfo) Meta {
	owner := info.Sys().(*syscall.Stat_t)
	return Meta{Mode: info.Mode(), UID: int(owner.Uid), GID: int(owner.Gid)}
}

// readAttr gets the size of an attribute and then its value. It retries if the value
// has grown or a signal came.
func readAttr(get func([]byte) (int, error)) ([]byte, error) {
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

// applyTo sets a file's owner and attributes.
func (m Meta) applyTo(f *os.File, made fs.FileInfo) error {
	if is := made.Sys().(*syscall.Stat_t); int(is.Uid) != m.UID || int(is.Gid) != m.GID {
		if err := f.Chown(m.UID, m.GID); err != nil {
			return err
		}
	}
	for name, value := range m.Attrs {
		if err := setAttr(f, name, value); err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return nil
}

// setAttr sets an attribute, unless a new file already has it, such as its label from
// the policy: a user may not set every attribute.
func setAttr(f *os.File, name string, value []byte) error {
	now, err := readAttr(func(to []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, to) })
	if err == nil && bytes.Equal(now, value) {
		return nil
	}
	for {
		if err := unix.Fsetxattr(int(f.Fd()), name, value, 0); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
