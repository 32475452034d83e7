// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	d, distrust, err := r.openWithTrust(path)
	if errors.Is(err, unix.ELOOP) {
		above := r.Distrust(filepath.Dir(filepath.Clean("/" + path)))
		var target string
		if target, err = r.Resolve(path); err != nil {
			return FileWithTrust{}, err
		}
		d, distrust, err = r.openWithTrust(target)
		distrust = cmp.Or(above, distrust)
	}
	if err != nil {
		return FileWithTrust{}, err
	}
	defer d.close()
	data, err := d.readContent(func() string { return r.Join(path) }, limit)
	return FileWithTrust{data, distrust}, err
}

// openWithTrust opens a file that is not a link. Once open, it cannot be exchanged.
func (r *Root) openWithTrust(path string) (d descriptor, distrust, err error) {
	path = filepath.Clean("/" + path)
	dir, err := r.openDescriptor(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, nil, err
	}
	defer dir.close()
	in, name := r.Join(filepath.Dir(path)), r.Join(path)
	if d, err = openAt(int(dir), filepath.Base(path), readFlags|unix.O_NOFOLLOW|unix.O_CLOEXEC); err != nil {
		return -1, nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	of, err1 := d.stat()
	above, err2 := dir.stat()
	if err := errors.Join(err1, err2); err != nil {
		d.close()
		return -1, nil, fmt.Errorf("stat %s: %w", name, err)
	}
	distrust = cmp.Or(checkTrusted(name, &of), checkOwner(in, &above))
	if above.Mode&unix.S_ISVTX == 0 {
		distrust = cmp.Or(distrust, checkWritable(in, &above))
	}
	return d, distrust, nil
}

// Distrust judges an open directory alone: it is nil if only root and this process's
// user may put files there, and wraps ErrUntrusted if others may. It is also nil if the
// directory cannot be opened, because then its files cannot be read either.
func (r *Root) Distrust(dir string) error {
	d, err := r.openDescriptor(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer d.close()
	st, err := d.stat()
	if err != nil {
		return fmt.Errorf("stat %s: %w", r.Join(dir), err)
	}
	return checkTrusted(r.Join(dir), &st)
}
