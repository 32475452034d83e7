// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is a directory of a Root whose files are opened from there. Where many are read, the
// kernel need not walk the path of the directory for each of them.
type Dir struct {
	root *Root
	path string
	open descriptor // -1 where the directory could not be opened
}

// At opens the directory at path, for its methods and until Close. Where that fails, they do
// what those of the Root do.
func (r *Root) At(path string) *Dir {
	d, err := r.openDescriptor(path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		d = -1
	}
	return &Dir{r, path, d}
}

// Close must be called once.
func (d *Dir) Close() {
	if d.open >= 0 {
		d.open.close()
	}
}

// Path is that of the file of the name in the directory, below the Root.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// ReadFile is that of the Root for the file of the name, or a clean path, in the directory.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	f, err := d.openFile(name)
	if err != nil {
		return d.root.ReadFile(d.Path(name))
	}
	defer f.close()
	return f.readContent(func() string { return d.root.Join(d.Path(name)) }, MaxFile)
}

// ReadDir is that of the Root for the directory of the name, "." for the Dir itself.
func (d *Dir) ReadDir(name string) ([]string, error) {
	f, err := d.openFile(name)
	if err != nil {
		return d.root.ReadDir(d.Path(name))
	}
	defer f.close()
	return f.readNames(func() string { return d.root.Join(d.Path(name)) })
}

// Resolve is that of the Root for the Dir itself.
func (d *Dir) Resolve() (string, error) {
	if d.open < 0 {
		return d.root.Resolve(d.path)
	}
	return d.root.resolve(d.path, d.open)
}

// openFile opens what can be reached without a link, which may lead out of the root. It fails
// for everything else.
func (d *Dir) openFile(name string) (descriptor, error) {
	how := unix.OpenHow{Flags: readFlags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(int(d.open), name, &how)
	return descriptor(fd), err
}
