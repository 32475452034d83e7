// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

var (
	// ErrTooLarge reports a file that exceeds its reader's limit.
	ErrTooLarge = errors.New("file too large")
	// ErrChanged reports a file that another program changed in the meantime.
	ErrChanged = errors.New("it was changed by another program in the meantime")
)

// Original is a regular file as it was read, for a caller that will replace its
// content.
type Original struct {
	Path string
	Data []byte
	info fs.FileInfo // mode and owner
	last fs.FileInfo // which file is there
}

// Read reads a regular file of at most max bytes. It follows no link and opens nothing
// that blocks; both give ErrNotRegular.
func Read(path string, max int64) (*Original, error) {
	//nolint:gosec // G304: the caller chooses the file; a link there is not followed, a pipe does not block
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, wording.Cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, wording.Cause(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	case info.Size() > max:
		return nil, fmt.Errorf("read %s: %w: over %d bytes", path, ErrTooLarge, max)
	}
	data, err := readAll(f, info.Size(), max)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, wording.Cause(err))
	}
	return &Original{Path: path, Data: data, info: info, last: info}, nil
}

// readAll reads a file of the expected size, with one read if the size is right.
func readAll(f *os.File, size, max int64) ([]byte, error) {
	data := make([]byte, size+1)
	n, err := f.Read(data)
	if int64(n) == size || errors.Is(err, io.EOF) {
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.LimitReader(f, max+1-int64(n)))
	if err != nil {
		return nil, err
	}
	if int64(n+len(rest)) > max {
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLarge, max)
	}
	return append(data[:n], rest...), nil
}

// Replace replaces the original by a new file with this content and the same mode and
// owner; it does nothing if the content is the same. It does not wait for the disk
// (Options.NoSync). A reader sees the old content or the new one, and after an error
// the original is unchanged.
func (o *Original) Replace(data []byte) error {
	if bytes.Equal(o.Data, data) {
		return nil
	}
	now, err := os.Lstat(o.Path)
	switch {
	case err != nil:
		err = wording.Cause(err)
	case !o.unchanged(now):
		err = ErrChanged
	default:
		meta := metaOf(o.info)
		if now, err = replaceFile(o.Path, data, Options{Meta: &meta, NoSync: true}); err == nil {
			o.Data, o.last = data, now
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.Path, err)
	}
	return nil
}

// unchanged reports whether the file is still the one that was read, or last written.
// It also compares size and time, because the kernel soon reuses an inode's number.
func (o *Original) unchanged(now fs.FileInfo) bool {
	return now.Mode().IsRegular() && os.SameFile(o.last, now) &&
		now.Size() == o.last.Size() && now.ModTime().Equal(o.last.ModTime())
}
