// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// File is what is in the running program and in other files.
type File struct {
	Parts   []Part
	self    *os.File
	program int64
	dir     string // of what was unpacked
}

// OpenSelf opens the archive behind the running program, and beside it the images of files
// that an engine wrote (see Saved). Close removes what was unpacked for that.
func OpenSelf(ctx context.Context, files []string) (f *File, err error) {
	f = &File{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if f.self, err = os.Open("/proc/self/exe"); err != nil {
		return f, err
	}
	info, err := f.self.Stat()
	if err != nil {
		return f, err
	}
	if f.Parts, f.program, err = Open(f.self, info.Size()); err != nil {
		return f, err
	}
	if f.dir, err = os.MkdirTemp("", "metax-k8s-images-"); err != nil {
		return f, err
	}
	for _, file := range files {
		more, err := Saved(ctx, file, f.dir)
		if err != nil {
			return f, err
		}
		f.Parts = append(f.Parts, more...)
	}
	return f, nil
}

// Close ends the use of the Parts.
func (f *File) Close() error {
	var err error
	if f.self != nil {
		err = f.self.Close()
	}
	if f.dir != "" {
		err = errors.Join(err, os.RemoveAll(f.dir))
	}
	return err
}

// Save writes a file like the running program with all Parts. The file must not exist.
func (f *File) Save(path string) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // G302: a program, for all users
	if err != nil {
		return err
	}
	err = Write(to, f.self, f.program, f.Parts)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
	}
	return nil
}
