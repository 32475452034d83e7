// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FileWithTrust is the content of a file, and whether only trusted users may change it.
type FileWithTrust struct {
	Data []byte
	// Distrust is nil if only root and this process's user may change the file or
	// replace it. Otherwise it wraps ErrUntrusted.
	Distrust error
}

// ReadWithTrust is ReadFile with a limit that also reports who may change the contents. It
// judges the open file that it reads and the open directory of that file. In a sticky
// directory such as /tmp, others cannot replace a file that is not theirs. If path is a
// link, the link's own directory counts as well.
func (r *Root) ReadWithTrust(path string, limit int64) (FileWithTrust, error) {
	f, distrust, err := r.openWithTrust(path)
	if errors.Is(err, unix.ELOOP) {
		above := r.Distrust(filepath.Dir(filepath.Clean("/" + path)))
		var target string
		if target, err = r.Resolve(path); err != nil {
			return FileWithTrust{}, err
		}
		f, distrust, err = r.openWithTrust(target)
		distrust = cmp.Or(above, distrust)
	}
	if err != nil {
		return FileWithTrust{}, err
	}
	defer f.Close()
	data, err := r.readContent(path, f, limit)
	return FileWithTrust{data, distrust}, err
}

// openWithTrust opens a file that is not a link. Once open, it cannot be exchanged.
func (r *Root) openWithTrust(path string) (f *os.File, distrust, err error) {
	path = filepath.Clean("/" + path)
	dir, err := r.openWithFlags(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(path), readFlags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: r.Join(path), Err: err}
	}
	f = os.NewFile(uintptr(fd), r.Join(path))
	of, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	above, err := dir.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	in := r.Join(filepath.Dir(path))
	distrust = cmp.Or(checkTrusted(r.Join(path), of), CheckOwner(in, above))
	if above.Mode()&fs.ModeSticky == 0 {
		distrust = cmp.Or(distrust, checkWritable(in, above))
	}
	return f, distrust, nil
}

// Distrust judges an open directory alone: it is nil if only root and this process's
// user may put files there, and wraps ErrUntrusted if others may. It is also nil if the
// directory cannot be opened, because then its files cannot be read either.
func (r *Root) Distrust(dir string) error {
	f, err := r.openWithFlags(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return checkTrusted(r.Join(dir), info)
}
