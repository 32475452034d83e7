package hostfs

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/cause"
)

// File is what a path leads to: its type and permission bits, and its owner.
type File struct {
	Mode     fs.FileMode
	UID, GID uint32
}

// Stat describes what path leads to.
func (r *Root) Stat(path string) (File, error) {
	f, err := r.open(path, unix.O_PATH)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, fmt.Errorf("stat %s: %w", r.Join(path), cause.Of(err))
	}
	owner := info.Sys().(*syscall.Stat_t)
	return File{Mode: info.Mode(), UID: owner.Uid, GID: owner.Gid}, nil
}
