// SPDX-License-Identifier: Apache-2.0

package hosttree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// ErrNotEmpty reports a directory that already contains something.
var ErrNotEmpty = errors.New("directory is not empty")

// Write makes the tree below dir, which must be empty, or new in an existing directory.
// Modes are those of the tree, whatever the umask. Devices become character devices
// with their owner if this process may make them, else placeholders
// (hostfs.Placeholder).
//
// Write works through a handle on dir and follows no link out of it. If it fails, it
// removes what it wrote; if that also fails, the error says so.
func (t Tree) Write(dir string) error { return t.write(dir, false) }

// WriteInert is Write with placeholders for all devices, also for root, so that nothing
// in the tree can be opened as a device.
func (t Tree) WriteInert(dir string) error { return t.write(dir, true) }

// Add makes the tree in the existing directory dir, which may have other files. A file of the
// tree replaces the file or link at its path. Like Write it follows no link out of dir; unlike
// Write it leaves what it wrote if it fails.
func (t Tree) Add(dir string) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("add tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("add tree: %w", err)
	}
	w := writer{open: []level{{".", root}}, made: map[string]bool{".": true}, over: true}
	paths := t.sortedPaths()
	if err = w.writeEntries(t, paths); err == nil {
		err = w.setDirModes(t, paths)
	}
	if err = errors.Join(err, w.closeDirs(0)); err != nil {
		return fmt.Errorf("add tree below %s: %w", dir, err)
	}
	return nil
}

// Remove removes the entries of the tree from dir, and the directories above them that are
// then empty. What is not there is removed already. It follows no link out of dir.
func (t Tree) Remove(dir string) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("remove tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("remove tree: %w", err)
	}
	defer root.Close()
	for _, p := range slices.Backward(t.sortedPaths()) {
		err := root.Remove(p)
		for at := path.Dir(p); err == nil && at != "."; at = path.Dir(at) {
			if root.Remove(at) != nil {
				break // it has other files
			}
		}
		if _, isDir := t[p].(Dir); err != nil && !isDir && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove tree below %s: %w", dir, withPath(p, err))
		}
	}
	return nil
}

func (t Tree) write(dir string, inert bool) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	root, made, err := openEmpty(dir)
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	defer root.Close()
	if err := t.writeParts(root, inert); err != nil {
		err = fmt.Errorf("write tree below %s: %w", dir, err)
		if undo := removeAll(root, dir, made); undo != nil {
			err = errors.Join(err, fmt.Errorf("a part of the tree is left in %s: %w", dir, undo))
		}
		return err
	}
	return nil
}

// partSize is how many entries are worth another processor.
const partSize = 500

// writeParts writes the tree in parts at the same time, because the kernel makes files of
// different directories in parallel.
func (t Tree) writeParts(root *os.Root, inert bool) error {
	paths := t.sortedPaths()
	size := max(partSize, (len(paths)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	parts := slices.Collect(slices.Chunk(paths, size))
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() {
			errs[i] = withWriter(root, inert, func(w *writer) error { return w.writeEntries(t, part) })
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return withWriter(root, inert, func(w *writer) error { return w.setDirModes(t, paths) })
}

// withWriter calls use with a writer that has a handle of its own.
func withWriter(root *os.Root, inert bool, use func(*writer) error) error {
	own, err := root.OpenRoot(".")
	if err != nil {
		return err
	}
	w := &writer{open: []level{{".", own}}, made: map[string]bool{".": true}, inert: inert}
	return errors.Join(use(w), w.closeDirs(0))
}

// openEmpty opens dir, and makes it if it does not exist.
func openEmpty(dir string) (root *os.Root, made bool, err error) {
	err = os.Mkdir(dir, 0o755) //nolint:gosec // G301: it stands for a host's /, which every user reads
	if made = err == nil; !made && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, made, err
	}
	names, err := listNames(root)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s: %w (it contains %q); name a new directory", dir, ErrNotEmpty, names[0])
	}
	if err != nil {
		return nil, made, errors.Join(err, root.Close())
	}
	return root, made, nil
}

// removeAll removes everything below root, and dir itself if Write made it.
func removeAll(root *os.Root, dir string, made bool) error {
	names, err := listNames(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	if made {
		return os.Remove(dir)
	}
	return nil
}

func listNames(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// writer writes entries in the order of their paths, so that most of them are in the directory
// of the one before.
type writer struct {
	open []level         // the root, and the directories from there to the last entry
	made map[string]bool // directories made so far
	// inert is set if devices are not wanted, or the kernel has refused to make one.
	inert bool
	// over is set if the tree goes over other files.
	over bool
	// dirsKeepMode is set once the umask has left the mode of a new directory as it was.
	dirsKeepMode bool
}

type level struct {
	path string
	root *os.Root
}

func (w *writer) writeEntries(t Tree, paths []string) error {
	for _, p := range paths {
		if err := w.writeEntry(p, t[p]); err != nil {
			return err
		}
	}
	return nil
}

// setDirModes comes after all entries, and inner directories come first, because a directory
// may be closed to its owner.
func (w *writer) setDirModes(t Tree, paths []string) error {
	for _, p := range slices.Backward(paths) {
		d, ok := t[p].(Dir)
		if !ok || d.Perm == 0 {
			continue
		}
		dir, err := w.enterDir(p)
		if err != nil {
			return err
		}
		if _, err := setDirMode(dir, d.Perm); err != nil {
			return withPath(p, err)
		}
	}
	return nil
}

func (w *writer) writeEntry(p string, e Entry) error {
	if _, ok := e.(Dir); ok {
		_, err := w.enterDir(p)
		return err
	}
	dir, err := w.enterDir(path.Dir(p))
	if err != nil {
		return err
	}
	name := path.Base(p)
	if w.over {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return withPath(p, err)
		}
	}
	return withPath(p, w.writeLeaf(dir, name, e))
}

// writeLeaf writes an entry that is not a directory.
func (w *writer) writeLeaf(dir *os.Root, name string, e Entry) error {
	switch e := e.(type) {
	case Link:
		return dir.Symlink(string(e), name)
	case File:
		return writeFile(dir, name, e)
	case Library:
		return writeFile(dir, name, File{Data: shlib.Library(e).Placeholder()})
	case Device:
		return w.writeDevice(dir, name, e)
	}
	return nil
}

// enterDir returns the directory at a path, and makes it if it is missing.
func (w *writer) enterDir(p string) (*os.Root, error) {
	keep := 1
	for keep < len(w.open) && strings.HasPrefix(p+"/", w.open[keep].path+"/") {
		keep++
	}
	if err := w.closeDirs(keep); err != nil {
		return nil, err
	}
	for {
		last := w.open[len(w.open)-1]
		if last.path == p {
			return last.root, nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(p, last.path+"/"), "/")
		next := path.Join(last.path, name)
		root, err := w.openDir(last.root, name, !w.made[next])
		if err != nil {
			return nil, withPath(next, err)
		}
		w.made[next] = true
		w.open = append(w.open, level{next, root})
	}
}

// openDir opens the directory called name in dir; a fresh one is made first, unless it is
// there by now.
func (w *writer) openDir(dir *os.Root, name string, fresh bool) (*os.Root, error) {
	if !fresh {
		return dir.OpenRoot(name)
	}
	err := dir.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return dir.OpenRoot(name)
	}
	if err != nil {
		return nil, err
	}
	root, err := dir.OpenRoot(name)
	if err != nil || w.dirsKeepMode {
		return root, err
	}
	if w.dirsKeepMode, err = setDirMode(root, 0o755); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// closeDirs closes all open directories except the first keep.
func (w *writer) closeDirs(keep int) error {
	var errs []error
	for _, l := range slices.Backward(w.open[keep:]) {
		errs = append(errs, l.root.Close())
	}
	w.open = w.open[:keep]
	return errors.Join(errs...)
}

// writeFile makes a file. Nobody reads the tree before it is complete, so the write
// need not be atomic.
func writeFile(dir *os.Root, name string, f File) (err error) {
	perm := f.Perm
	if perm == 0 {
		perm = 0o644
	}
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(perm))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := out.WriteString(f.Data); err != nil {
		return err
	}
	_, err = setMode(out, perm)
	return err
}

func setDirMode(dir *os.Root, perm uint32) (had bool, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return setMode(d, perm)
}

// setMode sets the mode of f, unless it had it. It does not sync: a tree has thousands of
// files.
func setMode(f *os.File, perm uint32) (had bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == fs.FileMode(perm) {
		return err == nil, err
	}
	return false, f.Chmod(fs.FileMode(perm))
}

// withPath puts the whole path into an error that has only the last element.
func withPath(p string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return &fs.PathError{Op: in.Op, Path: p, Err: in.Err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return nil
}
