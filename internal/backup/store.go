// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// Dir is the directory of the toolkit's backups.
const Dir = "/var/lib/metax-container-toolkit/backups"

// maxFile is the largest configuration file, in bytes.
const maxFile = 16 << 20

// Store keeps the contents of files from before the toolkit changed them.
type Store struct{ dir string }

// New returns the store in a directory, which need not exist. Reading does not make it.
func New(dir string) Store { return Store{dir} }

// Original returns the content of the file at path before the toolkit first changed it,
// nil if it did not exist; have is its content now. It is not known if there is no
// copy, or if have is the original.
func (s Store) Original(path string, have []byte) (before []byte, known bool, err error) {
	k, known, err := s.loadLocked(path)
	if !known || k.Original == contentDigest(have) {
		return nil, false, err
	}
	return k.text, true, nil
}

// Undo is Original, but known only if the file was not changed since by another program or
// person.
func (s Store) Undo(path string, have []byte) (before []byte, known bool, err error) {
	k, known, err := s.loadLocked(path)
	if !known || k.Original == contentDigest(have) || !slices.Contains(k.Written, contentDigest(have)) {
		return nil, false, err
	}
	return k.text, true, nil
}

// loadLocked is load under the lock that excludes writers.
func (s Store) loadLocked(path string) (record, bool, error) {
	lock, err := s.openLocked(".lock", unix.LOCK_SH)
	if err != nil {
		return record{}, false, err
	}
	defer lock.Close()
	return s.loadRecord(path)
}

// dirOf is the store's directory for a file.
func (s Store) dirOf(path string) string {
	return filepath.Join(s.dir, url.PathEscape(strings.TrimPrefix(path, "/")))
}

// openLocked opens a file of the store and locks it, shared or exclusively. Closing the file
// releases the lock. A shared lock is nil if the store does not exist.
func (s Store) openLocked(name string, how int) (*os.File, error) {
	flags := os.O_RDONLY
	if how == unix.LOCK_EX {
		if err := atomicfile.MakeDir(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of backups: %w", err)
		}
		flags = os.O_RDWR | os.O_CREATE
	}
	err := s.checkOwner()
	var f *os.File
	if err == nil {
		//nolint:gosec // G304: name is ".lock" or ".turn", in a directory that only its owner writes
		f, err = os.OpenFile(filepath.Join(s.dir, name), flags|syscall.O_NOFOLLOW, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) && how != unix.LOCK_EX {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("open backups: %w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		} else if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
	}
}

// checkOwner fails if another user could plant a backup.
func (s Store) checkOwner() error {
	info, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", s.dir)
	case owner != 0 && int(owner) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, neither to root nor to you", s.dir, owner)
	case info.Mode()&0o022 != 0:
		return fmt.Errorf("others can write %s: chmod go-w %s", s.dir, s.dir)
	}
	return nil
}
