package hosttree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs/shlib"
)

// ErrNotEmpty reports a directory that holds something already.
var ErrNotEmpty = errors.New("directory is not empty")

// Write makes the tree below dir, which must be new (in a directory that
// exists) or empty. Modes are as the tree says, whatever the umask. Devices
// become character devices with their owner where this process may make them,
// and files with a tag (hostfs.Placeholder) where it may not.
//
// Everything is reached through a handle on dir and no link is followed out of
// it. If a write fails, what was written before is removed again; where even
// that fails, the error says so.
func (t Tree) Write(dir string) error { return t.write(dir, false) }

// WriteInert writes the tree as Write does, but for devices: files with a tag stand
// for them, whoever writes, so that nothing in it can be opened for what it was.
func (t Tree) WriteInert(dir string) error { return t.write(dir, true) }

func (t Tree) write(dir string, inert bool) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	root, made, err := openEmpty(dir)
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	w := writer{open: []level{{".", root}}, made: map[string]bool{".": true}, inert: inert}
	if err := w.tree(t); err != nil {
		err = fmt.Errorf("write tree below %s: %w", dir, err)
		if undo := empty(root, dir, made); undo != nil {
			err = errors.Join(err, fmt.Errorf("a part of the tree is left in %s: %w", dir, undo))
		}
		return errors.Join(err, w.leave(0))
	}
	return w.leave(0)
}

// openEmpty opens dir and makes it if it is not there yet.
func openEmpty(dir string) (root *os.Root, made bool, err error) {
	err = os.Mkdir(dir, 0o755)
	if made = err == nil; !made && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, made, err
	}
	names, err := list(root)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s: %w (it holds %q); name a new directory", dir, ErrNotEmpty, names[0])
	}
	if err != nil {
		return nil, made, errors.Join(err, root.Close())
	}
	return root, made, nil
}

// empty removes all below root, and dir itself where Write made it.
func empty(root *os.Root, dir string, made bool) error {
	names, err := list(root)
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

func list(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// writer writes entries in the order of their paths, so that most of them are in
// the directory of the one before.
type writer struct {
	open []level         // the root, and the directories from there to the last entry
	made map[string]bool // directories made so far
	// inert is set where devices are not wanted, or once the kernel has refused to
	// make one.
	inert bool
}

type level struct {
	path string
	root *os.Root
}

func (w *writer) tree(t Tree) error {
	for _, p := range t.paths() {
		if err := w.entry(p, t[p]); err != nil {
			return err
		}
	}
	// A directory may be closed to its owner, so modes of directories come last,
	// inner ones first.
	for _, p := range slices.Backward(t.paths()) {
		d, ok := t[p].(Dir)
		if !ok || d.Perm == 0 {
			continue
		}
		dir, err := w.enter(p)
		if err != nil {
			return err
		}
		if err := at(p, settleDir(dir, d.Perm)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) entry(p string, e Entry) error {
	if _, ok := e.(Dir); ok {
		_, err := w.enter(p)
		return err
	}
	dir, err := w.enter(path.Dir(p))
	if err != nil {
		return err
	}
	name := path.Base(p)
	switch e := e.(type) {
	case Link:
		err = dir.Symlink(string(e), name)
	case File:
		err = write(dir, name, e)
	case Library:
		err = write(dir, name, File{Data: shlib.Library(e).Placeholder()})
	case Device:
		err = w.device(dir, name, e)
	}
	return at(p, err)
}

// enter returns the directory of that path, which it makes if need be.
func (w *writer) enter(p string) (*os.Root, error) {
	keep := 1
	for keep < len(w.open) && strings.HasPrefix(p+"/", w.open[keep].path+"/") {
		keep++
	}
	if err := w.leave(keep); err != nil {
		return nil, err
	}
	for {
		last := w.open[len(w.open)-1]
		if last.path == p {
			return last.root, nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(p, last.path+"/"), "/")
		next := path.Join(last.path, name)
		root, err := w.step(last.root, name, !w.made[next])
		if err != nil {
			return nil, at(next, err)
		}
		w.made[next] = true
		w.open = append(w.open, level{next, root})
	}
}

// step opens the directory called name in dir; a fresh one is made first.
func (w *writer) step(dir *os.Root, name string, fresh bool) (*os.Root, error) {
	if !fresh {
		return dir.OpenRoot(name)
	}
	if err := dir.Mkdir(name, 0o755); err != nil {
		return nil, err
	}
	root, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := settleDir(root, 0o755); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// leave closes all open directories but the first keep.
func (w *writer) leave(keep int) error {
	var errs []error
	for _, l := range slices.Backward(w.open[keep:]) {
		errs = append(errs, l.root.Close())
	}
	w.open = w.open[:keep]
	return errors.Join(errs...)
}

// write makes a file of a tree that is made, which nobody reads before it is whole.
func write(dir *os.Root, name string, f File) (err error) {
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
	return settle(out, perm)
}

func settleDir(dir *os.Root, perm uint32) (err error) {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return settle(d, perm)
}

// settle gives f its mode, if the umask has kept it from having it. It does
// not write what is there: a tree has thousands of files.
func settle(f *os.File, perm uint32) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == fs.FileMode(perm) {
		return err
	}
	return f.Chmod(fs.FileMode(perm))
}

// at puts the whole path into an error that knows the last element only.
func at(p string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return &fs.PathError{Op: in.Op, Path: p, Err: in.Err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return nil
}
