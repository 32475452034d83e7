// SPDX-License-Identifier: Apache-2.0

package hosttree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
)

// Change makes of the tree before, which is below dir, this one. It touches only what differs:
// anything else below dir may be there, or may be other than both say. A file is replaced at
// once, so that a reader sees the old content or the new one. Directories that become empty
// go.
//
// If it fails, a part is changed; the same Change again does the rest.
func (t Tree) Change(dir string, before Tree) (err error) {
	if err := errors.Join(t.Check(), before.Check()); err != nil {
		return fmt.Errorf("change tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("change tree: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, p := range slices.Backward(before.sortedPaths()) {
		if _, stays := t[p]; stays {
			continue
		}
		if err := t.removeEntry(root, p); err != nil {
			return fmt.Errorf("change tree below %s: %w", dir, err)
		}
	}
	w := writer{}
	for _, p := range t.sortedPaths() {
		if reflect.DeepEqual(before[p], t[p]) {
			continue
		}
		if err := w.replaceEntry(root, p, t[p]); err != nil {
			return fmt.Errorf("change tree below %s: %w", dir, err)
		}
	}
	return nil
}

// removeEntry removes an entry, and the directories above it that are empty then and not
// entries of t.
func (t Tree) removeEntry(root *os.Root, p string) error {
	for {
		err := root.Remove(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		p = path.Dir(p)
		if _, ok := t[p]; ok || p == "." {
			return nil
		}
		d, err := root.OpenRoot(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		names, err := listNames(d)
		if err = errors.Join(err, d.Close()); err != nil || len(names) > 0 {
			return err
		}
	}
}

// replaceEntry writes an entry, whatever is in its place.
func (w *writer) replaceEntry(root *os.Root, p string, e Entry) (err error) {
	if d, ok := e.(Dir); ok {
		return root.MkdirAll(p, fs.FileMode(d.Perm)|0o700)
	}
	if err := root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	dir, err := root.OpenRoot(path.Dir(p))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := path.Base(p)
	next := "." + name + ".next"
	if err := dir.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.writeLeaf(dir, next, e); err != nil {
		return withPath(p, err)
	}
	return withPath(p, dir.Rename(next, name))
}
