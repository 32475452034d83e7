package hostfs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Judged is what a file holds, and who may change that.
type Judged struct {
	Data []byte
	// Distrust is nil if nobody but root and this process's user may change the file
	// or put another in its place. It wraps ErrUntrusted otherwise.
	Distrust error
}

// ReadJudged is ReadFile that takes at most limit bytes and judges whom the contents can
// be trusted from: by the open file that they are read from, and by the open directory in
// which it is. In a sticky directory such as /tmp others cannot replace a file that is not
// theirs. Where path is a link its own directory counts as well.
func (r *Root) ReadJudged(path string, limit int64) (Judged, error) {
	f, distrust, err := r.openJudged(path)
	if errors.Is(err, unix.ELOOP) {
		above := r.Distrust(filepath.Dir(filepath.Clean("/" + path)))
		var target string
		if target, err = r.Resolve(path); err != nil {
			return Judged{}, err
		}
		f, distrust, err = r.openJudged(target)
		distrust = cmp.Or(above, distrust)
	}
	if err != nil {
		return Judged{}, err
	}
	defer f.Close()
	data, err := r.content(path, f, limit)
	return Judged{data, distrust}, err
}

// openJudged opens a file that is no link. What is open cannot be exchanged any more.
func (r *Root) openJudged(path string) (f *os.File, distrust, err error) {
	path = filepath.Clean("/" + path)
	dir, err := r.open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
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
	distrust = cmp.Or(check(r.Join(path), of), owned(in, above))
	if above.Mode()&fs.ModeSticky == 0 {
		distrust = cmp.Or(distrust, closed(in, above))
	}
	return f, distrust, nil
}

// Distrust judges an open directory by itself: it is nil if nobody but root and this
// process's user may put files there, and wraps ErrUntrusted if others may. It is nil
// too where there is no directory that could be opened.
func (r *Root) Distrust(dir string) error {
	f, err := r.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return check(r.Join(dir), info)
}
