package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var (
	// ErrTooLarge reports a file of more bytes than its reader expects.
	ErrTooLarge = errors.New("file too large")
	// ErrChanged reports that somebody else has replaced a file meanwhile.
	ErrChanged = errors.New("changed by somebody else meanwhile")
)

// Original is a regular file as it was when it was read, for one who will put
// another content in its place.
type Original struct {
	Path string
	Data []byte
	info fs.FileInfo
}

// Read reads a regular file of at most max bytes. A link is not followed and
// nothing that blocks is opened: both are ErrNotRegular.
func Read(path string, max int64) (*Original, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	case info.Size() > max:
		return nil, fmt.Errorf("read %s: %w: over %d bytes", path, ErrTooLarge, max)
	}
	// One more byte than the file should have: a file that grows is seen to.
	buf := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, max+1)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause(err))
	}
	if int64(buf.Len()) > max {
		return nil, fmt.Errorf("read %s: %w: over %d bytes", path, ErrTooLarge, max)
	}
	return &Original{path, buf.Bytes(), info}, nil
}

// Replace puts data where the original is, as a new file with the same mode and
// owner; nothing is done if the content is the same. A reader sees the one
// content or the other, and after an error the original is as it was. Unlike
// Write, it does not wait for the disk: it is for files that nobody wants after a
// reboot, such as a container's bundle, and for callers whom a container waits for.
func (o *Original) Replace(data []byte) error {
	if bytes.Equal(o.Data, data) {
		return nil
	}
	if err := o.replace(data); err != nil {
		return fmt.Errorf("write %s: %w", o.Path, err)
	}
	return nil
}

func (o *Original) replace(data []byte) (err error) {
	if now, err := os.Lstat(o.Path); err != nil {
		return cause(err)
	} else if !os.SameFile(o.info, now) {
		return ErrChanged
	}
	tmp, err := os.CreateTemp(filepath.Dir(o.Path), "."+filepath.Base(o.Path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := o.fill(tmp, data); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), o.Path); err != nil {
		return err
	}
	info, err := os.Lstat(o.Path)
	if err != nil {
		return nil // it is there; only a second Replace will notice
	}
	o.Data, o.info = data, info
	return nil
}

// fill writes the content, then gives the file its owner, then its mode, since a
// change of owner may take bits of the mode away.
func (o *Original) fill(f *os.File, data []byte) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	owner := o.info.Sys().(*syscall.Stat_t)
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if st := mine.Sys().(*syscall.Stat_t); st.Uid != owner.Uid || st.Gid != owner.Gid {
		if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(o.info.Mode())
}

// cause strips the path that the error has already, since ours is put there.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
