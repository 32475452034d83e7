// SPDX-License-Identifier: Apache-2.0

package drmclients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Lists are the lists of all DRM devices, below the directory dri of debugfs.
type Lists struct {
	dir      string
	isKernel func(*os.File) error
}

// New returns the lists below dir. isKernel returns an error for a file that is not the
// kernel's: IsDebugfs, except in tests.
func New(dir string, isKernel func(*os.File) error) Lists { return Lists{dir, isKernel} }

// List is the list of one device.
type List struct {
	ID    uint64 // its inode
	InUse bool   // it has an entry
}

var errFormat = errors.New("not a list of DRM clients")

// Read reads the list of the device that has the node with this minor number.
func (l Lists) Read(minor uint32) (List, error) {
	path := filepath.Join(l.dir, strconv.FormatUint(uint64(minor), 10), "clients")
	list, err := l.read(path)
	if err != nil {
		return List{}, fmt.Errorf("read %s: %w", path, err)
	}
	return list, nil
}

func (l Lists) read(path string) (List, error) {
	f, err := os.Open(path) //nolint:gosec // G304: a number below a fixed directory
	if err != nil {
		return List{}, err
	}
	defer f.Close()
	if err := l.isKernel(f); err != nil {
		return List{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return List{}, err
	}
	// The kernel makes the whole list at the first read; more than its beginning is not needed.
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return List{}, err
	}
	head, entries, ok := bytes.Cut(text, []byte("\n"))
	if columns := bytes.Fields(head); !ok || len(columns) < 7 || string(columns[0]) != "command" {
		return List{}, errFormat
	}
	return List{ID: st.Ino, InUse: len(entries) > 0}, nil
}

// IsDebugfs returns an error for a file that is not in debugfs, or of a kernel that may not
// be asked.
func IsDebugfs(f *os.File) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	if release := unix.ByteSliceToString(u.Release[:]); !locksApart(release) {
		return fmt.Errorf("not with Linux %s", release)
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Type != unix.DEBUGFS_MAGIC {
		return errors.New("not in debugfs")
	}
	return nil
}

// locksApart reports whether a kernel of this release makes the list without the lock that a
// process can hold. Since Linux 5.15 all do; of those before, some releases do not.
func locksApart(release string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor) // other text has fewer numbers
	return n == 2 && (major > 5 || (major == 5 && minor >= 15))
}
