// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// File is the type, the permission bits and the owner of a file.
type File struct {
	Mode     fs.FileMode
	UID, GID uint32
}

// Stat describes the file at path, with links followed.
func (r *Root) Stat(path string) (File, error) {
	f, err := r.openWithFlags(path, unix.O_PATH)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, fmt.Errorf("stat %s: %w", r.Join(path), wording.Cause(err))
	}
	owner := info.Sys().(*syscall.Stat_t)
	return File{Mode: info.Mode(), UID: owner.Uid, GID: owner.Gid}, nil
}

// Protected reports whether only root can change a file or directory by its owner and mode.
// Below another root than "/", the owner of that root's directory may as well: whose tree it
// is, as with a simulated node, is who decides what stands in it.
func (r *Root) Protected(f File) bool {
	if f.Mode.Perm()&0o022 != 0 {
		return false
	}
	return IsRoot(f.UID) || (!r.Real() && r.ownedBy(f.UID))
}

func (r *Root) ownedBy(uid uint32) bool {
	info, err := r.handle.Stat()
	return err == nil && info.Sys().(*syscall.Stat_t).Uid == uid
}

// Open opens a regular file of any size for reading; ReadFile reads small ones whole.
// It checks the type first, because opening a device may have effects.
func (r *Root) Open(path string) (*os.File, error) {
	info, err := r.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsRegular() {
		return nil, fmt.Errorf("open %s: %w", r.Join(path), ErrNotRegular)
	}
	f, err := r.openWithFlags(path, readFlags)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && !is.Mode().IsRegular() {
		err = ErrNotRegular // it was replaced meanwhile
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", r.Join(path), wording.Cause(err))
	}
	return f, nil
}
